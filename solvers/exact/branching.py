r"""Limits on the support: branch on which classifiers are in it.

For posteriors on at most ``k`` classifiers, or of a total size, lines come from the heaviest support
(:class:`SupportFrontier`). Averages, caps and floors beside the limit are bounded in two ways: by the frontier without
the limit, and by that of the risks *tilted* by the rows' multipliers, :math:`l + \nu \tilde a`, without the rows. All
lines of a branch bound one polygon. A branch with a vertex below the best bound is divided by a classifier; what is
left open when the branches are used up is a gap. No branch is ever dropped: each ends as a leaf of the proof.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from pacb_models.divergences.frontiers import LARGEST, Frontier, Lines
from pacb_models.numerics.elementwise import Array
from pacb_models.problem import BoundProblem
from pacb_models.proofs import Branch, Empty, Leaf, Proof
from pacb_models.proofs.checker import Region, most_within
from pacb_models.proofs.proof import Node
from pacb_models.solution import Outcome

from .constrained import ConstrainedFrontier, search_set
from .effort import SUPPORTS
from .results import needed
from .search import Search

#: Evaluations after which the rest is reported as a gap: about four seconds for small sets; what a branch costs beside
#: them, and a pass of a constrained minimisation; over how many classifiers a pass costs twice as much.
MOST, BRANCH, PASS, WIDE = 20_000, 20, 0.4, 2000
#: A branch that cannot be better than the best by more than this, relative, is closed.
CLOSED = 2e-10


class SupportFrontier(Frontier):
    """The frontier of a region's posteriors under the limit on the support, for risks tilted by multipliers."""

    def __init__(self, region: Region, multipliers: Array) -> None:
        tilted = region.y + (multipliers * region.scales) @ region.matrix if multipliers.size else region.y
        self.members = needed_members(region, tilted)
        super().__init__(tilted[self.members], region.p[self.members])
        self.region, self.divergence, self.multipliers = region, region.divergence, multipliers
        #: The smallest tilted risk, above the smallest risk of all classifiers.
        self.floor, self.least = self.least, region.least
        self.sizes, self.forced, self.room = region.sizes[self.members], region.forced[self.members], region.room
        self.spread = max(self.spread + self.floor, 1e-300)

    @property
    def last(self) -> float:
        return super().last + (1.0 if self.divergence.homogeneous else math.log(745.0)) if self.y.any() else 1.0

    def _prices(self, z: float) -> Array:
        return 1.0 - math.exp(min(z, LARGEST)) * self.y

    def chosen(self, z: float) -> NDArray[np.bool_]:
        """Return the heaviest support that is allowed, or nearly; the best value for its size comes first."""
        terms = self.p * self.divergence.potentials(self._prices(z))
        chosen, room = self.forced.copy(), self.room
        for i in np.lexsort((-terms, -terms / np.maximum(self.sizes, 1e-300))).tolist():
            if not chosen[i] and terms[i] > 0.0 and self.sizes[i] <= room:
                chosen[i], room = True, room - self.sizes[i]
        return chosen

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        first, last = self.line(-math.inf), self.line(self.last)
        return (first.x, first.T), (last.x, last.T)

    def lines(self, z: np.ndarray) -> Lines:
        points = []
        for each in z.tolist():
            gamma, prices = math.exp(min(each, LARGEST)), self._prices(each)
            total = most_within(self.p * self.divergence.potentials(prices), self.sizes, self.room, self.forced)
            slope, height = self.divergence.supporting(total, gamma, 1.0 + gamma * self.floor)
            q = self._weights(each)
            points.append((np.dot(q, self.y) + self.floor, self.divergence.size(q, self.p), slope, height))
        return Lines(*np.array(points).T)

    def _weights(self, z: float) -> Array:
        weights = np.where(self.chosen(z), self.p * self.divergence.ratios(self._prices(z), 1.0), 0.0)
        return weights / np.add.reduce(weights)

    @np.errstate(over="ignore")
    def rows(self, z: np.ndarray) -> np.ndarray:
        gamma = np.exp(np.minimum(z, LARGEST))
        levels = np.column_stack((gamma, 1.0 + gamma * self.floor, np.ones(z.size)))
        return np.hstack((levels, np.multiply.outer(gamma, self.multipliers)))

    def at_slope(self, slope: float) -> float:
        def excess(z: float) -> float:
            return math.log(self.line(z).slope / slope)

        low, high = -40.0, self.last
        if excess(low) * excess(high) >= 0.0:
            return low if excess(low) >= 0.0 else high
        return float(brentq(excess, low, high, xtol=1e-12))

    def support(self, z: float) -> NDArray[np.bool_]:
        """Return the support at a coordinate among all classifiers of the problem."""
        support = np.zeros(self.region.problem.size, dtype=bool)
        members = self.members if self.region.members is None else self.region.members[self.members]
        support[members[self._weights(min(z, self.last)) > 0.0]] = True
        return support


def needed_members(region: Region, risks: Array) -> NDArray[np.intp]:
    """Return the classifiers that can be in the heaviest support at some level.

    Where classifiers are counted, one is never needed when as many as may be have no larger risk and no smaller prior.
    """
    sizes, room, forced = region.sizes, region.room, region.forced
    free = np.flatnonzero(~forced)
    if (sizes == 1.0).all() and 1.0 <= room < free.size:
        order = free[np.lexsort((-region.p[free], risks[free]))]
        best = order[: int(room)]
        largest = sorted(region.p[best].tolist())
        candidates = best.tolist()
        rest = order[int(room) :]
        for i in rest[region.p[rest] > largest[0]].tolist():
            if region.p[i] > largest[0]:
                heapq.heapreplace(largest, float(region.p[i]))
                candidates.append(i)
        free = np.array(candidates, dtype=np.intp)
    return np.sort(np.append(free, np.flatnonzero(forced)))


@dataclass
class _Part:
    """A branch: the classifiers that are in and those that are out, and what becomes of it."""

    inside: frozenset[int]
    outside: frozenset[int]
    node: Node = field(default_factory=lambda: Leaf(np.zeros((0, 3))))
    lower: float = -math.inf
    split: int = -1
    parts: tuple[_Part, ...] = ()

    def tree(self) -> Node:
        """Return this branch as a part of a proof."""
        return Branch(self.split, *(part.tree() for part in self.parts)) if self.parts else self.node


class Branching:
    """Best first search over supports."""

    def __init__(self, problem: BoundProblem) -> None:
        assert problem.posteriors is not None
        assert problem.posteriors.support is not None
        self.problem, self.posteriors = problem, problem.posteriors
        self.limit = problem.posteriors.support
        self.sizes, self.total = self.limit.costs(problem.size)
        self.restricted = bool(self.posteriors.rows) or self.posteriors.boxed
        self.best, self.posterior = math.inf, problem.prior
        self.tried: set[bytes] = set()
        self.relaxed: dict[bytes, tuple[Leaf, Array, Array]] = {}
        self.evaluations = self.passes = 0

    def outcome(self) -> Outcome:
        root = _Part(frozenset(), frozenset())
        order, seen, most = count(), 1, MOST / (1.0 + self.problem.size / WIDE)
        self._bound(root)
        waiting: list[tuple[float, int, _Part]] = [(root.lower, next(order), root)]
        while waiting and BRANCH * seen + self.evaluations + PASS * self.passes < most:
            lower, _, part = heapq.heappop(waiting)
            if lower >= self.best * (1.0 - CLOSED) or part.split < 0:
                heapq.heappush(waiting, (lower, next(order), part))
                break
            i = part.split
            part.parts = _Part(part.inside | {i}, part.outside), _Part(part.inside, part.outside | {i})
            for each in part.parts:
                seen += 1
                self._bound(each)
                if each.lower < math.inf:
                    heapq.heappush(waiting, (each.lower, next(order), each))
        lower = min((each[0] for each in waiting), default=self.best)
        claim = min(lower, self.best * (1.0 - CLOSED))
        message = f"{seen} branch{'es' * (seen > 1)} over supports."
        if self.best == math.inf:
            return Outcome(None, "not_converged", message, self.evaluations)
        return Outcome(self.posterior, "optimal", message, self.evaluations, proof=Proof(root.tree(), claim))

    def _bound(self, part: _Part) -> None:
        """Bound a branch from below, try the supports that it proposes, and say where to divide it."""
        region = Region(self.problem, part.inside, part.outside)
        allowed = np.ones(self.problem.size, dtype=bool)
        if region.members is not None:
            allowed[:] = False
            allowed[region.members] = True
        empty = self._emptiness(part, allowed)
        if empty is not None:
            part.node, part.lower = empty, math.inf
            return
        decided = ~allowed
        decided[sorted(part.inside)] = True
        count = len(self.posteriors.rows)
        rows, floor, multipliers = np.zeros((0, 3 + count)), np.zeros(count), np.zeros(count)
        proposal, fits = np.zeros(self.problem.size), False
        if self.restricted:
            leaf, proposal, multipliers = self._relaxed(allowed)
            rows, floor = leaf.lines, leaf.floor
            fits = float(self.sizes[proposal > 0.0].sum()) <= self.total
            if fits:
                self._keep(proposal)
            else:
                self._try(proposal > 0.0, part.inside)
        if not fits:
            within = SupportFrontier(region, multipliers)
            run = Search(self.problem, within, SUPPORTS)
            run.run()
            self.evaluations += run.evaluations
            for each in run.minima[:3]:
                for z in (each.z - 1e-9, each.z + 1e-9) if math.isfinite(each.z) else (each.z,):
                    self._try(within.support(z), part.inside)
            rows = np.vstack((rows, within.rows(np.append(needed(run), -math.inf))))
            # Between risks that are almost equal slopes overflow.
            rows = rows[np.isfinite(rows).all(axis=1)]
            if region.smallest(region.y, multipliers) > region.smallest(region.y, floor):
                floor = multipliers
            wanted = within.support(run.minima[0].z) + 1e-9 * proposal
            proposal = wanted if np.any(wanted[~decided] > 1e-6) else proposal
        part.node = Leaf(rows, floor)
        part.lower = region.lowest(part.node, self.best * (1.0 - 0.5 * CLOSED))
        open_ = np.where(decided, -1.0, proposal)
        i = int(np.argmax(open_))
        if open_[i] > 0.0:
            part.split = i
        elif not decided.all():
            part.split = int(np.argmin(np.where(decided, math.inf, self.problem.risks)))

    def _emptiness(self, part: _Part, allowed: NDArray[np.bool_]) -> Empty | None:
        """Return what shows that no posterior is in a branch, on the classifiers that can have weight in it."""
        if self.limit.exact_size(part.inside) > self.limit.exact_total():
            return Empty()
        contradiction = np.zeros(len(self.posteriors.rows)) if not allowed.any() else None
        if contradiction is None and self.restricted and allowed.tobytes() not in self.relaxed:
            contradiction = self.posteriors.within(allowed).contradiction()
        return None if contradiction is None else Empty(contradiction / self.posteriors.scales)

    def _try(self, wanted: NDArray[np.bool_], inside: frozenset[int]) -> None:
        """Try the minimum on those of some classifiers for which there is room, if it is feasible."""
        support, room = np.zeros(wanted.size, dtype=bool), self.total
        by_risk = np.flatnonzero(wanted)[np.argsort(self.problem.risks[wanted], kind="stable")]
        for i in [*sorted(inside), *by_risk.tolist()]:
            if not support[i] and self.sizes[i] <= room:
                support[i], room = True, room - self.sizes[i]
        key = support.tobytes()
        if key in self.tried or not support.any():
            return
        self.tried.add(key)
        if self.restricted:
            if key not in self.relaxed and self.posteriors.within(support).contradiction() is not None:
                return
            q = self._relaxed(support)[1]
        else:
            q = np.zeros(self.problem.size)
            part = self.problem.of_classifiers(self.problem.risks[support], self.problem.prior[support])
            inner = part.divergence_function.frontier(part.risks, part.prior, False)
            run = Search(part, inner)
            run.run()
            q[support] = inner.posterior(run.minima[0].z)
            self.evaluations += run.evaluations
        self._keep(q)

    def _keep(self, q: Array) -> None:
        """Take weights for the best if they are feasible, and have the smallest bound so far."""
        bound = self.problem.bound(q)
        if bound < self.best and self.posteriors.violation(q) <= 1e-9:
            self.best, self.posterior = bound, q

    def _relaxed(self, allowed: NDArray[np.bool_]) -> tuple[Leaf, Array, Array]:
        """Return lines, the minimum and its multipliers over the posteriors on some classifiers, whatever the limit."""
        key = allowed.tobytes()
        if key not in self.relaxed:
            prior: Any = None if self.problem.uniform_prior else self.problem.prior
            part = self.problem.of_classifiers(self.problem.risks, prior, self.posteriors.within(allowed))
            run, leaf = search_set(part)
            assert isinstance(run.frontier, ConstrainedFrontier)
            self.evaluations += run.evaluations
            self.passes += run.frontier.tilting.passes
            z = run.minima[0].z
            best = run.frontier.minimiser(max(z, -30.0))
            with np.errstate(all="ignore"):
                tilts = best.multipliers / (best.gamma * self.posteriors.scales)
            multipliers = tilts if np.isfinite(tilts).all() else np.zeros(tilts.size)
            self.relaxed[key] = leaf, run.frontier.posterior(z), multipliers
        return self.relaxed[key]
