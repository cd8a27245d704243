r"""Many small χ² problems at once: the sums, enclosures and turns of :mod:`.chi_squared` with one row per problem.

The certificate is the same. A row in which a segment is neither excluded nor seen to hold exactly one turn is handed to
the search for one problem, which looks inside the segment; so is a row with prior weights next to nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pacb_models import distances
from pacb_models.binary_kl import kl_inverse
from pacb_models.many import BatchOutcome, ProblemBatch
from pacb_models.solution import LocalMinimum

from .chi_squared import LEAST_PRIOR
from .minima import NEGLIGIBLE, SAME_RISK, below
from .stationarity import STATIONARITY, BinaryKL, Ends, Linear, Point, Stationarity
from .sweep import judge

#: Numbers of a block of rows whose temporary arrays stay in the processor's cache.
_BLOCK = 32_768
#: Pieces of a segment that is looked into.
_PIECES = 64
#: Newton's steps after which a turn that has not settled is left to the search for one problem.
_MOST_STEPS = 60


def can_minimise(batch: ProblemBatch) -> bool:
    """Whether rows can be solved together: our distances, and no prior weight next to nothing."""
    ours = type(batch.distance_function) in (distances.Linear, distances.Squared, distances.BinaryKL)
    return ours and batch.order == 2.0 and float(np.min(batch.prior)) >= LEAST_PRIOR


def minimise(batch: ProblemBatch) -> BatchOutcome:
    """The global minima of a batch; rows in ``unsettled`` are for the search for one problem."""
    rows = max(1, _BLOCK // batch.risks.shape[1])
    # Overflow and 0/0 occur next to the end of a path; no comparison with their results holds.
    with np.errstate(all="ignore"):
        parts = [_minimise_some(batch, slice(i, i + rows)) for i in range(0, len(batch), rows)]
    local_minima = {}
    for number, part in enumerate(parts):
        local_minima.update({number * rows + row: minima for row, minima in part.local_minima.items()})
    posterior, lower_bound, iterations, unsettled = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("posterior", "lower_bound", "iterations", "unsettled")
    )
    return BatchOutcome(posterior, lower_bound, iterations, unsettled, local_minima)


class _Turns(NamedTuple):
    """Local minima of several rows: the row, empirical risk, budget, and level μ above the row's smallest risk."""

    row: np.ndarray
    L: np.ndarray
    b: np.ndarray
    level: np.ndarray
    settled: np.ndarray


class _Brackets(NamedTuple):
    """Intervals of the coordinates of segments, and the excess at their ends."""

    low: np.ndarray
    high: np.ndarray
    excess_low: np.ndarray
    excess_high: np.ndarray

    def take(self, which: np.ndarray) -> _Brackets:
        return _Brackets(*(values[which] for values in self))

    def extended(self, more: _Brackets) -> _Brackets:
        return _Brackets(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))


class _Segments(NamedTuple):
    """Segments of the paths of several rows, as :class:`.chi_squared.Segment` has one."""

    row: np.ndarray
    position: np.ndarray
    P: np.ndarray
    W: np.ndarray
    Q: np.ndarray
    V: np.ndarray
    S: np.ndarray
    R: np.ndarray
    c: np.ndarray
    floor: np.ndarray

    def evaluate(self, z: np.ndarray) -> Point:
        """The points at the coordinates :math:`z = -\\ln W`."""
        W = np.exp(-z)
        gap = np.maximum(W - self.W, 0.0) / self.P
        Q = self.Q + gap * (self.W + W)
        root = np.sqrt(Q)
        w = root / W
        L = np.minimum(self.floor + (self.R + self.S * gap) / W, 1.0)
        d = self.c / root
        e = (self.V * w) * (self.P * w) * w / self.c
        return Point(z, L, self.c * w, d, e, d * W * W / (self.P * Q))

    def level(self, z: np.ndarray) -> np.ndarray:
        """μ, measured from the smallest risk."""
        return self.position + (np.exp(-z) - self.W) / self.P

    def take(self, which: np.ndarray) -> _Segments:
        return _Segments(*(values[which] for values in self))


def _minimise_some(batch: ProblemBatch, part: slice) -> BatchOutcome:
    risks, c = batch.risks[part], batch.coefficient[part]
    prior = batch.prior if batch.prior.ndim == 1 else batch.prior[part]
    stationarity = STATIONARITY[batch.distance]
    count, size = risks.shape
    floor = risks.min(axis=1)
    y = risks - floor[:, None]
    if batch.uniform_prior:
        p, ordered = prior[0], np.sort(y, axis=1)
    else:
        order = np.argsort(y, axis=1)
        ordered = np.take_along_axis(y, order, 1)
        p = prior[order] if prior.ndim == 1 else np.take_along_axis(prior, order, 1)
    reach = 1.001 * (c if isinstance(stationarity, Linear) else np.sqrt(c))
    position = np.column_stack((ordered, ordered[:, -1] + reach))
    gap = position[:, 1:] - position[:, :-1]
    P = p * np.arange(1.0, size + 1.0) if batch.uniform_prior else p.cumsum(axis=1)
    P = np.broadcast_to(P, (count, size))
    S = (p * ordered).cumsum(axis=1)
    R, W = _from_zero(S * gap), _from_zero(P * gap)
    Q = _from_zero(gap * (W[:, 1:] + W[:, :-1]))
    V = np.zeros((count, size))
    weights = p if batch.uniform_prior else p[:, 1:]
    (weights * (W[:, 1:-1] / P[:, :-1]) * (W[:, 1:-1] / P[:, 1:])).cumsum(axis=1, out=V[:, 1:])
    root = np.sqrt(Q)
    w = root / W
    L = np.minimum(floor[:, None] + R / W, 1.0)
    ends = stationarity.ends(L.ravel(), (c[:, None] * w).ravel(), (c[:, None] / root).ravel())
    variation, cube = V * P / c[:, None], w * w * w
    elasticity = (variation * cube[:, 1:]).ravel(), (variation * cube[:, :-1]).ravel()
    upper, lower = _sides(ends, count, size)
    verdict = judge(stationarity, upper, lower, elasticity, single=True)
    # Up to the second smallest risk the path stands still.
    moving = ordered > NEGLIGIBLE
    turning = verdict.turning.reshape(count, size) & moving
    row, segment = (turning | (verdict.open.reshape(count, size) & moving)).nonzero()
    tables = (position, P, W, Q, V, S, R)
    segments = _Segments._make([row, *(values[row, segment] for values in tables), c[row], floor[row]])
    brackets = _Brackets(
        -np.log(W[row, segment + 1]),
        -np.log(W[row, segment]),
        upper.excess.reshape(count, size)[row, segment],
        lower.excess.reshape(count, size)[row, segment],
    )
    known = turning[row, segment]
    holds, narrowed, in_doubt = _look_inside(stationarity, segments.take(~known), brackets.take(~known))
    unsettled = np.zeros(count, dtype=bool)
    unsettled[row[~known][in_doubt]] = True
    chosen = np.concatenate((np.flatnonzero(known), np.flatnonzero(~known)[holds]))
    segments, brackets = segments.take(chosen), brackets.take(known).extended(narrowed.take(holds))
    turns = _solve_turns(stationarity, segments, brackets)
    first = np.argmax(moving, axis=1)
    spread_out = moving.any(axis=1)
    everyone = np.arange(count)
    at_end = spread_out & (lower.excess.reshape(count, size)[everyone, first] < 0.0)
    last = at_end.nonzero()[0]
    # A level below the second smallest risk gives all weight to the smallest.
    ending = _Turns(
        last, floor[last], c[last] / np.sqrt(P[last, first[last] - 1]), 0.5 * ordered[last, first[last]], last >= 0
    )
    turns = _Turns(*(np.concatenate(pair) for pair in zip(turns, ending, strict=True)))
    unsettled[turns.row[~turns.settled]] = True
    bounds = _invert(stationarity, turns.L, turns.b)
    best, minima = _rank(turns, bounds, c, ordered, count)
    level = np.full(count, np.inf)
    smallest = _invert(stationarity, floor, c)
    flat = np.logical_not(spread_out)
    if isinstance(stationarity, BinaryKL):
        flat |= smallest >= 1.0
    found = best >= 0
    level[found] = turns.level[best[found]]
    smallest[found] = bounds[best[found]]
    unsettled |= ~found & ~flat
    unsettled &= ~flat
    level[flat] = np.inf
    smallest[flat] = _invert(stationarity, np.minimum(risks[flat].mean(axis=1), 1.0), c[flat])
    return BatchOutcome(
        posterior=_posteriors(y, prior, level),
        lower_bound=below(smallest),
        iterations=np.full(count, size + 1),
        unsettled=unsettled,
        local_minima={row: others for row, others in minima.items() if not (unsettled[row] or flat[row])},
    )


def _from_zero(steps: np.ndarray) -> np.ndarray:
    """Running sums along the rows, the empty one first."""
    sums = np.zeros((steps.shape[0], steps.shape[1] + 1))
    steps.cumsum(axis=1, out=sums[:, 1:])
    return sums


def _sides(ends: Ends, count: int, size: int) -> tuple[Ends, Ends]:
    """The upper and the lower ends of all segments."""
    tables = [values.reshape(count, size + 1) for values in ends]
    return Ends(*(table[:, 1:].ravel() for table in tables)), Ends(*(table[:, :-1].ravel() for table in tables))


def _look_inside(
    stationarity: Stationarity, segments: _Segments, brackets: _Brackets
) -> tuple[np.ndarray, _Brackets, np.ndarray]:
    """Which segments hold a turn, where in them, and which are still in doubt, from points inside.

    There is at most one turn in a segment, so that one change of sign settles it; the elasticity rises along it.
    """
    n = segments.row.size
    z = brackets.low[:, None] + (brackets.high - brackets.low)[:, None] * np.linspace(0.0, 1.0, _PIECES + 1)
    points = segments.take(np.repeat(np.arange(n), _PIECES + 1)).evaluate(z.ravel())
    ends = stationarity.ends(points.L, points.b, points.d)
    # The path runs towards larger coordinates: the first of two neighbours is the start.
    end, start = _sides(ends, n, _PIECES)
    e = points.e.reshape(n, _PIECES + 1)
    verdict = judge(stationarity, start, end, (e[:, :-1].ravel(), e[:, 1:].ravel()), single=True)
    turning, is_open = verdict.turning.reshape(n, _PIECES), verdict.open.reshape(n, _PIECES)
    holds: np.ndarray = np.any(turning, axis=1)
    every, which = np.arange(n), np.argmax(turning, axis=1)
    excess = ends.excess.reshape(n, _PIECES + 1)
    narrowed = _Brackets(z[every, which], z[every, which + 1], excess[every, which], excess[every, which + 1])
    in_doubt: np.ndarray = np.any(is_open, axis=1) & ~holds
    return holds, narrowed, in_doubt


def _solve_turns(stationarity: Stationarity, segments: _Segments, brackets: _Brackets) -> _Turns:
    """The turn of each segment between two coordinates: a formula, or Newton's method."""
    settled = np.ones(brackets.low.size, dtype=bool)
    if isinstance(stationarity, BinaryKL):
        z, settled = _newton(stationarity, segments, brackets)
    else:
        z = np.clip(_closed_form(stationarity, segments), brackets.low, brackets.high)
    point = segments.evaluate(z)
    return _Turns(segments.row, point.L, point.b, segments.level(z), settled)


def _closed_form(stationarity: Stationarity, segments: _Segments) -> np.ndarray:
    """The formulas of :func:`.chi_squared._closed_form`."""
    P, W, Q, V, c = segments.P, segments.W, segments.Q, segments.V, segments.c
    if isinstance(stationarity, Linear):
        short = c * c - Q
        return -np.log(W + P * short / (W + np.sqrt(np.maximum(W * W + P * short, 0.0))))
    third = np.arcsin(np.minimum(6.0 * math.sqrt(3.0) * V / (c * np.sqrt(P)), 1.0)) / 3.0
    ratio = np.where(V > 0.0, V / np.sin(third), 0.5 * c * np.sqrt(P / 3.0))
    tau2 = ratio / P * np.sin(math.pi / 3.0 - third) ** 2 / np.sin(2.0 * math.pi / 3.0 - third)
    return -np.log(P * np.sqrt(tau2))


def _newton(stationarity: Stationarity, segments: _Segments, brackets: _Brackets) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates where the excess is zero, as in :func:`.sweep.solve_turn`, and which of them settled."""
    low, high, excess_low, excess_high = brackets
    result = low - (high - low) * excess_low / (excess_high - excess_low)
    result = np.where(np.isfinite(result), result, 0.5 * (low + high))
    settled = np.zeros(low.size, dtype=bool)
    active = np.arange(low.size)
    z, previous = result, high - low
    for _ in range(_MOST_STEPS):
        if not active.size:
            break
        point = segments.evaluate(z)
        h = stationarity.excess(point.L, point.b, point.d)
        low, high = np.where(h < 0.0, z, low), np.where(h < 0.0, high, z)
        slope = stationarity.excess_slope(point.L, point.d, point.e) * point.speed
        step = np.where(slope > 0.0, -h / slope, np.inf)
        length = np.abs(step)
        done = (length <= 1e-15 * np.maximum(1.0, np.abs(z))) | ((length >= 0.5 * previous) & (length <= 1e-11))
        astray = ~((low < z + step) & (z + step < high)) | (length > 0.5 * previous)
        step = np.where(astray, 0.5 * (low + high) - z, step)
        done |= z + step == z
        result[active] = z
        settled[active] = done
        on = ~done
        active, segments, low, high = active[on], segments.take(on), low[on], high[on]
        z, previous = (z + step)[on], np.abs(step[on])
    return result, settled


def _invert(stationarity: Stationarity, L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The bounds."""
    if isinstance(stationarity, Linear):
        return L + b
    if isinstance(stationarity, BinaryKL):
        return kl_inverse(np.clip(L, 0.0, 1.0), b)
    return L + np.sqrt(b)


def _rank(
    turns: _Turns, bounds: np.ndarray, c: np.ndarray, ordered: np.ndarray, count: int
) -> tuple[np.ndarray, dict[int, tuple[LocalMinimum, ...]]]:
    """The best turn of each row (-1: none), and the other local minima of the rows that have some."""
    order = np.lexsort((bounds, turns.row))
    rows = turns.row[order]
    is_first = np.append(True, rows[1:] != rows[:-1])[: rows.size]
    best = np.full(count, -1)
    best[rows[is_first]] = order[is_first]
    others: dict[int, list[int]] = {}
    for place in order[~is_first].tolist():
        row = int(turns.row[place])
        kept = others.setdefault(row, [])
        if all(abs(turns.L[place] - turns.L[k]) > SAME_RISK * ordered[row, -1] for k in (best[row], *kept)):
            kept.append(place)
    minima = {
        row: tuple(
            LocalMinimum(
                float(bounds[k]),
                float(turns.L[k]),
                max(float((turns.b[k] / c[row]) ** 2) - 1.0, 0.0),
                int(np.count_nonzero(ordered[row] < turns.level[k])),
            )
            for k in places
        )
        for row, places in others.items()
        if places
    }
    return best, minima


def _posteriors(y: np.ndarray, prior: np.ndarray, level: np.ndarray) -> np.ndarray:
    """The weights at the levels; an infinite one is the prior."""
    weights = np.maximum(level[:, None] - y, 0.0)
    weights[np.isinf(level)] = 1.0
    weights *= prior
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
