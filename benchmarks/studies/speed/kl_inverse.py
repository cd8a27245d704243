"""How long a million kl inversions take, in units of ``numpy.log`` on a million numbers, measured in one run.

    python -m pacb_models.benchmarks.studies.speed.kl_inverse [--size 1000000] [--repeats 7]

Each time is the best of several alternating repeats, so that both sides see the machine in the same state. The budgets
spread over sixteen decades: every branch of the inverse is taken.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from pacb_models.numerics.binary_kl import SIDES, kl_inverse

from .timing import best_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()

    generator = np.random.default_rng(0)
    q = generator.random(options.size)
    budget = 10.0 ** generator.uniform(-14, 2, options.size)
    actions: dict[str, Callable[[], object]] = {"numpy.log": lambda: np.log(q)}
    actions |= {f"kl_inverse {side}": partial(kl_inverse, q, budget, side) for side in SIDES}
    seconds = best_seconds(actions, options.repeats)
    for name, value in seconds.items():
        print(f"{name:18s} {options.size} numbers  {value:8.4f} s  {value / seconds['numpy.log']:6.1f} x numpy.log")

    calls = 10_000
    start = time.perf_counter()
    for _ in range(calls):
        kl_inverse(0.2, 0.01)
    print(f"{'kl_inverse upper':18s} one number       {(time.perf_counter() - start) / calls * 1e6:8.2f} µs per call")


if __name__ == "__main__":
    main()
