"""Many small problems at once: the search of :mod:`.search` on arrays with one row per problem.

The proof is the same. A row that it does not close at once, or that has several minima of nearly the same bound, is
handed to the search for one problem.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pacb_models.distances.checks import concave_inverse, elementwise
from pacb_models.divergences import Divergence
from pacb_models.divergences.frontiers import Frontier, Lines
from pacb_models.solution import LocalMinimum
from pacb_models.solving.many import BatchOutcome, ProblemBatch

from .search import AT

GAP = Frontier.gap
#: Numbers of a block of rows whose temporary arrays stay in the processor's cache.
_BLOCK = 32_768


class Net(NamedTuple):
    """First points, around the coordinate that the prior's exchange rate asks for, and those around the best turn."""

    coarse: np.ndarray
    ladder: np.ndarray


def _net(points: int, steps: np.ndarray) -> Net:
    return Net(np.linspace(-3.5, 4.0, points), np.concatenate((-steps[::-1], AT, steps)))


#: A wide net for all rows, and a fine one for those that it leaves open.
_NETS = (_net(16, 3e-6 * 7.0 ** np.arange(6.0)), _net(121, 3e-6 * 2.0 ** np.arange(16.0)))
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
    prior = np.broadcast_to(batch.prior, (count, size)).copy()
    result = BatchOutcome(prior, np.zeros(count), np.zeros(count, dtype=np.intp), np.ones(count, dtype=bool), {})
    length = max(1, _BLOCK // size)
    gaps = batch.risks - batch.risks.min(axis=1, keepdims=True)
    ours = ~((gaps > 0.0) & (gaps < _LEAST_GAP)).any(axis=1)
    for net in _NETS:
        left = (result.unsettled & ours).nonzero()[0]
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

    def __init__(self, batch: ProblemBatch, part: np.ndarray, net: Net) -> None:
        self.net = net
        self.distance, self.divergence = elementwise(batch.distance_function), batch.divergence_function
        self.c = batch.coefficient[part]
        prior = batch.prior if batch.prior.ndim == 1 else batch.prior[part]
        self.frontiers = self.divergence.row_frontiers(batch.risks[part], prior)
        self.least = self.frontiers.least

    def outcome(self) -> BatchOutcome:
        count = self.c.size
        start = self.bound_at(self.frontiers.start, np.ones(count))
        at_least = self.bound_at(np.zeros(count), np.ones(count))
        flat = at_least >= start
        slope = self._rate_at_prior()
        z = np.log(np.clip(slope, 1e-3 / self.frontiers.spread, 1e9 / self.frontiers.spread))[:, None] + self.net.coarse
        coarse = self.frontiers.lines(z)
        balance = self.balance(coarse)
        row, place = ((balance[:, :-1] < 0.0) & (balance[:, 1:] >= 0.0)).nonzero()
        turn, settled = self._roots(row, z[row, place], z[row, place + 1], balance[row, place], balance[row, place + 1])
        found = self.frontiers.lines(turn, row)
        ends, falling = self._ends(row[found.x <= 0.0])
        row, turn = np.append(row, ends), np.append(turn, falling[ends])
        settled = np.append(settled, np.ones(ends.size, dtype=bool))
        found = self.frontiers.lines(turn, row)
        bound = self.bound_at(found.x, found.T, row)
        best, others = _best_of_rows(row, bound, count)
        at_end = (coarse.x[:, -1] <= 0.0) & np.isin(np.arange(count), row[found.x <= 0.0])
        unsettled = (best < 0) | (balance[:, 0] >= 0.0) | ((balance[:, -1] < 0.0) & ~at_end)
        unsettled[row[~settled]] = True
        # A row without a turn has the last entry, whatever that is.
        z_best, smallest = np.append(turn, 0.0)[best], np.append(bound, 0.0)[best] * (1.0 - GAP)
        unsettled |= self._open(coarse, self.frontiers.lines(z_best[:, None] + self.net.ladder), smallest)
        z_best[flat], smallest[flat] = -math.inf, start[flat] * (1.0 - GAP)
        posterior = self.frontiers.posteriors(z_best)
        looked_at = np.full(count, self.net.coarse.size + self.net.ladder.size)
        minima = self._minima(row, others, bound, found, turn)
        return BatchOutcome(posterior, smallest, looked_at, unsettled & ~flat, minima)

    def _ends(self, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows whose bound still falls where all weight comes to rest on the smallest risk, and coordinates there;
        without those in which that end is known."""
        y = self.frontiers.y
        second = np.where(y > 0.0, y, np.inf).min(axis=1)
        alike = np.isinf(second)
        z = -np.log(np.where(alike, 1.0, second))
        line = self.frontiers.lines(z[:, None])
        falls = self.balance(line)[:, 0] < 0.0
        if self.distance.below_one:
            falls &= self.bound_at(line.x[:, 0], line.T[:, 0]) < 1.0
        falls[known] = falls[alike] = False
        return falls.nonzero()[0], z + 1.0

    def bound_at(self, x: np.ndarray, size: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        L = np.minimum(self.least[rows] + x, 1.0)
        return np.asarray(self.distance.invert(L, self.divergence.size_budget(size, self.c[rows], 1).value))

    def balance(self, lines: Lines, rows: np.ndarray | None = None) -> np.ndarray:
        c, least = (self.c[:, None], self.least[:, None]) if rows is None else (self.c[rows], self.least[rows])
        budget = self.divergence.size_budget(lines.T, c, 1)
        return np.asarray(self.distance.balance(least + lines.x, budget.value, lines.slope * budget.slope))

    def _rate_at_prior(self) -> np.ndarray:
        budget = self.divergence.size_budget(np.ones(self.c.size), self.c, 1)
        r = self.distance.derivatives(np.minimum(self.least + self.frontiers.start, 1.0), budget.value)
        return np.nan_to_num(r.L / (r.b * budget.slope), nan=0.0, posinf=1e300)

    def _roots(
        self, row: np.ndarray, low: np.ndarray, high: np.ndarray, at_low: np.ndarray, at_high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where the balance is zero, by regula falsi with the Illinois rule, and which of the places settled."""
        result, settled = low.copy(), np.zeros(row.size, dtype=bool)
        active, side, last = np.arange(row.size), np.zeros(row.size), np.full(row.size, np.inf)
        for _ in range(_ROUNDS):
            if not active.size:
                break
            z = low + (high - low) * at_low / (at_low - at_high)
            # The error of the next step would be of the order of this one's times the one's before.
            done = np.abs(z - last) <= 1e-14 * np.maximum(np.abs(z), 1.0)
            z = np.where(done | ((z > low) & (z < high)), z, 0.5 * (low + high))
            result[active], settled[active] = z, done
            if done.any():
                on = ~done
                active, row, low, high, side = active[on], row[on], low[on], high[on], side[on]
                at_low, at_high, z = at_low[on], at_high[on], z[on]
                if not active.size:
                    continue
            value = self.balance(self.frontiers.lines(z, row), row)
            falling = value < 0.0
            at_high = np.where(falling, np.where(side < 0.0, 0.5 * at_high, at_high), value)
            at_low = np.where(falling, value, np.where(side > 0.0, 0.5 * at_low, at_low))
            low, high, side = np.where(falling, z, low), np.where(falling, high, z), np.where(falling, -1.0, 1.0)
            last = z
        return result, settled

    def _open(self, coarse: Lines, ladder: Lines, smallest: np.ndarray) -> np.ndarray:
        """The rows in which a vertex of the polygon is below the smallest bound."""
        count = self.c.size
        x, size, slope = (np.hstack(pair) for pair in zip(coarse[:3], ladder[:3]))
        order = np.argsort(slope, axis=1)
        x, size, slope = (np.take_along_axis(values, order, 1) for values in (x, size, slope))
        zero, one = np.zeros((count, 1)), np.ones((count, 1))
        x = np.hstack((self.frontiers.start[:, None], x, zero))
        size, slope = np.hstack((one, size)), np.hstack((zero, slope))
        across = x[:, :-1] - x[:, 1:]
        ahead = (size[:, 1:] - size[:, :-1] - slope[:, :-1] * across[:, :-1]) / (slope[:, 1:] - slope[:, :-1])
        ahead = np.hstack((np.fmin(np.fmax(ahead, 0.0), across[:, :-1]), zero))
        L = np.minimum(self.least[:, None] + x[:, 1:] + ahead, 1.0)
        budget = self.divergence.size_budget(size + slope * (across - ahead), self.c[:, None], 1).value
        return np.any(~self.distance.reaches(L, budget, smallest[:, None]), axis=1)

    def _minima(
        self, row: np.ndarray, others: np.ndarray, bound: np.ndarray, found: Lines, z: np.ndarray
    ) -> dict[int, tuple[LocalMinimum, ...]]:
        minima: dict[int, tuple[LocalMinimum, ...]] = {}
        for k in others[np.argsort(bound[others])].tolist():
            number = int(row[k])
            support = int(np.count_nonzero(self.frontiers.y[number] < math.exp(-z[k])))
            value = self.divergence.value_of_size(float(found.T[k]))
            one = LocalMinimum(float(bound[k]), float(self.least[number] + found.x[k]), value, support)
            minima[number] = (*minima.get(number, ()), one)
        return minima


def _best_of_rows(row: np.ndarray, bound: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The turn with the smallest bound in each row, -1 where there is none, and all other turns."""
    order = np.lexsort((bound, row))
    first = np.append(True, row[order][1:] != row[order][:-1])[: row.size]
    best = np.full(count, -1)
    best[row[order[first]]] = order[first]
    return best, order[~first]
