"""The largest value of a function of one variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence


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
        if value >= max(*beside, best - 0.05) and value > min(beside) + 1e-14:
            peaks.append((value, grid[left], grid[right]))
    return max([best] + [_peak(function, low, high) for _, low, high in sorted(peaks)[-4:]])


def _peak(function: Callable[[float], float], low: float, high: float) -> float:
    """The largest value between two numbers, in units of their distance: SciPy's tolerance is relative to the place."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda share: -function(low + share * (high - low)),
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": 1e-8},  # a smooth peak is then right to rounding error
    )
    return float(-found.fun)
