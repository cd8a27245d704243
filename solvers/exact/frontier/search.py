r"""The search along a frontier: where the bound turns, and the polygon that proves that nothing is below.

The frontier's points are followed by their coordinate ``z``. The bound falls along it while the line's slope γ is below
:math:`F_L/F_T`, the rate at which empirical risk and divergence may be exchanged without changing the bound; a *turn*
from falling to rising is a local minimum. The polygon is made of the lines at all points that were looked at, of
:math:`T \ge T(\text{prior})` and of :math:`L \ge \min_i l_i`; its vertices are the intersections of neighbouring lines.
(A line that is redundant only adds vertices outside the polygon, where the bound is smaller: nothing is lost.)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pacb_models.distances.checks import concave_budget, concave_inverse, elementwise
from pacb_models.divergences.frontiers import Frontier, Lines
from pacb_models.numerics.elementwise import Numbers
from pacb_models.problem import BoundProblem
from pacb_models.solution import LocalMinimum, Outcome

#: First points, around the coordinate that the prior's own exchange rate asks for.
COARSE = np.linspace(-4.0, 4.0, 17)
#: Points beyond the first or last one when the search has to go on there.
FURTHER = np.array([0.5, 1.0, 2.0, 4.0])
#: Points around a turn: tangents this close leave a gap of the square of their distance. Those around a guess will do
#: for a turn that is nearly there.
LADDER, NEARLY = 1e-6 * np.concatenate((-(4.0 ** np.arange(9.0, -1.0, -1.0)), [0.0], 4.0 ** np.arange(10.0))), 4e-6
SHORT_LADDER = np.concatenate((-3e-6 * 6.0 ** np.arange(4.0, -1.0, -1.0), [0.0], 3e-6 * 6.0 ** np.arange(5.0)))
AT = np.zeros(1)
#: Between two lines closer than this a thinned frontier has nothing to add.
COVERED = 0.3
#: Points from the last of the first ones to the end of the frontier, as shares of the way, and one past it.
BEYOND, PAST = np.minimum(np.arange(1.0, 10.0) / 8.0, 1.0), np.append(np.zeros(8), 0.5)
#: How far from the turn of a thinned frontier that of the frontier itself is looked for.
NEARBY = 1e-4
#: A hidden pair of turns is looked for where the balance, nearly the logarithm of a ratio, comes this near to zero, and
#: where the empirical risk falls by this share of the prior's; by the second one when there was such a place.
NEAR, STEEP = 2.0, (0.3, 0.15)
#: Where, and how often, one is looked for between two points.
WITHIN, CLOSER = np.array([0.2, 0.35, 0.45, 0.55, 0.65, 0.8]), 4
#: From a point to itself and to the next one.
ENDS = np.array([[0], [1]])
#: A turn is known when a step of interpolation is this short, relative: the next one would be nearly of its square. To
#: draw lines around it the first number is enough; between them a parabola and a line tell it as well as each other.
CLOSE_BY, CLOSE, ALIKE = 1e-4, 1e-8, 1e-11
#: Shares at which an interval that may hold a smaller bound is cut.
CUTS = np.array([0.2, 0.4, 0.6, 0.8])
#: Rounds after which what is still open is reported as a gap.
ROUNDS = 60
#: Intervals that are cut in one round, at most.
MOST_CUT = 64
#: How a gap is said.
GAP = " A gap is left: no posterior's bound is below "
#: Turns whose empirical risks differ by less than this part of the range of the risks are one, seen twice.
SAME = 1e-12


#: A point where the bound falls before one where it does not.
FROM_FALLING = b"\x01\x00"
#: Rows of the table of points: coordinate, risk above the smallest, size, slope of the line, balance, and whether the
#: point is on the frontier itself (1) or on one whose lines hold for it (0).
Z, X, SIZE, SLOPE, BALANCE, EXACT = range(6)


class Turn(NamedTuple):
    """A local minimum along the frontier."""

    bound: float
    z: float
    L: float
    size: float


class Search:
    """The search on one problem."""

    def __init__(self, problem: BoundProblem, frontier: Frontier) -> None:
        self.problem, self.frontier = problem, frontier
        self.distance, self.budget = elementwise(problem.distance_function), problem.divergence_function.size_budget
        self.coefficient, self.exponent, self.least = problem.coefficient, problem.exponent, frontier.least
        self.start, self.end = frontier.ends()
        self.evaluations = 0
        self.turns: list[Turn] = []
        #: The turn around which lines were drawn together with the first points.
        self.guess = math.nan
        #: False when some lines are those of a thinned frontier.
        self.exact = True
        #: What was looked at; nothing where one line is enough.
        self.points: Any = None

    def outcome(self) -> Outcome:
        """Search, prove, and report."""
        rates = self.problem.slopes_at(self.risk(self.start[0]), self.start[1])
        # The bound is concave: where its slope is not negligible, less risk is better.
        if (
            not rates.L * self.start[0] > self.frontier.gap * rates.value
            and self.bound_at(0.0, self.start[1]) >= rates.value
        ):
            return self._prior_is_optimal(rates.value)
        slope = rates.L / rates.T if rates.T > 0.0 else math.nan
        with np.errstate(all="ignore"):
            if self.distance.affine and slope == slope and self.problem.budget_at(self.start[1]).bend == 0.0:
                return self._report(self._along_one_line(slope))
            self._follow(slope)
            return self._report(self._prove())

    # -- Points ------------------------------------------------------------------------------------------------------

    def risk(self, x: float) -> float:
        return min(max(self.least + x, 0.0), 1.0)

    def bound_at(self, x: float, size: float) -> float:
        return float(self.problem.bound_at(self.risk(x), size))

    def balance(self, line: Lines) -> Numbers:
        """Negative where the bound falls along the frontier."""
        x, size, slope, _ = line
        value, rate, _ = self.budget(size, self.coefficient, self.exponent)
        risk = self.least + x
        if self.least < 0.0:
            # Risks that were tilted, so that they stand for constraints.
            risk = np.maximum(risk, 0.0)
        return self.distance.balance(risk, value, slope * rate)

    def risks(self, x: np.ndarray) -> np.ndarray:
        risks: np.ndarray = np.minimum(self.least + x, 1.0)
        return np.maximum(risks, 0.0) if self.least < 0.0 else risks

    def look(self, z: np.ndarray, for_turns: bool = True) -> np.ndarray:
        """Points of the frontier as columns; the balance of those that are not for finding turns is left out."""
        self.evaluations += z.size
        lines = self.frontier.lines(z)
        points = np.empty((6, z.size))
        points[0], points[1], points[2], points[3], _ = z, *lines
        points[4], points[5] = self.balance(lines) if for_turns else math.nan, 1.0
        return points

    # -- Turns -------------------------------------------------------------------------------------------------------

    def _along_one_line(self, slope: float) -> float:
        """The turn of a linear function, whose exchange rate is the same everywhere, and the proof: the function is the
        same along the line at its minimum, whose ends are the vertices."""
        z = self.frontier.at_slope(slope, Lines(*self.start, 0.0, self.start[1]))
        line = self.frontier.line(z)
        self._add(z, line)
        first = min(line.x + (line.T - self.start[1]) / line.slope, self.start[0])
        ends = self.bound_at(first, self.start[1]), self.bound_at(0.0, line.T + line.slope * line.x)
        return min(self.turns[0].bound, *ends) * (1.0 - self.frontier.gap)

    def _follow(self, slope: float) -> None:
        """Find the turns; ``slope`` is the exchange rate at the prior."""
        thinned = self.frontier.thinned()
        if thinned is not None:
            self._follow_thinned(Search(self.problem, thinned), slope)
            return
        lowest, highest = 1e-3 / self.frontier.spread, 1e9 / self.frontier.spread
        slope = min(max(slope, lowest), highest) if slope == slope else lowest
        self._guess(slope)
        self._from_falling_to_rising(self.look(self._net(math.log(slope))))
        steep = STEEP[0] * self.start[0]
        for _ in range(CLOSER):
            doubtful = doubtful_intervals(self.points, steep)
            if not doubtful:
                break
            low, high = self.points[Z].take(np.hstack(doubtful))[:, :, None]
            self._insert(self.look((low + (high - low) * WITHIN).ravel()))
            steep = STEEP[1] * self.start[0]
        self._find_turns(self.points)

    def _follow_thinned(self, scout: Search, slope: float) -> None:
        """Take the lines of a thinned frontier, and its turns as places to look for the turns of this one."""
        scout._follow(slope)
        scout._climb()
        self.points, self.evaluations, self.exact = scout.points, scout.evaluations, False
        self.points[EXACT] = 0.0
        self.points[BALANCE] = math.nan
        for turn in scout.turns:
            if turn.z == math.inf:
                self._add(math.inf)
                continue
            reach = NEARBY
            for _ in range(ROUNDS):
                low, high = turn.z - reach, turn.z + reach
                points = self.look(np.array([low, high]))
                self._insert(points)
                if points[BALANCE, 0] < 0.0 <= points[BALANCE, 1]:
                    self._add(self._root(low, high, [low, high], points[BALANCE].tolist()))
                    break
                reach *= 30.0

    def _net(self, middle: float) -> np.ndarray:
        """Coordinates of the first points: around one, to the end, and close to where a turn may be.

        For small sets it is calls that cost, not lines.
        """
        z, last = middle + COARSE, self.frontier.last
        # Where the frontier ends the bound may turn once more, in a narrow place.
        end = middle + 4.0
        more = last + AT if last <= end else end + (last - end) * BEYOND + PAST
        guess = self.guess + LADDER if self.guess == self.guess else AT[:0]
        z = np.concatenate((z, more, self.frontier.corners(), guess))
        z.sort()
        return z

    def _guess(self, slope: float) -> None:
        """Look for the turn that most bounds have: above where the line has the prior's exchange rate."""
        if self.frontier.jumps or self.frontier.costly:
            return
        first = self.frontier.towards(slope, Lines(*self.start, 0.0, self.start[1]))
        value = self._value(first)
        second = first + min(max(-self.frontier.pace * value, 0.1), 2.0)
        self.guess = self._root(first - 4.0, first + 6.0, [first, second], [value, self._value(second)], CLOSE_BY)

    def _from_falling_to_rising(self, points: np.ndarray) -> None:
        """Take the first points, and more from where the bound falls to where it rises, or to the end."""
        for _ in range(ROUNDS):
            if points[BALANCE, 0] < 0.0:
                break
            points = np.hstack((self.look(points[Z, 0] - 2.0 * FURTHER[::-1]), points))
        for _ in range(ROUNDS):
            if points[BALANCE, -1] >= 0.0 or points[X, -1] <= 0.0:
                break
            points = np.hstack((points, self.look(points[Z, -1] + FURTHER)))
        self.points = points

    def _find_turns(self, points: np.ndarray) -> None:
        """Turns between neighbouring points that are not known yet, and the end where the bound still falls there."""
        balance = points[BALANCE]
        falls = (balance < 0.0).tobytes()
        i = falls.find(FROM_FALLING)
        while i >= 0:
            # The two that enclose the turn are the last of those it is interpolated from.
            first = max(i - 1, 0)
            (z, values), k = points[Z :: BALANCE - Z, first : i + 3].tolist(), i - first
            z, values = z[:k] + z[k + 2 :] + z[k : k + 2], values[:k] + values[k + 2 :] + values[k : k + 2]
            low, high = z[-2:]
            if values[-1] >= 0.0 and not (self.turns and any(low <= turn.z <= high for turn in self.turns)):
                root, straight = interpolated(values, z)
                if self.frontier.jumps or not abs(root - straight) <= ALIKE * max(abs(root), 1.0):
                    root = self._root(low, high, z, values)
                for side in self.frontier.sides(root):
                    self._add(side)
            i = falls.find(FROM_FALLING, i + 1)
        # Where the end is a limit only, what counts is the way there.
        last = -1 if self.frontier.finite else (points[X] > 0.0).tobytes().rfind(1)
        if balance[last] < 0.0 and not any(turn.z == math.inf for turn in self.turns):
            # A bound that is one at the end does not fall there.
            if not self.turns or not self.distance.below_one or self.bound_at(*self.end) < 1.0:
                self._add(math.inf)

    def _value(self, z: float) -> float:
        self.evaluations += 1
        return float(self.balance(self.frontier.line(z)))

    def _root(self, low: float, high: float, z: list[float], values: list[float], close: float = CLOSE) -> float:
        """Where the balance is zero between two coordinates, from its values at some points around.

        Parabolas in the value through the last three points; the middle where they lead out of the interval.
        """
        last = math.nan
        narrow, jumps = CLOSE if self.frontier.costly else 1e-6 * CLOSE, self.frontier.jumps
        for _ in range(100):
            # Where the frontier jumps there is nothing to interpolate.
            new = math.nan if jumps else interpolated(values, z)[0]
            if abs(new - last) <= close * max(abs(last), 1.0):
                return min(max(new, low), high)
            if not low < new < high:
                new = 0.5 * (low + high)
                if high - low <= narrow * max(abs(new), 1.0):
                    break
            value = self._value(new)
            low, high = (new, high) if value < 0.0 else (low, new)
            z.append(new)
            values.append(value)
            last = new
        return new

    def _add(self, z: float, line: Lines | None = None) -> None:
        """Take a turn; the line there is computed where it is not known."""
        x, size = self.end if z == math.inf else (line or self.frontier.line(z))[:2]
        self.turns.append(Turn(self.bound_at(x, size), z, self.least + x, size))

    # -- Proof -------------------------------------------------------------------------------------------------------

    def _climb(self) -> None:
        """Add lines around the turns, close by and further away."""
        places = [turn.z for turn in self.turns if turn.z < math.inf and not abs(turn.z - self.guess) <= NEARLY]
        if places:
            around = LADDER if self.exact and not self.frontier.costly else SHORT_LADDER
            self._insert(self.look(np.add.outer(places, around).ravel(), for_turns=False))

    def _insert(self, more: np.ndarray) -> None:
        """Take more points; lines of a thinned frontier go where lines of the frontier itself are on both sides."""
        points = np.concatenate((self.points, more), axis=1)
        if not self.exact:
            exact = points[EXACT] > 0.0
            known = np.sort(points[Z, exact])
            after = known.searchsorted(points[Z], side="right")
            before = known[np.maximum(after - 1, 0)]
            between = (after > 0) & (after < known.size) & (known[np.minimum(after, known.size - 1)] - before < COVERED)
            points = points[:, exact | ~(between | (before == points[Z]))]
        self.points = points.take(points[SLOPE].argsort(kind="stable"), axis=1)

    def _prove(self) -> float:
        """A number that no posterior's bound is below, after cutting every interval that might hold a smaller one."""
        self._climb()
        for _ in range(ROUNDS // 3 if self.frontier.costly else ROUNDS):
            smallest = min(self.turns).bound * (1.0 - self.frontier.gap)
            x, size = self._vertices()
            budget, risks = self.budget(size, self.coefficient, self.exponent).value, self.risks(x)
            reached = self.distance.reaches(risks, budget, smallest)
            if np.count_nonzero(reached) == reached.size:
                return smallest
            cuts = self._cuts(~reached)
            if not cuts.size:
                break
            self._insert(self.look(cuts))
            self._find_turns(self.points[:, ~np.isnan(self.points[BALANCE])])
        if float(size.min()) < 0.5 * self.start[1]:
            # Lines that were not found well enough prove nothing.
            return math.nan
        lowest = np.min(self.distance.invert(risks[~reached], budget[~reached]))
        return float(lowest) * (1.0 - self.frontier.gap)

    def _vertices(self) -> tuple[np.ndarray, np.ndarray]:
        """Where neighbouring lines meet: first with that of the prior, last with that of the smallest risk."""
        # The prior, the points, and the end, of which only the risk counts.
        table = np.zeros((3, self.points.shape[1] + 2))
        table[0, 0], table[1, 0] = self.start
        table[:, 1:-1] = self.points[X : SLOPE + 1]
        x, size, slope = table[0], table[1, :-1], table[2, :-1]
        across = x[:-1] - x[1:]
        # How far the next point is above this line, and so how far before it the two lines meet.
        ahead = (size - table[1, 1:] + slope * across) / (slope - table[2, 1:])
        ahead[-1] = 0.0
        # Lines that touch the frontier meet between the points where they do, whatever rounding says.
        between = np.fmin(np.fmax(ahead, 0.0), across)
        if self.exact:
            return x[1:] + between, size + slope * (across - between)
        touching = np.concatenate((AT + 1.0, self.points[EXACT], AT + 1.0)) > 0.0
        ahead = np.where(touching[1:] & touching[:-1], between, np.nan_to_num(ahead))
        meeting = np.clip(x[1:] + ahead, 0.0, x[0])
        return meeting, np.maximum(size + slope * (x[:-1] - meeting), size[0])

    def _cuts(self, open_: np.ndarray) -> np.ndarray:
        """Coordinates inside the open intervals, and beyond the ends where they are open."""
        z, exact = self.points[Z], self.points[EXACT]
        inside = open_[1:-1].nonzero()[0][: MOST_CUT // 8 if self.frontier.costly else MOST_CUT]
        low, width = z[inside], z[inside + 1] - z[inside]
        wide = np.abs(width) > 1e-14 * np.maximum(np.abs(low), 1.0)
        parts = [(low[wide, None] + np.multiply.outer(width[wide], CUTS)).ravel()]
        if open_[0]:
            parts.append(z[0] - FURTHER)
        if open_[-1] and self.points[X, -1] > 0.0:
            parts.append(z[-1] + FURTHER)
        if not self.exact:
            # The line itself, where only that of a thinned frontier is known.
            parts.append(z[(open_[1:] | open_[:-1]) & (exact == 0.0)])
        return np.concatenate(parts)

    # -- Report ------------------------------------------------------------------------------------------------------

    def _prior_is_optimal(self, bound: float) -> Outcome:
        constrained = self.problem.posteriors is not None
        nearest = "the one nearest to the prior" if constrained else "the prior"
        message = f"no posterior is better than {nearest}: all risks are equal, or the bound is the same everywhere."
        proven = self.may_claim()
        prior = self.frontier.posterior(-math.inf) if constrained else self.problem.prior.copy()
        return Outcome(
            prior,
            "optimal",
            message,
            0,
            is_global=proven,
            lower_bound=bound * (1.0 - self.frontier.gap) if proven else None,
        )

    def may_claim(self) -> bool:
        """The theorem needs a distance that is jointly convex, and a budget that is concave."""
        budget = self.problem.divergence_function, self.coefficient, self.exponent
        return concave_inverse(self.problem.distance_function) and concave_budget(*budget)

    def _report(self, smallest: float) -> Outcome:
        best, *others = self._distinct()
        proven = self.may_claim()
        closed = smallest >= best.bound * (1.0 - 2.0 * self.frontier.gap)
        message = f"the best of {len(others) + 1} local minima" if others else "no other local minimum was"
        message += " that were met along the frontier." if others else " met along the frontier."
        if not proven:
            message += " Nothing is proven: on a grid the distance is not jointly convex, or the budget not concave."
        elif not closed and smallest == smallest:
            message += f"{GAP}{smallest:.12g}."
        return Outcome(
            posterior=self.frontier.posterior(best.z),
            status="optimal",
            message=message,
            iterations=self.evaluations,
            is_global=proven and closed,
            lower_bound=smallest if proven and smallest == smallest else None,
            local_minima=tuple(map(self._described, others)),
        )

    def _distinct(self) -> list[Turn]:
        best, *others = sorted(self.turns)
        kept = [best]
        for turn in others:
            if all(abs(turn.L - other.L) > SAME * self.frontier.spread for other in kept):
                kept.append(turn)
        return kept

    def _described(self, turn: Turn) -> LocalMinimum:
        support = int(np.count_nonzero(self.frontier.posterior(turn.z)))
        value = self.problem.divergence_function.value_of_size(turn.size)
        return LocalMinimum(turn.bound, turn.L, value, support)


def doubtful_intervals(points: np.ndarray, steep: float) -> list[np.ndarray]:
    """Intervals, as the numbers of the points at their two ends, in which a pair of turns may hide: where the balance
    comes near zero without reaching it, and where the empirical risk falls steeply, as it does when many classifiers
    lose their weight at once."""
    x, balance, found = points[X], points[BALANCE], []
    fall = x[:-1] - x[1:]
    if fall[fall.argmax()] > steep:
        found.append((fall > steep).nonzero()[0] + ENDS)
    before, after = balance[:-1], balance[1:]
    falls = after < before
    if np.count_nonzero(falls):
        here, rises = balance[1:-1], after > before
        towards = np.where(here < 0.0, rises[:-1] & falls[1:], falls[:-1] & rises[1:])
        found.append((towards & (np.abs(here) < NEAR)).nonzero()[0] + 2 * ENDS)
    return [places for places in found if places.size]


def interpolated(values: list[Any], z: list[Any]) -> tuple[Any, Any]:
    """Where the parabola in the value through the last three points is at value zero, and where the straight line
    through the last two is; NaN when values repeat. Two points have a straight line only. Numbers, or arrays.
    """
    b, c, zb, zc = values[-2], values[-1], z[-2], z[-1]
    try:
        straight = (c * zb - b * zc) / (c - b)
        if len(z) == 2:
            return straight, math.nan
        a, za = values[-3], z[-3]
        return (c * (b * za - a * zb) / (b - a) - a * straight) / (c - a), straight
    except ZeroDivisionError:
        return math.nan, math.nan
