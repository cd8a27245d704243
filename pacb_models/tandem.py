r"""Bounds for weighted majority votes: the bounds of :class:`~pacb_models.BoundProblem`, for pairs of classifiers.

With :math:`e_i(x) \in \{0, 1\}` the error of classifier ``i`` on example ``x`` and :math:`A_{ij}` the mean of
:math:`e_i e_j`, the empirical *tandem risk* of a posterior is

.. math:: s(q) = q^T A q = \tfrac1m \sum_x \Big(\sum_i q_i\, e_i(x)\Big)^2.

The pairs :math:`(i, j)` are :math:`H^2` classifiers with risks :math:`A_{ij}`, prior :math:`p \otimes p` and posterior
:math:`q \otimes q`, so that each theorem holds for them with the same constant. The size of the pairs is :math:`V = 2
KL(q\|p)`, or :math:`V = T^2` for χ² and Rényi orders, and :math:`F(s, V)` bounds the true tandem risk ``S``, for all
posteriors at once. The vote with weights ``q`` errs only where :math:`\sum_i q_i e_i \ge \tfrac12`, by Markov's
inequality with probability at most :math:`4S` (Masegosa, Lorenzen, Igel and Seldin, NeurIPS 2020, who take the kl
distance and KL).

``A`` is positive semidefinite. So ``s`` is convex, and lies above its tangent at any :math:`q_0`: there the bound's
minimum is that of risks :math:`2 A q_0`, and the proofs of :mod:`pacb_models.proofs` carry over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .constraints import Constraint
from .distances import Distance
from .divergences import Divergence
from .errors import InputError, UnsupportedProblemError
from .merging import Merged, by_columns, columns_of
from .numerics.elementwise import Numbers
from .numerics.inner import dot
from .numerics.rounding import EPSILON
from .problem import BoundProblem, Judgement, Outer, RiskAndSize
from .validation import all_or_refuse, real_numbers
from .wording import at_most

if TYPE_CHECKING:
    from .algebra import Algebra, Expression


class TandemProblem(RiskAndSize):
    """Minimise a bound on the tandem risk over the weights of a majority vote.

    It takes the arguments of :class:`~pacb_models.BoundProblem`, except for the risks. Limits on the support are
    refused. ``bound(q)`` bounds the tandem risk; the weighted majority vote errs with probability at most four times
    that: ``solution.vote_bound``. The weights may be chosen on the same examples.

    Parameters
    ----------
    tandem_risks : array of shape (H, H)
        The share of the ``m`` examples on which both classifiers err; on the diagonal the empirical risks. Positive
        semidefinite, as it is when all pairs are compared on the same examples.

    Examples
    --------
    >>> import numpy as np
    >>> import pacb_models as pm
    >>> errors = np.random.default_rng(0).random((400, 30)) < 0.2
    >>> problem = pm.TandemProblem.from_errors(errors, delta=0.05, divergence="kl")
    >>> solution = pm.solve(problem)
    >>> solution.is_global, round(solution.vote_bound, 3)
    (True, 0.357)
    """

    kind = "tandem"
    form = "the tandem bound of "
    by_risk = False
    vote_factor = 4.0

    tandem_risks: NDArray[np.float64]
    #: Which classifier erred on which example, when the problem was given so: shape (m, H).
    error_matrix: NDArray[np.bool_] | None = None

    def __init__(
        self,
        tandem_risks: ArrayLike,
        m: int,
        delta: float = 0.05,
        distance: str | Distance = "kl",
        divergence: str | Divergence = "chi2",
        prior: ArrayLike | None = None,
        constant: str = "exact",
        order: float = 2.0,
        constraints: Iterable[Constraint] = (),
    ) -> None:
        matrix = _checked(tandem_risks)
        super().__init__(matrix.diagonal(), m, delta, distance, divergence, prior, constant, order, constraints)
        if type(self.divergence_function).pairs is Divergence.pairs:
            raise UnsupportedProblemError(f"the {self.divergence} divergence lacks the method `pairs`.")
        self._set(tandem_risks=matrix)
        _refuse_indefinite(matrix)

    @classmethod
    def from_errors(cls, errors: ArrayLike, **arguments: Any) -> Self:
        """Return the problem of a matrix with a row per example and a column per classifier: True or 1 where it
        errs."""
        found = real_numbers("errors", errors)
        if found.ndim != 2 or not found.size:
            raise InputError(f"errors has the shape {found.shape}; it must have a row per example and a column each.")
        all_or_refuse("errors", found, (found == 0.0) | (found == 1.0), "every entry must be 0 or 1")
        problem = cls(found.T @ found / len(found), len(found), **arguments)
        problem._set(error_matrix=found.astype(bool))
        return problem

    @classmethod
    def from_predictions(cls, y: ArrayLike, predictions: Any, **arguments: Any) -> Self:
        """Return the problem of what classifiers predict: a column of labels for each, or a dict of columns."""
        from .certificates.predictions import errors_of

        return cls.from_errors(errors_of(y, predictions), **arguments)

    @classmethod
    def from_models(cls, models: Sequence[Any] | Mapping[str, Any], X: Any, y: ArrayLike, **arguments: Any) -> Self:
        """Return the problem of fitted classifiers, on examples that none of them has seen."""
        from .estimators.fitted import predictions_of

        return cls.from_predictions(y, predictions_of(models, X, y)[2], **arguments)

    # -- The bound ---------------------------------------------------------------------------------------------------

    def empirical_risk(self, posterior: NDArray[np.float64]) -> float:
        """Return the empirical tandem risk."""
        return min(max(dot(np.asarray(posterior), self.tandem_risks @ posterior), 0.0), 1.0)

    @property
    def risk_matrix(self) -> NDArray[np.float64]:
        return self.tandem_risks

    def risk_gradient(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(2.0 * (self.tandem_risks @ q))

    def express_risk(self, algebra: Algebra) -> Expression:
        return algebra.quadratic(self.tandem_risks)

    def counted(self, size: Numbers) -> Numbers:
        """Return the size of the pairs."""
        return self.divergence_function.pairs(size).value

    def derivatives_at(self, L: float, size: float) -> Outer:
        pairs = self.divergence_function.pairs(size)
        F, g, bend = self.outer_at(L, float(pairs.value)), float(pairs.slope), float(pairs.bend)
        return F._replace(T=F.T * g, LT=F.LT * g, TT=F.TT * g * g + F.T * bend)

    def judge(self, q: NDArray[np.float64]) -> Judgement:
        judged, first = super().judge(q), self.first_order
        known = {"first_order_vote_bound": first.vote_bound(first.bound(q))}
        return judged._replace(parameters={**judged.parameters, **known})

    @cached_property
    def first_order(self) -> BoundProblem:
        """The same bound for single classifiers: their vote errs at most twice as often as they do on average."""
        return BoundProblem(self.risks, self.m, **self._other_arguments({}))

    def vote_statement(self, q: NDArray[np.float64]) -> str:
        """Return what the bounds say of the vote, in words."""
        tandem, single = self.bound(q), self.first_order.bound(q)
        return (
            f"With probability at least {1.0 - self.delta:g} the majority vote with these weights errs with a "
            f"probability of at most {at_most(self.vote_bound(tandem))}, four times that of two classifiers, drawn by "
            f"weight, to err together: at most {at_most(tandem)}. The first-order bound, {at_most(single)} for one "
            f"classifier drawn by weight, says {at_most(self.first_order.vote_bound(single))} of the same vote; it has "
            "its own delta."
        )

    @cached_property
    def indefinite(self) -> float:
        """How far below zero an eigenvalue may be, as far as the check could see; zero for a matrix of errors."""
        return 0.0 if self.error_matrix is not None else 2.0 * _shift(self.tandem_risks)

    # -- Other problems ----------------------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> Self:
        if self.error_matrix is None or {"tandem_risks", "m"} & changes.keys():
            return super().replace(**changes)
        return type(self).from_errors(self.error_matrix, **self._other_arguments(changes))

    def _other_arguments(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return all arguments but the matrix and the number of examples."""
        found = self.arguments() | changes
        return {name: value for name, value in found.items() if name not in ("tandem_risks", "m")}

    def classifiers_record(self) -> dict[str, Any]:
        errors = self.error_matrix
        lines = None if errors is None else ["".join("01"[each] for each in row) for row in errors.tolist()]
        return {"tandem_risks": self.tandem_risks.tolist(), "errors": lines}

    @classmethod
    def of_record(cls, record: dict[str, Any], arguments: dict[str, Any], source: str) -> Self:
        if record.get("errors") is None:
            return cls(record["tandem_risks"], **arguments)
        m = arguments.pop("m")
        problem = cls.from_errors([[int(each) for each in row] for row in record["errors"]], **arguments)
        if problem.m != m or problem.tandem_risks.tolist() != record["tandem_risks"]:
            raise InputError(f"{source} has errors that are not those of its tandem_risks.")
        return problem

    def merged(self) -> Merged[Self]:
        """Return the problem in which classifiers that err on the same examples are one."""
        posteriors, groups = self.posteriors, None
        # Equal ones have equal sums; few have, and only these are compared.
        if by_columns([self.risks, self.tandem_risks.sum(axis=1)]):
            more = [] if posteriors is None else columns_of(posteriors, self.prior)
            groups = by_columns([self.risks, *self.tandem_risks, *more])
        if groups is None or (posteriors is not None and posteriors.support is not None):
            return Merged(self, self)
        first = np.unique(groups.keys, return_index=True)[1]
        arguments = self._other_arguments({"prior": groups.sums(self.prior), "constraints": ()})
        if self.error_matrix is not None:
            part = type(self).from_errors(self.error_matrix[:, first], **arguments)
        else:
            part = type(self)(self.tandem_risks[np.ix_(first, first)], self.m, **arguments)
        if posteriors is not None:
            part._set(posteriors=posteriors.merged(groups))
        return Merged(part, self, groups)


def _checked(tandem_risks: ArrayLike) -> NDArray[np.float64]:
    """Return a symmetric matrix of numbers in [0, 1]."""
    matrix = np.array(real_numbers("tandem_risks", tandem_risks))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(f"tandem_risks has the shape {matrix.shape}; it must have a row and a column per classifier.")
    all_or_refuse("tandem_risks", matrix, (matrix >= 0.0) & (matrix <= 1.0), "every entry must lie in [0, 1]")
    return all_or_refuse("tandem_risks", matrix, matrix == matrix.T, "it must be symmetric")


def _shift(matrix: NDArray[np.float64]) -> float:
    """Return what a Cholesky factorisation may lose to rounding (Rump, BIT 2006, with a factor of two)."""
    return len(matrix) * EPSILON * float(np.trace(matrix))


def _refuse_indefinite(matrix: NDArray[np.float64]) -> None:
    """Refuse a matrix that is not positive semidefinite but for rounding.

    A factorisation of the matrix plus the shift shows that no eigenvalue is below minus twice the shift.
    """
    try:
        np.linalg.cholesky(matrix + _shift(matrix) * np.eye(len(matrix)) + np.finfo(float).tiny * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(matrix)[0])
        enough = max(-least, 0.0) * 1.001 + 2.0 * _shift(matrix)
        raise InputError(
            f"tandem_risks has the eigenvalue {least:.3g}; it must be positive semidefinite, as it is when all pairs "
            "are compared on the same examples. For out-of-bag errors take the smallest overlap as m, and add "
            f"{enough:.3g} to the diagonal: the bound is valid, and larger by no more than that adds."
        ) from None
