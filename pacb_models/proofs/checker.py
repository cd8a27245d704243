r"""The checker: what a proof proves. It uses nothing of the solvers.

**One line for every divergence.** For any numbers :math:`g_i` and every posterior on a set ``S`` of classifiers

* order α: :math:`T(q) \ge g \cdot q / N`, :math:`N = (\sum_S p_i (g_i)_+^{\alpha'})^{1/\alpha'}` (Hölder);
* KL: :math:`T(q) \ge g \cdot q - \ln \sum_S p_i e^{g_i}` (Donsker and Varadhan);
* any other: :math:`T(q) \ge g \cdot q - \sum_S p_i f^*(g_i)` (Fenchel and Young).

With :math:`\gamma, \nu \ge 0` and the prices :math:`\pi_i = g_i + \gamma y_i + \nu \cdot \tilde a_i`, :math:`y_i = l_i
- \min_j l_j`, the first one gives :math:`N\,T + \gamma\, y \cdot q \ge \min_{q'} \pi \cdot q'` on the posteriors that
keep the rows :math:`\tilde a_j \cdot q \le 0`; the minimum is over caps and floors. A line of a proof says which ``g``:

.. math:: g_i = \mathrm{clip}(\theta - \gamma y_i - \nu \cdot \tilde a_i,\; T'(lo_i/p_i),\; T'(up_i/p_i)),

the gradient of the size at the posterior where the line touches, ``τ`` being its size. Without caps and floors nothing
is clipped, and all prices are θ. Under a limit on the support the
sum is the largest one over the supports that are allowed. All lines, :math:`T \ge T(p)` and the smallest risk bound a
polygon (:mod:`.polygon`), and :math:`F(L, T)`, jointly concave and increasing, is smallest at a vertex.

Everything is rounded outward. Sums of non-negative terms are added up pairwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..constraints.posteriors import FEASIBLE
from ..distances.checks import concave_budget, concave_on_grid, elementwise
from ..plugins import ours
from ..problem import Problem
from ..validation import check_kind
from .polygon import vertices
from .proof import AnyProof, CommonRisk, Empty, Leaf, Proof, ProofError, Tangent, leaves

if TYPE_CHECKING:
    from ..constraints import Posteriors
    from ..problem import BoundProblem

#: What rounding may do, relatively: to a few operations; to a sum of up to 10⁹ terms; to a bound that is computed from
#: risk and size (tests compare all distances with 50 digits).
ROUNDED, SUMMED, INVERTED = 2.0**-48, 2.0**-46, 2.0**-43
#: What is lost of a term that underflows is less, also where subnormal numbers count as zero.
TINY = 2.0**-1020
#: Shares of the way to where a tangent is smallest, and to some single classifiers, at which a bound that is said to be
#: convex must not be below it but for its own errors, relative to it.
SHARES, SINGLE, OWN_ERRORS = (1.0, 0.5, 0.1, 1e-2, 1e-4, 1e-6), 20, 1e-9
#: Numbers formed at a time, so that they stay in the processor's cache.
AT_ONCE = 1 << 17


def check_proof(problem: Problem, proof: AnyProof) -> float:
    """Return the number that no posterior's bound is below, as a proof proves it: at most its claim.

    Raises :class:`ProofError`, with the reason, where it proves nothing. Third-party solvers may hand over anything.
    """
    check_kind("problem", problem, Problem, "a problem, as pm.BoundProblem makes one")
    try:
        if isinstance(proof, CommonRisk):
            return _common_risk(problem, proof)
        if isinstance(proof, Tangent):
            return _lowest_of_tangent(problem, proof)
        if isinstance(proof, Proof):
            return _lowest_of_tree(problem, proof)
    except ProofError:
        raise
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as reason:
        raise ProofError(f"the proof cannot be read ({type(reason).__name__}).") from reason
    raise ProofError(f"{type(proof).__name__} is no proof.")


def _lowest_of_tree(problem: Any, proof: Proof) -> float:
    """Return the smallest number that a leaf proves."""
    refuse_other_functions(problem)
    lower = float(proof.claim)
    if not math.isfinite(lower):
        raise ProofError("the claim of the proof is no finite number.")
    kind: type[Region] = Region
    if problem.kind == "tandem":
        from .tangents import Tangents

        kind = Tangents
    for node, inside, outside in leaves(proof.tree):
        region = kind(problem, inside, outside)
        if isinstance(node, Leaf):
            lower = min(lower, region.lowest(node, lower))
        elif isinstance(node, Empty):
            region.refuse_posteriors(node)
        else:
            raise ProofError(f"a {type(node).__name__} is no part of a proof.")
    return lower


def refuse_other_functions(problem: Problem) -> None:
    """Raise unless the bound is a function F(L, T), jointly concave and increasing as far as a grid shows."""
    if problem.kind not in ("bound", "tandem"):
        raise ProofError("the proof is about a bound F(L, T), and the problem has none.")
    distance, divergence = problem.distance_function, problem.divergence_function
    concave = ours(distance) or concave_on_grid(distance)
    if not (concave and (ours(divergence) or concave_budget(divergence, problem.coefficient, problem.exponent))):
        raise ProofError("on a grid the distance is not jointly convex and increasing, or the budget not concave.")


def _common_risk(problem: Any, proof: CommonRisk) -> float:
    if problem.kind != "direct":
        raise ProofError("the proof is about a direct bound, and the problem is none.")
    claim = float(proof.claim)
    if not problem.common_risk_is_possible(claim):
        raise ProofError(f"not all risks can be {claim!r} at once.")
    return claim


def _lowest_of_tangent(problem: Problem, proof: Tangent) -> float:
    r""":math:`B(q_0) + \min_q \langle\nabla B(q_0), q - q_0\rangle` over the simplex, or over caps, floors and rows,
    which by weak duality any multipliers of the rows prove. Some points on the way there may refute the tangent."""
    if problem.kind != "own" or not problem.convex:
        raise ProofError("a tangent is about a bound of another form whose class says `convex = True`.")
    q, size = np.array(proof.posterior, dtype=np.float64), problem.size
    if not (q.shape == (size,) and (q >= 0.0).all() and abs(float(np.add.reduce(q)) - 1.0) <= FEASIBLE):
        raise ProofError("the tangent is not taken at a posterior.")
    q /= float(np.add.reduce(q))
    bound, slopes = float(problem.bound(q)), np.array(problem.gradient(q), dtype=np.float64)
    if not (slopes.shape == (size,) and math.isfinite(bound) and np.isfinite(slopes).all()):
        raise ProofError("the bound or its gradient is not finite where the tangent is taken.")
    best, least = np.zeros(size), slopes.item(slopes.argmin())
    best[slopes.argmin()] = 1.0
    if problem.posteriors is not None:
        best, multipliers = problem.posteriors.minimise(slopes)
        least = problem.posteriors.lowest(slopes, multipliers) - size * 2.0**-53 * float(np.abs(slopes).max())
    error = INVERTED * (abs(bound) + float(np.abs(slopes[q > 0.0]).max()) + abs(least))
    mean, allowed = float(np.dot(q, slopes)), error + OWN_ERRORS * abs(bound)
    single = np.unique(np.linspace(0, size - 1, SINGLE).astype(int)).tolist()
    for end in (best, *(np.bincount([i], minlength=size) for i in single)):
        rise = float(np.dot(end, slopes)) - mean
        for share in SHARES:
            if float(problem.bound((1.0 - share) * q + share * end)) < bound + share * rise - allowed:
                raise ProofError("the bound is below its tangent: it is not convex, or its gradient is wrong.")
    return bound - max(mean - least, 0.0) - error


class Region:
    """The posteriors of a problem with some classifiers in the support, and some others not."""

    def __init__(self, problem: BoundProblem, inside: frozenset[int] = frozenset(), outside: Any = frozenset()) -> None:
        self.problem, self.divergence = problem, problem.divergence_function
        self.least = problem.risks.item(problem.risks.argmin())
        self.y, self.p = problem.risks - self.least, problem.prior
        self.inside, self.dropped, self.boxed = inside, 0.0, False
        self.members: NDArray[np.intp] | None = None
        self.matrix, self.scales = np.zeros((0, self.y.size)), np.zeros(0)
        self.lower: Any = None
        self.upper: Any = None
        self.support = getattr(problem.posteriors, "support", None)
        if (inside or outside) and (self.support is None or not all(0 <= i < self.y.size for i in inside | outside)):
            raise ProofError("the proof has branches over classifiers that the problem does not divide.")
        if problem.posteriors is not None:
            self._constrain(problem.posteriors, outside)
        self.widest = self.y.item(self.y.argmax()) if self.y.size else 0.0

    def _constrain(self, posteriors: Posteriors, outside: frozenset[int]) -> None:
        """Take the constraints, and leave out the classifiers that are out, that have a cap of zero, or for which there
        is no room beside those that are in."""
        self.boxed, self.matrix, self.scales = posteriors.boxed, posteriors.matrix, posteriors.scales
        self.lower, self.upper = posteriors.lower, posteriors.upper
        remaining = np.ones(self.y.size, dtype=bool) if self.upper is None else self.upper > 0.0
        if self.support is not None:
            self.sizes, total = self.support.costs(self.y.size)
            self.forced = np.zeros(self.y.size, dtype=bool)
            self.forced[sorted(self.inside)] = True
            #: What is left of the total.
            self.room = total - float(self.sizes[self.forced].sum())
            remaining &= self.forced | (self.sizes <= self.room)
            remaining[sorted(outside)] = False
        if remaining.all():
            return
        if self.lower is not None and self.upper is not None:
            self.dropped = float(self.lower[~remaining].max())
            self.lower, self.upper = self.lower[remaining], self.upper[remaining]
        self.members = np.flatnonzero(remaining)
        self.y, self.p, self.matrix = (each[..., self.members] for each in (self.y, self.p, self.matrix))
        if self.support is not None:
            self.sizes, self.forced = self.sizes[self.members], self.forced[self.members]

    # -- Lines -------------------------------------------------------------------------------------------------------

    def supporting(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the slopes and heights of some lines, in terms of the risk above the smallest of all classifiers."""
        rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        fits = rows.shape[1:] == (3 + len(self.matrix),) and bool(np.isfinite(rows).all())
        if not (fits and (rows[:, 0] >= 0.0).all() and (rows[:, 3:] >= 0.0).all()):
            raise ProofError("a line of the proof has not the numbers γ ≥ 0, θ, τ and ν ≥ 0 for each row.")
        # A line whose numbers overflow says nothing, and is known by what comes out.
        with np.errstate(over="ignore", invalid="ignore"):
            step = 1 if self.support is not None else AT_ONCE >> 9
            parts = (self._at_once(rows[start : start + step]) for start in range(0, max(len(rows), 1), step))
            slopes, heights = zip(*parts)
        return np.concatenate(slopes), np.concatenate(heights)

    def _at_once(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return some lines, on a part of the classifiers after the other; under a limit on the support on all of
        them."""
        gamma, theta, tau = rows[:, :1], rows[:, 1:2], rows[:, 2:3]
        nu = rows[:, 3:] * self.scales
        error = ROUNDED * np.abs(rows[:, 1])
        if nu.size:
            error += ROUNDED * (2.0 + nu.shape[1]) * np.add.reduce(nu, axis=1)
        level = rows[:, 1] - error
        length = self.y.size if self.support is not None else max(AT_ONCE // max(len(rows), 1), 1)
        starts = range(0, self.y.size, length)
        totals = np.empty((len(rows), len(starts)))
        costs = np.zeros_like(totals)
        for column, start in enumerate(starts):
            part = slice(start, start + length)
            tilts, p = gamma * self.y[part], self.p[part]
            if nu.size:
                tilts += nu @ self.matrix[:, part]
            if self.boxed:
                low, high = (self.divergence.prices(each[part] / p, tau) for each in (self.lower, self.upper))
                g = np.clip(theta - tilts, low, high)
                # For any level c the minimum is at least c plus what each classifier can add to it or take from it.
                tilts += g - level[:, None]
                tilts *= np.where(tilts > 0.0, self.lower[part], self.upper[part])
                costs[:, column] = np.add.reduce(tilts, axis=1)
            else:
                # All prices are θ.
                g = np.subtract(theta, tilts, out=tilts)
            totals[:, column] = self.divergence.conjugate(g, p) if self.support is None else self._heaviest(g)
        total, least = np.add.reduce(totals, axis=1), level
        if self.boxed:
            least = level + np.add.reduce(costs, axis=1) - SUMMED * np.add.reduce(np.abs(costs), axis=1)
        least = least - error - ROUNDED * np.abs(least)
        slope, height = self.divergence.supporting(
            total + SUMMED * np.abs(total) + self.y.size * TINY, rows[:, 0], least
        )
        height = height - ROUNDED * np.abs(height)
        # Numbers that overflow say nothing.
        known = np.isfinite(slope) & np.isfinite(height)
        return (slope, height) if known.all() else (np.where(known, slope, 0.0), np.where(known, height, -np.inf))

    def _heaviest(self, g: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest sum over the supports that are allowed, or a number above it."""
        terms = self.p * self.divergence.potentials(g)
        return np.array([most_within(each, self.sizes, self.room, self.forced) for each in terms])

    # -- What follows ------------------------------------------------------------------------------------------------

    def lowest(self, leaf: Leaf, claim: float) -> float:
        """Return the smallest bound at a vertex, or the claim, whichever is smaller."""
        if not self.y.size:
            raise ProofError("a leaf has no classifiers, and is not shown to be empty.")
        slope, height = self.supporting(leaf.lines) if len(leaf.lines) else (np.zeros(0), np.zeros(0))
        base, floor = self.corner(leaf)
        x, size, _ = vertices(slope, height, base, floor, self.widest)
        size = size - ROUNDED * (np.abs(size) + np.abs(base))
        return self.smallest_bound(x, np.maximum(size, base), claim)

    def corner(self, leaf: Leaf) -> tuple[float, float]:
        """Return numbers that no size, and no risk above the smallest, is below."""
        prior = self.problem.prior
        base = self.divergence.size(prior, prior)
        return base - SUMMED * abs(base), min(max(self.smallest(self.y, leaf.floor), 0.0), self.widest)

    def smallest_bound(self, x: NDArray[np.float64], size: NDArray[np.float64], claim: float) -> float:
        """Return the smallest bound at some risks and sizes, or the claim; an inverse is needed only where it is
        smaller."""
        distance = elementwise(self.problem.distance_function)
        risk = np.minimum(np.maximum((self.least + x) * (1.0 - ROUNDED), 0.0), 1.0)
        with np.errstate(all="ignore"):
            budget = self.problem.budget_at(size).value * (1.0 - ROUNDED)
            below = ~distance.reaches(risk, budget, claim * (1.0 + INVERTED))
            if not below.any():
                return claim
            values = np.asarray(distance.invert(risk[below], budget[below])) * (1.0 - INVERTED)
        if np.isnan(values).any():
            raise ProofError("the bound at a vertex is not a number.")
        return float(values.min())

    def smallest(self, costs: NDArray[np.float64], multipliers: NDArray[np.float64]) -> float:
        """Return a number that the average of some costs is not below: :math:`c + \\nu \\tilde A` over caps and
        floors."""
        nu = np.asarray(multipliers, dtype=np.float64)
        if nu.shape != (len(self.matrix),) or (nu.size and not (np.isfinite(nu) & (nu >= 0.0)).all()):
            raise ProofError("the multipliers of a floor are not a number ≥ 0 for each row.")
        error = ROUNDED * self.widest
        if nu.size:
            nu = nu * self.scales
            costs = costs + nu @ self.matrix
            error += ROUNDED * (2.0 + nu.size) * float(nu.sum())
        if not self.boxed:
            return float(costs.min()) - error
        order = np.argsort(costs)
        room = np.append(0.0, np.cumsum((self.upper - self.lower)[order]))
        left = np.clip(1.0 - float(np.add.reduce(self.lower)) - room[:-1], 0.0, (self.upper - self.lower)[order])
        value = float(np.add.reduce(self.lower * costs)) + float(np.add.reduce(left * costs[order]))
        # Weights that are off one by rounding move the cost by no more than that.
        return value - error - (SUMMED + self.y.size * 2.0**-53) * float(np.abs(costs).max())

    def refuse_posteriors(self, node: Empty) -> None:
        """Raise unless no posterior is here, as a node says."""
        if node.multipliers is None:
            if self.support is None or self.support.exact_size(self.inside) <= self.support.exact_total():
                raise ProofError("a branch is not empty: its sizes do not exceed the total.")
            return
        if not self.y.size:
            return
        if self.boxed:
            most, least = float(np.add.reduce(self.upper)), float(np.add.reduce(self.lower))
            if most < 1.0 - FEASIBLE or least > 1.0 + FEASIBLE or self.dropped > FEASIBLE:
                return
        broken = self.smallest(np.zeros_like(self.y), node.multipliers)
        if not broken > FEASIBLE * float(np.dot(node.multipliers, self.scales)):
            raise ProofError("a branch is not empty: its multipliers do not prove that the rows contradict.")


def most_within(
    terms: NDArray[np.float64], sizes: NDArray[np.float64], room: float, forced: NDArray[np.bool_]
) -> float:
    """Return the largest sum of terms within the room beside those that are in: the last one that fits may count in
    part."""
    paid, free = float(np.add.reduce(terms[forced])), np.flatnonzero(~forced & (sizes <= room))
    values, costs = terms[free], sizes[free]
    if float(costs.sum()) <= room or not values.any():
        return paid + float(np.add.reduce(values))
    if (costs == costs[0]).all() and costs[0].is_integer():
        first = values.size - int(room // costs[0])
        return paid + float(np.add.reduce(np.partition(values, first)[first:]))
    # In whole units of the room, rounded down, sizes add up without an error as long as they fit, however small.
    units = 2.0**52
    shares = np.floor(costs / room * (units - 2.0))
    order = np.lexsort((-values / values.max() / np.maximum(shares, 1.0), shares > 0.0))
    before = np.append(0.0, np.cumsum(shares[order])[:-1])
    parts = np.clip((units - before) / np.maximum(shares[order], 1.0), 0.0, 1.0)
    return paid + float(np.add.reduce(values[order] * parts)) * (1.0 + SUMMED)
