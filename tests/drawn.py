"""Every bound there is, and what properties are drawn from: numbers, not the seeds of generators, so that a failure
shrinks to a simple case."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import pacb_models as pm
from pacb_models.names import DISTANCES

#: Every divergence with each of its distances.
PAIRS = [(divergence, distance) for divergence, names in DISTANCES.items() for distance in names]


def with_orders(*orders: float) -> list[tuple[str, str, float]]:
    """The same with an order: Rényi's divergence has these."""
    return [(*pair, order) for pair in PAIRS for order in (orders if pair[0] == "renyi" else (2.0,))]


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


#: Where risks may lie that a search meets only by chance.
RISKS = {
    "any": st.floats(0.0, 1.0),
    "ties": st.sampled_from([0.0, 0.1, 0.2, 0.5]),
    "corners": st.sampled_from([0.0, 1.0]),
    "tiny": st.floats(0.0, 1e-9),
    "near one": st.floats(1 - 1e-6, 1.0),
    "nearly equal": st.integers(0, 9).map(lambda k: 0.3 + k * 1e-12),
    "two groups": st.sampled_from([0.02, 0.4, 0.4, 0.4, 0.4, 0.41, 0.42]),
}


@st.composite
def problems(draw, bounds, largest: int) -> pm.BoundProblem:
    """One of the bounds (divergence, distance) with risks of any kind and any prior."""
    divergence, distance = draw(st.sampled_from(bounds))
    size, kind = draw(st.integers(1, largest)), draw(st.sampled_from([*RISKS]))
    shares = draw(st.none() | arrays(st.integers(1, 10**6), size))
    return pm.BoundProblem(
        draw(arrays(RISKS[kind], size)),
        m=draw(st.sampled_from([1, 2, 7, 50, 400, 3000])),
        delta=draw(st.sampled_from([1e-6, 0.01, 0.05, 0.9])),
        distance=distance,
        divergence=divergence,
        prior=None if shares is None else shares / shares.sum(),
        order=draw(st.sampled_from([1.1, 1.5, 2.0, 5.0])),
    )
