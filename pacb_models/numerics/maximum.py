"""The largest value of a function of one variable."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

GOLDEN = 0.381966011250105  # the shorter part of the golden section
TOLERANCE = 1e-8  # in units of the grid: a smooth peak is then right to rounding error
LIMIT = 100  # trials; Brent's method takes 34 where rounding does not confuse it, golden sections alone would take 40
NEAR, NOISE = 0.05, 1e-14


def largest_value(function: Callable[[float], float], grid: Sequence[float]) -> float:
    """The maximum over the range of an increasing ``grid`` that is fine enough for the highest peaks to show on it.

    Up to four peaks that come near the best one (the function is a logarithm: within 5 %) are refined, unless they
    stand out by no more than rounding error.
    """
    values = [function(x) for x in grid]
    best = max(values)
    peaks = []
    for i, value in enumerate(values):
        left, right = max(i - 1, 0), min(i + 1, len(grid) - 1)
        beside = values[left], values[right]
        if value >= max(*beside, best - NEAR) and value > min(beside) + NOISE:
            peaks.append((value, grid[left], grid[i], grid[right]))
    return max([best] + [_peak(function, low, x, high, value) for value, low, x, high in sorted(peaks)[-4:]])


def _peak(function: Callable[[float], float], low: float, best: float, high: float, value: float) -> float:
    """Brent's method: steps to the top of the parabola through the three best points, golden sections otherwise.

    It ends when the top is enclosed, and in any case after ``LIMIT`` trials, with the largest value seen.
    """
    second = third = (best, value)
    step = last_step = 0.0
    # Neighbours of a large number are further apart than the tolerance: a step has to lead to another number.
    least = max(TOLERANCE, 4 * math.ulp(max(abs(low), abs(high))))
    for _ in range(LIMIT):
        if max(best - low, high - best) <= 2 * least:
            break
        last_step, step = step, _parabola_step(best, value, second, third)
        inside = low < best + step < high
        if not inside or abs(step) >= 0.5 * abs(last_step or high - low):
            last_step = high - best if high - best > best - low else low - best
            step = GOLDEN * last_step
        if abs(step) < least:
            step = least if high - best > best - low else -least
        x = best + step
        trial = (x, function(x))
        if trial[1] >= value:
            low, high = (best, high) if step > 0 else (low, best)
            second, third = (best, value), second
            best, value = trial
        else:
            low, high = (low, x) if step > 0 else (x, high)
            if trial[1] >= second[1] or second[0] == best:
                second, third = trial, second
            elif trial[1] >= third[1] or third[0] in (best, second[0]):
                third = trial
    return value


def _parabola_step(best: float, value: float, second: tuple[float, float], third: tuple[float, float]) -> float:
    """From best to the top of the parabola through the three points; infinite where there is none."""
    (x, fx), (y, fy) = second, third
    p = (best - x) ** 2 * (value - fy) - (best - y) ** 2 * (value - fx)
    q = (best - x) * (value - fy) - (best - y) * (value - fx)
    return -0.5 * p / q if q else float("inf")
