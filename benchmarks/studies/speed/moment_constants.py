"""How long each moment constant takes when it is not in the cache yet.

    python -m pacb_models.benchmarks.studies.speed.moment_constants [--order 3]

Prints the slowest of several sample sizes from 1 to 10^9 for every divergence and distance, in processor time (other
programs on the machine do not count).
"""

from __future__ import annotations

import argparse
import time

from pacb_models.constants import moment_constant
from pacb_models.distances.distance import _moment as _constant
from pacb_models.names import DISTANCES

SIZES = (1, 2, 5, 6, 30, 549, 1000, 10**4, 10**6, 10**9)


def seconds(distance: str, m: int, constant: str, divergence: str, order: float, repeats: int = 3) -> float:
    """The shortest of a few runs, each with an empty cache."""
    best = float("inf")
    for _ in range(repeats):
        _constant.cache_clear()
        start = time.process_time()
        moment_constant(distance, m, constant, divergence, order)
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--order", type=float, default=3.0, help="Rényi order")
    options = parser.parse_args()
    for divergence, distances in DISTANCES.items():
        for distance in distances:
            for constant in ("exact",) if divergence == "renyi" else ("exact", "paper"):
                times = {m: seconds(distance, m, constant, divergence, options.order) for m in SIZES}
                slowest = max(times, key=times.__getitem__)
                name = f"{divergence:5s} {distance:7s} {constant:5s}"
                print(f"{name}  slowest {1000 * times[slowest]:7.2f} ms at m = {slowest}")


if __name__ == "__main__":
    main()
