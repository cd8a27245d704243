"""Many small problems at once: the search of :mod:`.search` on arrays whose last axis are the problems.

The proof is the same. First points are at the levels where classifiers get weight: between two of them a line costs no
search. A problem that is not closed at once, or that has several minima of nearly the same bound, is handed to the
search for one problem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pacb_models.distances.checks import concave_inverse, elementwise
from pacb_models.divergences import Budget, Divergence
from pacb_models.divergences.chi_squared import count_true
from pacb_models.divergences.frontiers import Frontier, Lines
from pacb_models.numerics.elementwise import Numbers
from pacb_models.solution import LocalMinimum
from pacb_models.solving.many import BLOCK, BatchOutcome, ProblemBatch

from .search import CLOSE, interpolated

GAP = Frontier.gap


#: Steps from each risk to the next, multiples of the largest, and multiples of the level of the best turn on one side:
#: first points for all rows, and more for those that they leave open, most where a classifier has just got weight.
_FEW = np.zeros(1), np.exp(np.linspace(0.0, 4.0, 9)), np.exp(2e-6 * 4.0 ** np.arange(9.0))
_STEPS = np.array([0.0, 1e-4, 1e-3, 0.01, 0.05, 0.12, 0.25, 0.45, 0.7])
_MANY = _STEPS, np.exp(np.linspace(0.0, 32.0, 129)), np.exp(5e-7 * 2.0 ** np.arange(20.0))
#: Rounds of interpolation after which a turn that has not settled leaves its row to the search for one problem.
_ROUNDS = 40
#: Classifiers with a smaller prior weight are left to it too, and rows with risks closer to the smallest one.
_LEAST_PRIOR, _LEAST_GAP = 1e-100, 1e-150


def minimise(batch: ProblemBatch) -> BatchOutcome | None:
    """The global minima of a batch; rows in ``unsettled`` are for the search for one problem. None: no row is ours."""
    together = type(batch.divergence_function).row_frontiers is not Divergence.row_frontiers
    if not together or float(np.min(batch.prior)) < _LEAST_PRIOR or not concave_inverse(batch.distance_function):
        return None
    count, size = batch.risks.shape
    numbers = np.zeros(count), np.zeros(count, dtype=np.intp), np.ones(count, dtype=bool)
    result = BatchOutcome(np.empty((count, size)), *numbers, {})
    length = max(1, BLOCK // size)
    for net in (_FEW, _MANY):
        left = result.unsettled.nonzero()[0]
        for start in range(0, left.size, length):
            rows = left[start : start + length]
            with np.errstate(all="ignore"):
                found = _Rows(batch, rows, net).outcome()
            for whole, part in zip(result[:4], found[:4]):
                whole[rows] = part
            result.local_minima.update({int(rows[row]): minima for row, minima in found.local_minima.items()})
    return result


class _Rows:
    """Some rows of a batch."""

    def __init__(self, batch: ProblemBatch, part: np.ndarray, net: tuple[np.ndarray, ...]) -> None:
        self.steps, self.factors, rungs = net
        self.rungs = np.concatenate((1.0 / rungs[::-1], [1.0], rungs))[:, None]
        self.distance, self.divergence = elementwise(batch.distance_function), batch.divergence_function
        self.c = batch.coefficient[part]
        prior = batch.prior if batch.prior.ndim == 1 else batch.prior[part]
        self.frontiers = self.divergence.row_frontiers(batch.risks[part], prior, batch.uniform_prior)
        self.least = self.frontiers.least

    def outcome(self) -> BatchOutcome:
        last, budget = self.frontiers.last, self.divergence.size_budget(1.0, self.c, 1)
        linear = self.distance.affine and not np.any(budget.bend)
        found = self._along_one_line(budget) if linear else self._along_polygon(budget)
        return found._replace(unsettled=found.unsettled | ((last > 0.0) & (last < _LEAST_GAP)))

    def _along_polygon(self, budget: Budget) -> BatchOutcome:
        """The best turns, and the proof that no vertex is below; ``budget`` is that of the prior."""
        frontiers, count = self.frontiers, self.c.size
        below, level, coarse = frontiers.net(self.steps, self.factors)
        balance = self.balance(Lines(*(values[:-1] for values in coarse)))
        # From the last level on all weight is on the smallest risk.
        last = frontiers.ties * self.steps.size, frontiers.sets
        place, row = ((balance[1:] < 0.0) & (balance[:-1] >= 0.0)).nonzero()
        before = place >= last[0][row]
        place, row = place[before], row[before]
        sums = frontiers.table[:, below[place], row]
        low, high = ((-np.log(level[at]), balance[at]) for at in ((place + 1, row), (place, row)))
        turn, settled = self._roots(row, sums, low, high)
        unknown, found = row[~settled], frontiers.on_segment(np.exp(-turn), *sums)
        ends = ((balance[last] < 0.0) & (frontiers.last > 0.0)).nonzero()[0]
        row, turn = np.append(row, ends), np.append(turn, 1.0 - np.log(frontiers.last[ends]))
        x, size = np.append(found.x, np.zeros(ends.size)), np.append(found.T, coarse.T[last][ends])
        bound = self.bound_at(x, size, row)
        if self.distance.below_one:
            # A bound that is one at the end does not fall there.
            kept = (x > 0.0) | (bound < 1.0)
            row, turn, x, size, bound = row[kept], turn[kept], x[kept], size[kept], bound[kept]
        best, others = _best_of_rows(row, bound, count)
        unsettled = (best < 0) | ~(balance[-1] < 0.0)
        unsettled[unknown] = True
        # A row without a turn has the last entry, whatever that is.
        z_best, smallest = np.append(turn, 0.0)[best], np.append(bound, 0.0)[best] * (1.0 - GAP)
        rungs = np.maximum(np.exp(-z_best), frontiers.last) * self.rungs
        # The last vertex is where the frontier ends.
        at_end = self.divergence.size_budget(coarse.T[last], self.c, 1).value
        unsettled |= self._open(level, coarse, rungs, smallest) | ~self.distance.reaches(self.least, at_end, smallest)
        self._prior_is_optimal(budget.value, unsettled, z_best, smallest)
        looked_at = np.full(count, len(level) + self.rungs.size)
        minima = self._minima(others, row, turn, bound, x, size)
        return BatchOutcome(frontiers.posteriors(z_best), smallest, looked_at, unsettled, minima)

    def _along_one_line(self, budget: Budget) -> BatchOutcome:
        """The minima of linear functions, which are the same along the line: its ends are the vertices."""
        _, r_L, r_b = self.distance.slopes(self.least, budget.value)
        level, line = self.frontiers.at_slope(r_L / (r_b * budget.slope))
        first = np.minimum(line.x + (line.T - 1.0) / line.slope, self.frontiers.start)
        bound = self.bound_at(line.x, line.T)
        ends = self.bound_at(first, np.ones(level.size)), self.bound_at(0.0, line.T + line.slope * line.x)
        smallest = np.minimum(bound, np.minimum(*ends)) * (1.0 - GAP)
        posterior, looked_at = self.frontiers.posteriors(-np.log(level)), np.ones(level.size, dtype=np.intp)
        return BatchOutcome(posterior, smallest, looked_at, ~(smallest >= bound * (1.0 - 2.0 * GAP)), {})

    def _prior_is_optimal(self, budget: np.ndarray, unsettled: np.ndarray, z: np.ndarray, smallest: np.ndarray) -> None:
        """Settle the rows in which no posterior has a smaller bound than the prior: even without risk it has none."""
        rows = self.distance.reaches(self.least, budget, smallest).nonzero()[0]
        if rows.size:
            start = self.bound_at(self.frontiers.start[rows], np.ones(rows.size), rows)
            flat = self.bound_at(0.0, np.ones(rows.size), rows) >= start
            rows = rows[flat]
            unsettled[rows], z[rows], smallest[rows] = False, -math.inf, start[flat] * (1.0 - GAP)

    def bound_at(self, x: Numbers, size: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        L = np.minimum(self.least[rows] + x, 1.0)
        return np.asarray(self.distance.invert(L, self.divergence.size_budget(size, self.c[rows], 1).value))

    def balance(self, lines: Lines, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        budget = self.divergence.size_budget(lines.T, self.c[rows], 1)
        return np.asarray(self.distance.balance(self.least[rows] + lines.x, budget.value, lines.slope * budget.slope))

    def _roots(self, row: np.ndarray, sums: np.ndarray, *ends: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Where the balance is zero between two coordinates with their balances, and which of the places settled; as
        in the search for one problem."""
        z, values = map(list, zip(*ends))
        (low, high), turn, settled = z, np.full(row.size, np.nan), np.zeros(row.size, dtype=bool)
        for _ in range(_ROUNDS):
            new, last = interpolated(values, z)[0], turn
            close = np.abs(new - last) <= CLOSE * np.maximum(np.abs(last), 1.0)
            new = np.where(close | ((new > low) & (new < high)), new, 0.5 * (low + high))
            turn = np.where(settled, last, new)
            settled |= close
            if settled.all():
                break
            value = self.balance(self.frontiers.on_segment(np.exp(-turn), *sums), row)
            falling = value < 0.0
            low, high = np.where(falling, turn, low), np.where(falling, high, turn)
            z, values = [*z[-2:], turn], [*values[-2:], value]
        return turn, settled

    def _open(self, level: np.ndarray, coarse: Lines, rungs: np.ndarray, smallest: np.ndarray) -> np.ndarray:
        """The rows in which a vertex of the polygon is below the smallest bound.

        Where there are rungs their lines are the polygon's, elsewhere those of the first points and of the prior.
        """
        every, sets = coarse[:3], self.frontiers.sets
        before, after = count_true(level < rungs[0]) - 1, count_true(level <= rungs[-1])
        number = np.arange(len(level))[:, None]
        open_ = self._below(every, smallest) & (level > 0.0) & ((number < before) | (number >= after))
        # Past the last line is that of the smallest risk.
        past = (before < 0) | (level[before, sets] == 0.0)
        ends = (np.where(past, end, values[before, sets]) for values, end in zip(every, (0.0, 1.0, np.inf)))
        parts = zip(ends, self.frontiers.lines(rungs), (values[after, sets] for values in every))
        return np.asarray(open_.any(axis=0) | self._below([np.vstack(rows) for rows in parts], smallest).any(axis=0))

    def _below(self, lines: Sequence[np.ndarray], smallest: np.ndarray) -> np.ndarray:
        """Whether the bound where each line meets the next one, nearer to the prior, is below the smallest."""
        (x, size, slope), (x_next, size_next, slope_next) = (
            (values[:-1] for values in lines),
            (values[1:] for values in lines),
        )
        across = x_next - x
        ahead = np.fmin(np.fmax((size - size_next - slope_next * across) / (slope - slope_next), 0.0), across)
        budget = self.divergence.size_budget(size_next + slope_next * (across - ahead), self.c, 1).value
        return ~self.distance.reaches(np.minimum(self.least + x + ahead, 1.0), budget, smallest)

    def _minima(self, others: np.ndarray, row: np.ndarray, *found: np.ndarray) -> dict[int, tuple[LocalMinimum, ...]]:
        minima: dict[int, tuple[LocalMinimum, ...]] = {}
        numbers = zip(row[others].tolist(), *(values[others].tolist() for values in found))
        for number, z, bound, x, size in sorted(numbers, key=lambda one: one[2]):
            support = int(np.count_nonzero(self.frontiers.y[number] < math.exp(-z)))
            value = self.divergence.value_of_size(size)
            one = LocalMinimum(bound, float(self.least[number]) + x, value, support)
            minima[number] = (*minima.get(number, ()), one)
        return minima


def _best_of_rows(row: np.ndarray, bound: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The turn with the smallest bound in each row, -1 where there is none, and all other turns."""
    order = np.lexsort((bound, row))
    first = np.append(True, row[order][1:] != row[order][:-1])[: row.size]
    best = np.full(count, -1)
    best[row[order[first]]] = order[first]
    return best, order[~first]
