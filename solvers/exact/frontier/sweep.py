r"""Finding every turn of a bound from falling to rising along a path: interval exclusion, then cutting what is left.

A path is cut into intervals. Three facts settle an interval without looking inside (``h`` is the excess of
:mod:`~pacb_models.solvers.exact.frontier.stationarity`, ``T`` its threshold, ``e`` the elasticity of the path):

* ``h`` cannot be zero in it: the enclosure of ``h`` from the two end points excludes zero;
* ``h`` falls throughout (:math:`e \ge T`): it holds no turn from falling to rising;
* ``h`` rises throughout (:math:`e \le T`): it holds exactly one such turn when ``h`` is negative at its start and not
  at its end, and none otherwise.

What is not settled is cut again, until the path says that an interval is an atom. The enclosures close as intervals
shrink, so that atoms of a continuous coordinate stay open only where ``h`` and its derivative vanish together.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from .stationarity import Ends, Point, Stationarity

#: Intervals of a logarithmic coordinate shorter than this are not cut again: all their points agree to 13 digits.
SHORTEST = 1e-13
#: Largest number of points of a sweep. Fifty are usual; more are needed where ``h`` touches zero without crossing it.
_MOST_POINTS = 5000


class Path(Protocol):
    """What the sweep needs of a path."""

    def evaluate(self, z: np.ndarray) -> Point:
        """The points at the coordinates ``z``, as arrays."""

    def elasticity_range(self, start: Point, end: Point) -> tuple[np.ndarray, np.ndarray]:
        """Numbers between which the elasticity stays from each start to its end; NaN where nothing is known."""

    def cut(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Coordinates inside the intervals where to cut them: one row per interval, in order."""

    def is_atom(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Which intervals are not to be cut."""


class SmoothPath(Protocol):
    """A path on which a turn can be computed by Newton's method."""

    def evaluate_one(self, z: float) -> Point:
        """The point at one coordinate, as numbers."""


class Interval(NamedTuple):
    """An interval of the coordinate, and the excess at its ends."""

    low: float
    high: float
    excess_low: float
    excess_high: float
    #: Empirical risk and budget below those of every point inside: the bound there is no smaller than theirs.
    least_risk: float
    least_budget: float


class Verdict(NamedTuple):
    """What is known of each interval: it holds exactly one turn, or nothing is known (else it holds none)."""

    turning: np.ndarray
    open: np.ndarray


class Turns(NamedTuple):
    """The outcome of a sweep."""

    #: Intervals with exactly one turn, in order.
    brackets: list[Interval]
    #: Atoms that could not be settled, in order.
    open: list[Interval]
    #: The excess at the last point.
    last_excess: float
    evaluations: int

    @property
    def upward(self) -> list[Interval]:
        """Where to compute a turn: in the brackets, and in open atoms with a change of sign."""
        return sorted(self.brackets + [atom for atom in self.open if atom.excess_low < 0.0 <= atom.excess_high])


def judge(
    stationarity: Stationarity,
    start: Ends,
    end: Ends,
    elasticity: tuple[np.ndarray, np.ndarray],
    single: bool = False,
) -> Verdict:
    """Settle what can be settled about intervals from their ends and the range of the elasticity inside.

    ``single`` says that no interval can hold more than one turn from falling to rising: then a change of sign is
    enough.
    """
    least, most = stationarity.threshold_range(start, end)
    rising = elasticity[1] <= least
    turning = (start.excess < 0.0) & (end.excess >= 0.0)
    if not single:
        turning &= rising
    is_open = ~(turning | rising | (elasticity[0] >= most))
    left = is_open.nonzero()[0]
    if left.size:
        low, high = stationarity.excess_range(start.take(left), end.take(left))
        is_open[left] = ~((low > 0.0) | (high < 0.0))
    return Verdict(turning, is_open)


def find_turns(path: Path, stationarity: Stationarity, grid: np.ndarray) -> Turns:
    """Every turn from falling to rising between the first and the last coordinate of ``grid``."""
    points = path.evaluate(grid)
    ends = stationarity.ends(points.L, points.b, points.d)
    last_excess = float(ends.excess[-1])
    # Indices of the first and last points of the intervals; slices, while they are neighbours, save copies.
    first, last = np.arange(grid.size - 1), np.arange(1, grid.size)
    window: tuple[Any, Any] = slice(-1), slice(1, None)
    brackets: list[Interval] = []
    atoms: list[Interval] = []
    while first.size:
        elasticity = path.elasticity_range(points.take(window[0]), points.take(window[1]))
        verdict = judge(stationarity, ends.take(window[0]), ends.take(window[1]), elasticity)
        brackets += _intervals(points.z, ends, first[verdict.turning], last[verdict.turning])
        if not verdict.open.any():
            break
        first, last = first[verdict.open], last[verdict.open]
        atom = path.is_atom(points.z[first], points.z[last]) | (points.z.size > _MOST_POINTS)
        atoms += _intervals(points.z, ends, first[atom], last[atom])
        first, last = first[~atom], last[~atom]
        if first.size:
            cuts = path.cut(points.z[first], points.z[last])
            new = points.z.size + np.arange(cuts.size).reshape(cuts.shape)
            more = path.evaluate(cuts.ravel())
            points, ends = points.extended(more), ends.extended(stationarity.ends(more.L, more.b, more.d))
            first, last = window = np.column_stack((first, new)).ravel(), np.column_stack((new, last)).ravel()
    return Turns(sorted(brackets), sorted(atoms), last_excess, points.z.size)


def _intervals(z: np.ndarray, ends: Ends, first: np.ndarray, last: np.ndarray) -> list[Interval]:
    columns = (z[first], z[last], ends.excess[first], ends.excess[last], ends.L[last], ends.b[first])
    return [Interval(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def solve_turn(path: SmoothPath, stationarity: Stationarity, bracket: Interval) -> tuple[Point, int]:
    """The point in a bracket where the excess is zero, and the evaluations it took.

    Newton's method from the point where the chord is zero; bisection when a step leaves the bracket or fails to shrink.
    """
    low, high = bracket.low, bracket.high
    z = low - (high - low) * bracket.excess_low / (bracket.excess_high - bracket.excess_low)
    if not math.isfinite(z):
        z = 0.5 * (low + high)
    previous = high - low
    evaluations = 0
    while True:
        point = path.evaluate_one(z)
        evaluations += 1
        h = float(stationarity.excess(point.L, point.b, point.d))
        if h < 0.0:
            low = z
        else:
            high = z
        slope = float(stationarity.excess_slope(point.L, point.d, point.e)) * point.speed
        step = -h / slope if slope > 0.0 else math.inf
        # At the level of rounding the steps stop shrinking: nothing more is to be had.
        if abs(step) <= 1e-15 * max(1.0, abs(z)) or (abs(step) >= 0.5 * previous and abs(step) <= 1e-11):
            return point, evaluations
        if not low < z + step < high or abs(step) > 0.5 * previous:
            step = 0.5 * (low + high) - z
        if z + step == z:
            return point, evaluations
        previous = abs(step)
        z += step
