r"""Proofs of minima under limits on other bounds: intervals of the size, each with lines.

The smallest :math:`B_1 = F_1(L_1, T)` subject to :math:`B_s = F_s(L_s, T) \le x_s`, all of one posterior. Where the
size is ``T`` a limit is the row :math:`L_s \le \lambda_s(T)`, :math:`\lambda_s(T) = \max\{L : F_s(L, T) \le x_s\}`.
``F_s`` is jointly concave and increasing, so that :math:`\lambda_s` **is convex and decreases: on an interval of sizes
it is below its chord.** A line of the problem with the rows :math:`L_s \le 1` says, before these are dropped,

.. math:: T + \gamma' x + \textstyle\sum_s \nu'_s (L_s - 1) \ge h, \qquad x = L_1 - \min_i l_i,

for every posterior that keeps the problem's own rows. With the chords in place of :math:`L_s` it bounds ``x`` from
below by a linear function of ``T``, and :math:`F_1` is smallest at a vertex of these. The intervals leave out no size:
the first one begins at that of the prior, and beyond the last one no posterior keeps the limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..constraints import average
from ..constraints.posteriors import FEASIBLE
from ..distances.checks import elementwise
from ..errors import InputError
from ..numerics.elementwise import Array
from ..plugins import ours
from ..validation import check_positive
from .checker import INVERTED, ROUNDED, SUMMED, Region, refuse_other_functions
from .polygon import vertices
from .proof import ProofError

if TYPE_CHECKING:
    from ..problem import BoundProblem

#: Halvings after which a level is as exact as numbers below one are.
HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Intervals:
    r"""That no bound under limits on others is below :attr:`claim`; :func:`check_intervals` says what is proven.

    Attributes
    ----------
    ends : array of shape (n,)
        Where the intervals of sizes end. Each begins where the one before ends, the first at the size of the prior.
    lines : tuple of arrays of shape (., 3 + k)
        For each interval rows :math:`\gamma, \theta, \tau, \nu_1, \dots, \nu_k` (see :class:`~.checker.Region`), the
        last multipliers those of :math:`L_s \le 1`, in the order of the limits.
    beyond : array of shape (k,)
        Multipliers which prove that no posterior keeps the limits at larger sizes; any will do where there are no
        larger ones, or one of the bounds is above its limit at risk zero.
    claim : float
    """

    ends: Array
    lines: tuple[Array, ...]
    beyond: Array
    claim: float


def check_intervals(problem: BoundProblem, limits: Mapping[str, tuple[BoundProblem, float]], proof: Intervals) -> float:
    """Return the number that no bound under limits on others is below, as a proof proves it: at most its claim.

    Raises :class:`ProofError`, with the reason, where it proves nothing.
    """
    if not isinstance(proof, Intervals):
        raise ProofError(f"{type(proof).__name__} is no proof by intervals.")
    limited, lower, lines = Limited(problem, limits), float(proof.claim), tuple(proof.lines)
    ends = np.append(limited.first, np.asarray(proof.ends, dtype=np.float64))
    follow = len(lines) == ends.size - 1 and np.isfinite(ends).all() and (np.diff(ends) > 0.0).all()
    if math.isnan(lower) or not follow:
        raise ProofError("the proof has no claim, or its intervals do not follow each other from the prior's size on.")
    for a, b, rows in zip(ends[:-1].tolist(), ends[1:].tolist(), lines, strict=True):
        lower = min(lower, limited.lowest(a, b, rows, lower))
    if not limited.is_last(ends[-1].item(), proof.beyond):
        raise ProofError(f"the proof does not show that no posterior of a size above {ends[-1]:g} keeps the limits.")
    return lower


class Limited:
    """A problem with limits on other bounds of the posterior."""

    def __init__(self, problem: BoundProblem, limits: Mapping[str, tuple[BoundProblem, float]]) -> None:
        self.others = _checked(problem, limits)
        for each in (problem, *(other for _, other, _ in self.others)):
            refuse_other_functions(each)
        rows = [average(other.risks, at_most=1.0, name=f"risk of {name}") for name, other, _ in self.others]
        #: The problem with the rows :math:`L_s \\le 1`, which every posterior keeps.
        self.problem = problem.replace(constraints=[*problem.constraints, *rows])
        assert self.problem.posteriors is not None
        self.region, self.posteriors = Region(self.problem), self.problem.posteriors
        corner = np.zeros(problem.size)
        corner[np.argmin(problem.prior)] = 1.0
        base, largest = problem.divergence_size(problem.prior), problem.divergence_size(corner)
        #: No posterior's size is smaller, or larger: a convex function is largest at a corner, and this one where the
        #: prior is smallest.
        self.first, self.largest = base - SUMMED * abs(base), largest + SUMMED * abs(largest)

    def level(self, size: float) -> Array:
        """Return the largest other risks that the limits allow at a size, rounded up, and at most one."""
        low, high = np.zeros(len(self.others)), np.ones(len(self.others))
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            above = self._above(middle, size)
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return high

    def _above(self, risks: Array, size: float) -> NDArray[np.bool_]:
        """Return whether the other bounds are above their limits for certain, at some risks."""
        found = []
        with np.errstate(all="ignore"):
            for (_, other, most), risk in zip(self.others, risks[:, None] * (1.0 - ROUNDED)):
                budget = np.atleast_1d(other.budget_at(size - ROUNDED * abs(size)).value) * (1.0 - ROUNDED)
                found.append(elementwise(other.distance_function).reaches(risk, budget, most * (1.0 + INVERTED)))
        return np.concatenate(found)

    def lowest(self, a: float, b: float, rows: Array, claim: float) -> float:
        """Return the smallest bound that lines leave to sizes from ``a`` to ``b``, or the claim, whichever is
        smaller."""
        start, end = self.level(a), self.level(b)
        # A level of one may be cut off, and what is cut off is not convex.
        end = np.where(start < 1.0, end, 1.0)
        rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        slope, height = self.region.supporting(rows)
        gamma, nu = rows[:, 0], rows[:, -len(self.others) :]
        with np.errstate(all="ignore"):
            parts = [
                np.column_stack((height / slope, -size / slope, nu / gamma[:, None] * (1.0 - level)))
                for size, level in ((a, start), (b, end))
            ]
            left, right = (each.sum(axis=1) - ROUNDED * np.abs(each).sum(axis=1) for each in parts)
            fall = (left - right) / (b - a)
            left = left - ROUNDED * (np.abs(left) + np.abs(right))
        usable = np.isfinite(left) & np.isfinite(right) & np.isfinite(fall)
        left, right, fall = left[usable], right[usable], fall[usable]
        # Each line is lowest at one of the ends.
        base = float(np.minimum(left, right).max(initial=0.0))
        wider, x, _ = vertices(fall, left, base, 0.0, b - a)
        sizes = a + wider
        return self.region.smallest_bound(x, sizes - ROUNDED * np.abs(sizes), claim)

    def is_last(self, size: float, multipliers: Array) -> bool:
        """Return whether no posterior of a larger size keeps the limits."""
        if size >= self.largest or self._above(np.zeros(len(self.others)), size).any():
            return True
        nu, own = np.asarray(multipliers, dtype=np.float64), len(self.region.scales) - len(self.others)
        broken = self.region.smallest(np.zeros_like(self.region.y), nu)
        raised = float(np.dot(nu[own:], 1.0 - self.level(size)))
        needed = FEASIBLE * float(np.dot(nu[:own], self.region.scales[:own])) + ROUNDED * (abs(broken) + raised)
        return broken + raised > needed


def _checked(problem: BoundProblem, limits: object) -> list[tuple[str, BoundProblem, float]]:
    """Return names, problems and largest bounds; what does not go together is refused."""
    pair = "a BoundProblem and the largest value of its bound"
    if isinstance(problem, type) or getattr(problem, "kind", None) != "bound":
        raise InputError("problem", problem, "it must be a BoundProblem")
    if problem.posteriors is not None and problem.posteriors.support is not None:
        raise InputError("problem has a limit on the support, which limits on other bounds do not go together with.")
    if not isinstance(limits, Mapping):
        raise InputError("limits", limits, f"it must be a dict of names, each with {pair}")
    if not limits:
        raise InputError(f"limits is empty; it must have a name with {pair}.")
    found = []
    for name, given in limits.items():
        if not (isinstance(given, tuple | list) and len(given) == 2 and getattr(given[0], "kind", None) == "bound"):
            raise InputError(f"limits[{name!r}]", given, f"it must be a pair of {pair}")
        other = given[0]
        if not np.array_equal(other.prior, problem.prior):
            raise InputError(f"limits[{name!r}] has other classifiers or another prior than the problem.")
        mine, theirs = problem.divergence_function, other.divergence_function
        if type(mine) is not type(theirs) or mine.order != theirs.order or not (ours(mine) or mine == theirs):
            raise InputError(f"limits[{name!r}] has another divergence than the problem; all must have the same.")
        if other.constraints:
            raise InputError(f"limits[{name!r}] has constraints of its own; they belong to the problem.")
        found.append((name, other, check_positive(f"limits[{name!r}][1]", given[1])))
    return found
