"""The largest value of a function of one variable."""

from collections.abc import Callable, Sequence


def largest_value(function: Callable[[float], float], grid: Sequence[float]) -> float:
    """The maximum over the range of an increasing ``grid`` that is fine enough for the highest peaks to show on it.

    Up to four peaks that come near the best one (the function is a logarithm: within 5 %) are refined, unless they
    stand out by no more than rounding error.
    """
    from scipy.optimize import minimize_scalar

    def depth(share: float, low: float, high: float) -> float:
        # In units of the bracket: SciPy's tolerance is relative to the place.
        return -function(low + share * (high - low))

    values = [function(x) for x in grid]
    best, peaks = max(values), []
    for i, value in enumerate(values):
        left, right = max(i - 1, 0), min(i + 1, len(grid) - 1)
        beside = values[left], values[right]
        if value >= max(*beside, best - 0.05) and value > min(beside) + 1e-14:
            peaks.append((value, grid[left], grid[right]))
    for _, *bracket in sorted(peaks)[-4:]:
        # A smooth peak is then right to rounding error.
        found = minimize_scalar(depth, args=tuple(bracket), bounds=(0, 1), method="bounded", options={"xatol": 1e-8})
        best = max(best, -float(found.fun))
    return best
