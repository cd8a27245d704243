"""From predictions to a certificate: of all classifiers at once, or of one that a part of the examples chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..validation import check_delta, check_number, check_whole, first_repeated
from .certificate import Certificate
from .certify import certify
from .choice import ChosenCertificate
from .counts import check_names
from .labels import check_comparable, coded, label_array, label_column, majority

#: The prior mass of the plain majority vote, where nothing is known of it and the classifiers but these examples.
VOTE_SHARE = 0.5
#: With fewer classifiers a majority is one of them, or decided by the order of the labels.
FEWEST_VOTERS = 3


def certify_predictions(
    y_true: ArrayLike,
    predictions: Any,
    delta: float = 0.05,
    names: Sequence[str] | None = None,
    choose: float | None = None,
    random_state: int | None = None,
    *,
    vote: bool = True,
) -> Certificate | Any:
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
        alone. Take it when there are many classifiers; do not take it when many of them make no errors at all, or when
        you want to state something about all of them.
    random_state : int, optional
        The seed of that division, 0 by default. Fix the share and the seed before you look: the best of several
        certificates is none.
    vote : bool
        Whether the majority vote of three or more classifiers is a candidate, too. It has half of the prior, the
        classifiers share the other half.

    Returns
    -------
    Certificate or ChosenCertificate
        Both print what is guaranteed, and have ``bound``, ``to_frame()`` and ``plot()``.

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
    """
    check_delta(delta)
    share = None if choose is None else check_share(choose)
    seed = check_seed(random_state, share)
    truth, columns, given = _checked(y_true, predictions)
    names = [str(name) for name in (given if names is None else names)]
    (codes, *found), labels = coded([truth, *columns])
    said = found[0] if found[0].ndim == 2 else np.column_stack(found)
    size = said.shape[1]
    check_names(names, size)
    wrong = said != codes[:, None]
    with_vote = vote and size >= FEWEST_VOTERS
    if with_vote:
        names = [_vote_name(size, names), *names]
        wrong = np.column_stack([majority(said, labels) != codes, wrong])
    if share is not None:
        return ChosenCertificate.of(wrong, delta, names, share, seed)
    certificate: Certificate = certify(
        np.count_nonzero(wrong, axis=0),
        len(truth),
        delta,
        prior=np.array([VOTE_SHARE, *[(1.0 - VOTE_SHARE) / size] * size]) if with_vote else None,
        names=names,
    )
    note = (
        f"The prior, fixed beforehand, has {VOTE_SHARE:g} on the majority vote and shares {1.0 - VOTE_SHARE:g} equally "
        f"among the {size} classifiers."
    )
    return certificate.with_note(note) if with_vote else certificate


def _vote_name(size: int, names: Sequence[str]) -> str:
    """What the majority vote is called; a classifier may have that name already."""
    name = f"majority vote of {size}"
    while name in names:
        name += " (all)"
    return name


def check_share(choose: object) -> float:
    """A share strictly between 0 and 1."""
    expected = "it must be a share of the examples strictly between 0 and 1"
    return check_number("choose", choose, lambda share: 0.0 < share < 1.0, expected)


def check_seed(random_state: object, share: float | None) -> int:
    """A seed that can be printed, so that somebody else can repeat the division."""
    if random_state is None:
        return 0
    expected = "it must be a whole number of at least 0, to be printed"
    seed = check_whole("random_state", random_state, lambda number: number >= 0, expected)
    if share is None:
        raise InputError("random_state is given without choose; nothing is drawn at random then.")
    return seed


def _checked(y_true: Any, predictions: Any) -> tuple[NDArray[Any], list[NDArray[Any]], list[str]]:
    """Truth, the columns of predictions (as one matrix where they came as one), and the names that came with them."""
    truth = label_array("y_true", y_true)
    if truth.ndim != 1 or not truth.size:
        raise InputError(f"y_true has the shape {truth.shape}; it must hold a label for each of the examples.")
    if hasattr(y_true, "iloc") and hasattr(predictions, "iloc") and not y_true.index.equals(predictions.index):
        raise InputError("y_true and predictions have different indices; their rows must be the same examples.")
    if hasattr(predictions, "columns") or isinstance(predictions, Mapping):
        named = list(getattr(predictions, "columns", predictions))
        if not named:
            raise InputError("predictions has no column; it must have one for each classifier.")
        twice = first_repeated(named)
        if twice is not None:
            raise InputError(f"predictions has more than one column {twice!r}; classifiers must have different names.")
        columns = [label_column(f"predictions[{name!r}]", predictions[name], truth, "y_true") for name in named]
        return truth, columns, [str(name) for name in named]
    matrix = label_array("predictions", predictions)
    if matrix.ndim == 1:
        # One classifier.
        matrix = matrix[:, None]
    if matrix.ndim != 2 or len(matrix) != len(truth) or not matrix.size:
        raise InputError(
            f"predictions has the shape {matrix.shape}; it must have a row for each of the {len(truth)} examples and a "
            "column for each classifier."
        )
    check_comparable("predictions", matrix, truth, "y_true")
    return truth, [matrix], [str(position) for position in range(matrix.shape[1])]
