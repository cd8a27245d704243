"""What properties are drawn from: numbers, not the seeds of generators, so that a failure shrinks to a simple case."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


def powers_of_ten(least: float, most: float) -> st.SearchStrategy[float]:
    """Numbers from 10^least to 10^most, as many in every decade."""
    return st.floats(least, most).map(lambda power: 10.0**power)


def arrays(elements: st.SearchStrategy, size: int) -> st.SearchStrategy[NDArray]:
    """So many numbers."""
    return st.lists(elements, min_size=size, max_size=size).map(np.array)


def weights(size: int, decades: float = 2.0) -> st.SearchStrategy[NDArray[np.float64]]:
    """Positive numbers that sum to one and differ by up to so many decades."""
    return arrays(powers_of_ten(-decades, 0.0), size).map(lambda drawn: drawn / drawn.sum())


def some_weights(size: int, decades: float = 2.0) -> st.SearchStrategy[NDArray[np.float64]]:
    """Numbers that sum to one, zeros among them."""
    drawn = arrays(powers_of_ten(-decades, 0.0) | st.just(0.0), size)
    return drawn.filter(np.any).map(lambda drawn: drawn / drawn.sum())


def priors(size: int, decades: float = 2.0) -> st.SearchStrategy[NDArray[np.float64] | None]:
    """The uniform one, left out, or any."""
    return st.none() | weights(size, decades)
