r"""The search along a frontier: where the bound has its minima, and which lines prove that nothing is below.

The bound falls along the frontier while the line's slope γ is below :math:`F_L/F_T`, the rate at which empirical risk
and divergence may be exchanged without changing the bound; from falling to rising it has a local minimum. Four steps:

1. a net of coordinates around the one that the prior's exchange rate asks for;
2. between neighbours where the bound falls and then rises: the root of the balance, a local minimum, and lines around
   it whose distances grow geometrically (the gap between two tangents is of second order in their distance);
3. the vertices of neighbouring lines (:mod:`pacb_models.proofs.polygon`); those below the best bound are open;
4. open intervals are cut, and the net goes on beyond an open end; back to 2.

A minimum that was missed leaves its interval open, so that it is cut and found. Nothing here is trusted: the proof is.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from pacb_models.distances.checks import elementwise
from pacb_models.divergences.frontiers import Frontier, Lines
from pacb_models.problem import RiskAndSize
from pacb_models.proofs.polygon import vertices

from .effort import THOROUGH, Effort

#: Where an open interval is cut, coordinates beyond an open end, and those next to the prior.
CUTS, BEYOND, FAR = np.array([0.25, 0.5, 0.75]), np.array([0.5, 1.0, 2.0, 4.0]), np.array([90.0, 40.0, 18.0, 9.0])


class Minimum(NamedTuple):
    """A local minimum along the frontier."""

    bound: float
    z: float
    L: float
    size: float


class Search:
    """The search on one problem."""

    def __init__(self, problem: RiskAndSize, frontier: Frontier, effort: Effort = THOROUGH) -> None:
        self.problem, self.frontier, self.effort = problem, frontier, effort
        self.distance = elementwise(problem.distance_function)
        self.start, self.end = frontier.ends()
        self.minima: list[Minimum] = []
        self.evaluations = 0
        #: Rows: coordinate, risk above the smallest, size, slope and height of the line, balance.
        self.points = np.zeros((6, 0))
        self.visible: Any = slice(None)  # which lines are the highest somewhere

    def run(self, first: Callable[[], NDArray[np.float64] | None] = lambda: None) -> None:
        """Search; ``first`` tells coordinates to begin with, when something is known."""
        (x, size), floor = self.start, self.frontier.floor
        with np.errstate(all="ignore"):
            rates = self.problem.outer_at(self.frontier.risk(x), size)
            slope = rates.L / rates.T if rates.T > 0.0 else math.nan
            if not rates.L * (x - floor) > 1e-4 * self.effort.gap * rates.value and (
                self.problem.bound_at(self.frontier.risk(floor), size) >= rates.value
            ):
                self.minima = [self._minimum(-math.inf)]
            elif self.distance.affine and slope == slope and self.problem.budget_at(size).bend == 0.0:
                z = self.frontier.at_slope(slope)
                self.points = np.array([[z, *self.frontier.line(z), 0.0]]).T
                self.evaluations, self.minima = 1, [self._minimum(z)]
            else:
                self.add(self._net(slope) if (known := first()) is None else known)
                self._close()
                self.minima = self._distinct()

    @property
    def claim(self) -> float:
        """What the lines are to prove: that no bound is below."""
        return self.minima[0].bound * (1.0 - 2.0 * self.effort.gap)

    def add(self, z: NDArray[np.float64]) -> None:
        """Draw the lines at some coordinates."""
        self.evaluations += z.size
        lines = self.frontier.lines(z)
        points = np.concatenate((self.points, np.array((z, *lines, self._balance(lines)))), axis=1)
        points = points[:, points[0].argsort(kind="stable")]
        new = np.append(True, points[0, 1:] > points[0, :-1])
        self.points = points if new.all() else points[:, new]

    def _balance(self, line: Lines) -> Any:
        """Return a number that is negative where the bound falls along the frontier."""
        budget = self.problem.budget_at(line.T)
        balance = self.distance.balance(self.frontier.risk(line.x), budget.value, line.slope * budget.slope)
        at_most, at_least = (min, max) if isinstance(balance, float) else (np.minimum, np.maximum)
        return at_most(at_least(balance, -1e3), 1e3)

    def _root(self, low: int) -> float:
        """Return where the balance is zero between a point and the next one."""
        known = dict(self.points[::5, low : low + 2].T.tolist())
        accuracy: dict[str, Any] = {"xtol": 1e-11, "rtol": 1e-14, "full_output": True}
        root, steps = brentq(lambda z: known.get(z) or self._balance(self.frontier.line(z)), *known, **accuracy)
        self.evaluations += steps.function_calls
        return float(root)

    def _net(self, slope: float) -> NDArray[np.float64]:
        spread, last = max(self.frontier.spread, 1e-300), self.frontier.last
        middle = math.log(min(max(slope, 1e-3 / spread), 1e9 / spread)) if slope > 0.0 else -math.log(spread)
        z = middle + self.effort.net
        if not self.effort.to_ends:
            return z
        # Next to the prior the bound falls, however little.
        return np.concatenate((middle - FAR, z, np.linspace(z[-1], last, 9)[1:] if last > z[-1] else ()))

    def _close(self) -> None:
        """Find minima and cut open intervals until none is open, or nothing is left to cut."""
        for left in range(self.effort.rounds, -1, -1):
            # Lines around one minimum may show another.
            while self._find_minima():
                pass
            ends = self.start[1], self.frontier.floor, self.frontier.spread
            x, size, self.visible = vertices(self.points[3], self.points[4], *ends)
            open_ = ~self.reaches(x, size, min(self.minima).bound * (1.0 - self.effort.gap))
            cuts = self._cuts(open_, self.points[0, self.visible]) if open_.any() else np.zeros(0)
            if not (left and cuts.size) or self.frontier.spent(self.evaluations, self.effort.most):
                return
            self.add(cuts)

    def _find_minima(self) -> bool:
        """Find minima between neighbouring points that are not known yet, and at ends where the bound does not fall;
        false when none is between."""
        (z, balance), known = self.points[::5], [each.z for each in self.minima]
        falls, spent = balance < 0.0, self.frontier.spent(self.evaluations, self.effort.most)
        rises = () if spent else np.flatnonzero(falls[:-1] & (balance[1:] >= 0.0))
        roots = [self._root(int(i)) for i in rises if not any(z[i] <= each <= z[i + 1] for each in known)]
        # Where the end is a limit only, what counts is the way there.
        moving = np.flatnonzero(self.points[1] > 0.0)
        last = -1 if self.frontier.finite or not moving.size else moving[-1]
        ends = {-math.inf: not falls[0], math.inf if z[-1] >= self.frontier.last else z[-1].item(): falls[last]}
        # Rounding hides where the bound rises, if there is no minimum at all.
        none = not (self.minima or roots or any(ends.values()))
        self.minima += [self._minimum(end) for end, lowest in ends.items() if (lowest or none) and end not in known]
        if roots:
            self.add(np.concatenate([self.frontier.around(root, self.effort.around) for root in roots]))
            self.minima += [self._minimum(root) for root in roots]
        return bool(roots)

    def _cuts(self, open_: NDArray[np.bool_], z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coordinates inside the open intervals, and beyond the ends where they are open."""
        wide = np.diff(z) > 1e-13 * np.maximum(np.abs(z[:-1]), 1.0)
        inside = np.flatnonzero(open_[1:-1] & wide)[: self.effort.cuts]
        low, width = z[inside], z[inside + 1] - z[inside]
        parts = [(low[:, None] + np.multiply.outer(width, CUTS)).ravel()]
        between = 0.5 * (self.points[0, 1:] + self.points[0, :-1])
        # Where lines that are drawn already are all the same but for rounding: between their coordinates.
        known = [between[(between > a) & (between < a + b)] for a, b in zip(low, width)]
        parts += [each for each in known if each.size > 1]
        parts += [each - BEYOND for each in z[:1] if open_[0]]
        parts += [each + BEYOND for each in z[-1:] if open_[-1] and each < self.frontier.last]
        return np.concatenate(parts)

    def reaches(self, x: NDArray[np.float64], size: NDArray[np.float64], bound: float) -> NDArray[np.bool_]:
        """Return where the bound is at least a number."""
        budget = self.problem.budget_at(np.maximum(size, self.start[1]))
        return self.distance.reaches(self.frontier.risk(x), budget.value, bound)

    def _minimum(self, z: float) -> Minimum:
        end = self.start if z < 0.0 else self.end
        x, size = end if math.isinf(z) else self.points[1:3, self.points[0] == z].ravel().tolist()
        return Minimum(float(self.problem.bound_at(self.frontier.risk(x), size)), z, self.frontier.least + x, size)

    def _distinct(self) -> list[Minimum]:
        """Return each minimum once, the best first: of equal bounds that of a stationary point, not of an end."""
        minima = [min(self.minima, key=lambda each: (each.bound, math.isinf(each.z)))]
        for each in sorted(self.minima):
            apart = all(abs(each.L - other.L) > 1e-12 * self.frontier.spread for other in minima)
            # A bound that is one at an end does not fall there.
            if apart and (math.isfinite(each.z) or not self.distance.below_one or each.bound < 1.0):
                minima.append(each)
        return minima
