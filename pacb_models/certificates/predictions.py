"""From predictions to a certificate: of all classifiers at once, or of one that a part of the examples chose."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..validation import check_delta, check_number, check_whole, first_repeated
from .certificate import Certificate
from .certify import certify
from .choice import ChosenCertificate, divided
from .counts import check_names
from .labels import check_comparable, check_same_rows, coded, label_array, label_columns
from .sequence import LevelCertificate, check_sequence
from .votes import majority

#: The prior mass of the plain majority vote, where nothing is known of it and the classifiers but these examples.
VOTE_SHARE = 0.5


class Details(TypedDict, total=False):
    """What else a certificate of predictions is asked, by name."""

    names: Sequence[str] | None
    random_state: int | None
    vote: bool
    order: Iterable[str] | None


@overload
def certify_predictions(
    y_true: ArrayLike, predictions: Any, delta: float = ..., *, choose: float, **others: Unpack[Details]
) -> ChosenCertificate: ...
@overload
def certify_predictions(
    y_true: ArrayLike, predictions: Any, delta: float = ..., *, level: float, **others: Unpack[Details]
) -> LevelCertificate: ...
@overload
def certify_predictions(
    y_true: ArrayLike, predictions: Any, delta: float = ..., *, level: None = ..., **others: Unpack[Details]
) -> Certificate: ...
@overload
def certify_predictions(
    y_true: ArrayLike,
    predictions: Any,
    delta: float = ...,
    names: Sequence[str] | None = ...,
    choose: float | None = ...,
    random_state: int | None = ...,
    *,
    vote: bool = ...,
    level: float | None = ...,
    order: Iterable[str] | None = ...,
) -> Certificate | ChosenCertificate | LevelCertificate: ...
def certify_predictions(
    y_true: ArrayLike,
    predictions: Any,
    delta: float = 0.05,
    names: Sequence[str] | None = None,
    choose: float | None = None,
    random_state: int | None = None,
    *,
    vote: bool = True,
    level: float | None = None,
    order: Iterable[str] | None = None,
) -> Certificate | ChosenCertificate | LevelCertificate:
    r"""Certify classifiers from what they predict of held-out examples.

    The examples must be i.i.d. draws from where new ones come from, and no classifier may have been trained, tuned or
    chosen with them.

    Parameters
    ----------
    y_true : array of shape (n,)
        The true labels: numbers or text, of two or more classes.
    predictions : array of shape (n, H), DataFrame, or dict of columns
        A column of labels per classifier. Column names of a DataFrame are the classifiers' names.
    delta : float
        What is stated holds with probability at least ``1 - delta``.
    names : sequence of str, optional
    choose : float, optional
        Without it every candidate is certified at once, as by :func:`certify`. With a share, such as 0.2, that part of
        the examples chooses one candidate (the fewest errors, a tie to the vote), and the others certify this one
        alone. Take it when there are thousands of classifiers; do not take it when many of them make no errors at all,
        or when you want to state something about all of them.
    random_state : int, optional
        The seed of that division, 0 by default. Fix the share and the seed before you look. The bound differs between
        seeds by more than a tenth; the best of several has no guarantee.
    vote : bool
        Whether the majority vote of three or more classifiers is a candidate, too. It has half of the prior, the
        classifiers share the other half.
    level : float, optional
        A risk that is fixed beforehand, instead of the smallest bound: which candidates err with at most this
        probability? They are tested one after the other, each at the whole ``delta``, up to the first failure.
    order : sequence of str, optional
        The candidates' names in the order of these tests, fixed beforehand, the best in training first; it need not
        hold all of them. Without it the vote comes first, then the classifiers as they are given.

    Returns
    -------
    Certificate, ChosenCertificate or LevelCertificate
        All print what is guaranteed, and have ``to_frame()``; the first two ``bound`` and ``plot()``, the last one
        ``certified``.

    Examples
    --------
    >>> import pacb_models as pm
    >>> y = ["ham", "spam"] * 200
    >>> predictions = {"all spam": ["spam"] * 400, "nearly right": [*y[:399], "ham"]}
    >>> certificate = pm.certify_predictions(y, predictions)
    >>> certificate.names[certificate.single], round(certificate.single_bound, 3)
    ('nearly right', 0.014)
    >>> chosen = pm.certify_predictions(y, predictions, choose=0.2)
    >>> chosen.name, chosen.m
    ('nearly right', 320)
    >>> pm.certify_predictions(y, predictions, level=0.02, order=["nearly right", "all spam"]).certified
    ['nearly right']
    """
    check_delta(delta)
    if level is None and order is not None:
        raise InputError("order is given without level; candidates are tested in an order at a level only.")
    if level is not None:
        check_number("level", level, lambda a: 0.0 < a < 1.0, "it must be a risk strictly between 0 and 1")
        if choose is not None:
            raise InputError("level and choose are both given; give one of the two.")
    share = None if choose is None else check_share(choose)
    seed = check_seed(random_state, share)
    codes, said, labels, given = _coded(y_true, predictions)
    size = said.shape[1]
    names = check_names(names, size) or given
    wrong = said != codes[:, None]
    # With fewer a majority is one of them, or decided by the order of the labels.
    with_vote = vote and size >= 3
    if with_vote:
        called = f"majority vote of {size}"
        while called in names:
            called += " (all)"
        names = [called, *names]
        wrong = np.column_stack([majority(said, labels) != codes, wrong])
    if level is not None:
        places = check_sequence(order, names)
        errors = np.count_nonzero(wrong[:, places], axis=0)
        return LevelCertificate(errors, len(codes), delta, float(level), [names[place] for place in places])
    if share is not None:
        choosing, certifying = divided(len(wrong), share, seed)
        first = np.count_nonzero(wrong[choosing], axis=0)
        left = int(np.count_nonzero(wrong[certifying, first.argmin()]))
        return ChosenCertificate(first, left, len(wrong), delta, names, share, seed)
    errors, prior = np.count_nonzero(wrong, axis=0), [VOTE_SHARE, *[(1.0 - VOTE_SHARE) / size] * size]
    if not with_vote:
        return certify(errors, len(codes), delta, names=names)
    note = (
        f"The prior, fixed beforehand, has {VOTE_SHARE:g} on the majority vote and shares {1.0 - VOTE_SHARE:g} equally "
        f"among the {size} classifiers."
    )
    return certify(errors, len(codes), delta, prior, names).with_note(note)


def errors_of(y_true: ArrayLike, predictions: Any) -> NDArray[np.bool_]:
    """Return a row per example and a column per classifier: whether it errs."""
    codes, said, _, _ = _coded(y_true, predictions)
    return np.asarray(said != codes[:, None])


def _coded(y_true: ArrayLike, predictions: Any) -> tuple[NDArray[Any], NDArray[Any], int, list[str]]:
    """Return true labels and predictions as whole numbers, how many labels there are, and the columns' names."""
    truth = label_array("y_true", y_true)
    if truth.ndim != 1 or not truth.size:
        raise InputError(f"y_true has the shape {truth.shape}; it must hold a label for each of the examples.")
    check_same_rows([("y_true", y_true), ("predictions", predictions)])
    if hasattr(predictions, "columns") or isinstance(predictions, Mapping):
        named = list(getattr(predictions, "columns", predictions))
        if not named:
            raise InputError("predictions has no column; it must have one for each classifier.")
        twice = first_repeated(named)
        if twice is not None:
            raise InputError(f"predictions has more than one column {twice!r}; classifiers must have different names.")
        columns = label_columns(predictions, named, truth, ("y_true", y_true))
        (codes, *found), labels = coded([truth, *columns])
        return codes, np.column_stack(found), labels, [str(name) for name in named]
    matrix = label_array("predictions", predictions)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix  # one classifier
    if matrix.ndim != 2 or len(matrix) != len(truth) or not matrix.size:
        raise InputError(
            f"predictions has the shape {matrix.shape}; it must have a row for each of the {len(truth)} examples and a "
            "column for each classifier."
        )
    check_comparable("predictions", matrix, truth, "y_true")
    (codes, said), labels = coded([truth, matrix])
    return codes, said, labels, [str(position) for position in range(matrix.shape[1])]


def check_share(choose: object) -> float:
    """Return a share strictly between 0 and 1."""
    expected = "it must be a share of the examples strictly between 0 and 1"
    return check_number("choose", choose, lambda share: 0.0 < share < 1.0, expected)


def check_seed(random_state: object, share: float | None) -> int:
    """Return a seed that can be printed, so that the division can be repeated."""
    if random_state is None:
        return 0
    expected = "it must be a whole number of at least 0, to be printed"
    seed = check_whole("random_state", random_state, lambda number: number >= 0, expected)
    if share is None:
        raise InputError("random_state is given without choose; nothing is drawn at random then.")
    return seed
