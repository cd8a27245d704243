r"""The frontier of posteriors with weight on few classifiers, or on classifiers of a limited total size.

Let ``S`` run through a family of supports. Hölder's inequality on each of them gives, for any level μ,

.. math:: T + \gamma L \ge \gamma\mu, \qquad \gamma = W^{-1/\alpha'}, \qquad
          W = \max_S \sum_{i \in S} p_i (\mu - l_i)_+^{\alpha'} ,

with equality on the support that attains the maximum. For KL it is :math:`D + \beta L \ge -\ln \max_S \sum_S p_i
e^{-\beta l_i}`. So a line costs one search for the heaviest support: the ``k`` largest terms, or a knapsack. The
heaviest support may change between two lines, and the frontier jumps there. The bound is concave along the jump: one of
its two ends is the better.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..divergences.frontiers import BLOCK, LARGEST, CostlyFrontier, Lines

if TYPE_CHECKING:
    from ..problem import BoundProblem

#: How far from a jump its two sides are looked at, relative to the coordinate.
ASIDE = 1e-12
#: Branches of a knapsack after which its upper bound is taken.
MOST_BRANCHES = 20_000


class SupportFrontier(CostlyFrontier):
    """The frontier under a limit on the support; ``risks`` may be tilted, so that they stand for rows as well.

    ``forced`` classifiers count against the limit whether or not they have weight.
    """

    jumps = True

    def __init__(
        self,
        problem: BoundProblem,
        risks: NDArray[np.float64],
        allowed: NDArray[np.bool_],
        forced: NDArray[np.bool_] | None = None,
    ) -> None:
        assert problem.posteriors is not None
        assert problem.posteriors.support is not None
        costs, total = problem.posteriors.support.costs(problem.size)
        forced = np.zeros(problem.size, dtype=bool) if forced is None else forced
        total -= float(costs[forced].sum())
        allowed = allowed & (forced | (costs <= total))
        self.size = problem.size
        self.members = _candidates(risks, problem.prior, allowed, forced, costs, total)
        super().__init__(risks[self.members], problem.prior[self.members])
        self.costs, self.total, self.forced = costs[self.members], total, forced[self.members]
        self.inner = problem.divergence_function.summed_frontier(risks[self.members], problem.prior[self.members])
        self.finite = self.inner.finite

    def heaviest(self, terms: NDArray[np.float64]) -> tuple[NDArray[np.bool_], float]:
        """The support with the largest sum of terms, and by which factor another's sum might be larger."""
        chosen = self.forced.copy()
        free = np.flatnonzero(~self.forced & (terms > 0.0))
        if (self.costs == 1.0).all():
            count = min(int(self.total), free.size)
            if count < free.size:
                free = free[np.argpartition(-terms[free], count - 1)[:count]] if count else free[:0]
            chosen[free] = True
            return chosen, 1.0
        found, most = knapsack(terms[free], self.costs[free], self.total)
        chosen[free[found]] = True
        fixed, held = float(terms[self.forced].sum()), float(terms[free[found]].sum())
        return chosen, max((fixed + most) / (fixed + held), 1.0) if fixed + held > 0.0 else 1.0

    def _chosen(self, z: float) -> tuple[NDArray[np.bool_], float]:
        strength = math.exp(min(z, LARGEST))
        return self.heaviest(self.p * self.inner.potential(strength, self.y))

    def line(self, z: float) -> Lines:
        chosen, factor = self._chosen(z)
        self.inner.p = np.where(chosen, self.p, 0.0)
        line = self.inner.line(z)
        if factor == 1.0:
            return line
        # Another support might be heavier by that factor: the line that holds for it, too.
        return self.inner.lowered(line, factor)

    @property
    def last(self) -> float:
        return self.inner.last + 1.0 if self.spread > 0.0 else 1.0

    def at_slope(self, slope: float, line: Lines) -> float:
        low, high = -40.0, self.last
        for _ in range(200):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if self.line(middle).slope < slope else (low, middle)
        return low

    def sides(self, z: float) -> tuple[float, ...]:
        aside = ASIDE * max(abs(z), 1.0)
        return (z - aside, z + aside) if math.isfinite(z) else (z,)

    def posterior(self, z: float) -> np.ndarray:
        z = min(z, self.last)
        chosen, _ = self._chosen(z)
        self.inner.p = np.where(chosen, self.p, 0.0)
        weights = np.zeros(self.size)
        weights[self.members] = self.inner.posterior(z)
        return weights


def _candidates(
    risks: NDArray[np.float64],
    prior: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    forced: NDArray[np.bool_],
    costs: NDArray[np.float64],
    total: float,
) -> NDArray[np.intp]:
    """The classifiers that can be in the heaviest support at some level.

    Where classifiers are counted, one is never needed when as many as may be have no larger risk and no smaller prior.
    """
    members = np.flatnonzero(allowed)
    if not (costs == 1.0).all() or total < 1.0:
        return members
    count = int(total)
    free = members[~forced[members]]
    order = free[np.argsort(risks[free], kind="stable")]
    kept, largest = order[:count].tolist(), sorted(prior[order[:count]].tolist())
    for start in range(count, order.size, BLOCK):
        part = order[start : start + BLOCK]
        for i in part[prior[part] > largest[0]].tolist():
            if prior[i] > largest[0]:
                heapq.heapreplace(largest, float(prior[i]))
                kept.append(i)
    return np.array(sorted([*kept, *members[forced[members]].tolist()]), dtype=np.intp)


def knapsack(values: NDArray[np.float64], costs: NDArray[np.float64], total: float) -> tuple[NDArray[np.intp], float]:
    """The items with the largest total value whose costs fit, and a number that no other choice exceeds.

    Depth first, the best value per cost first; what is left is bounded by filling up with a part of an item.
    """
    order = np.lexsort((-values, -values / np.maximum(costs, 1e-300)))
    value, cost = values[order].tolist(), costs[order].tolist()
    slack = 1e-12 * max(abs(total), 1.0)

    def bound(i: int, worth: float, room: float) -> float:
        while i < len(value) and cost[i] <= room:
            worth, room, i = worth + value[i], room - cost[i], i + 1
        return worth + (value[i] * room / cost[i] if i < len(value) and room > 0.0 else 0.0)

    best, chosen = 0.0, list[int]()
    stack: list[tuple[int, float, float, tuple[int, ...]]] = [(0, 0.0, total + slack, ())]
    branches, open_ = 0, 0.0
    while stack:
        i, worth, room, taken = stack.pop()
        while i < len(value) and cost[i] > room:
            i += 1
        if worth > best:
            best, chosen = worth, list(taken)
        limit = bound(i, worth, room)
        if i == len(value) or limit <= best:
            continue
        branches += 1
        if branches > MOST_BRANCHES:
            open_ = max(open_, limit)
            continue
        stack.append((i + 1, worth, room, taken))
        stack.append((i + 1, worth + value[i], room - cost[i], (*taken, i)))
    return order[np.array(chosen, dtype=np.intp)], max(best, open_)
