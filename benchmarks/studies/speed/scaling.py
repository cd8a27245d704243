"""How time and memory grow with the number of classifiers, from 10² to 10⁷: a table with fitted exponents.

    python -m pacb_models.benchmarks.studies.speed.scaling [--seconds 60] [--largest 10000000] [--only NAME ...]

Every size is measured in a process of its own: processor seconds of one thread, the least of a few runs, and the
largest memory above that of the imports. A method ends where a size took more than the given seconds. Exponents are
those of the line through the three largest sizes. The output is the table of the page about large problems.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

import pacb_models as pm

from ..options import options
from .timing import best_seconds, power_law

POWERS_OF_TEN = tuple(10**power for power in range(2, 8))


class Cost(NamedTuple):
    """Processor seconds and bytes."""

    seconds: float
    memory: float


def _risks(size: int) -> np.ndarray:
    return np.random.default_rng(0).beta(4, 16, size)


def _solved(size: int, solver: str) -> Callable[[], object]:
    problem = pm.BoundProblem(_risks(size), m=1000)
    return lambda: pm.solve(problem, solver, merge=False)


def _constrained(size: int) -> Callable[[], object]:
    """Two rows, one of which cuts the optimum off, and a cap on every weight."""
    random = np.random.default_rng(1)
    latency, memory = random.gamma(4.0, 5.0, size), random.random(size)
    limits = [pm.average(latency, at_most=15.0, name="latency"), pm.average(memory, at_most=0.5, name="memory")]
    problem = pm.BoundProblem(_risks(size), m=1000, constraints=[*limits, pm.weights(at_most=20.0 / size)])
    return lambda: pm.solve(problem, "frontier")


def _certified(size: int) -> Callable[[], object]:
    random = np.random.default_rng(2)
    counts, prior = random.binomial(1000, 0.2, size), random.random(size) + 0.01
    prior /= prior.sum()
    return lambda: pm.certify(counts, 1000, prior=prior).posterior


#: What is measured, by its name in the table.
METHODS: dict[str, Callable[[int], Callable[[], object]]] = {
    "`frontier`": lambda size: _solved(size, "frontier"),
    "`frontier`, two averages and caps": _constrained,
    "`certify`, any prior": _certified,
    "Ipopt (`cyipopt`)": lambda size: _solved(size, "cyipopt"),
    "`ccp`": lambda size: _solved(size, "ccp"),
}


def cost_here(name: str, size: int) -> Cost:
    """The cost in this process."""
    # What is imported and compiled once does not count.
    METHODS[name](POWERS_OF_TEN[0])()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    actions = {name: METHODS[name](size)}
    least = best_seconds(actions, 1, time.process_time)[name]
    if least < 1.0:
        least = best_seconds(actions, min(10, int(1.0 / least)), time.process_time)[name]
    return Cost(least, 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))


def cost_apart(name: str, size: int, seconds: float) -> Cost | None:
    """The cost in a process of its own; None when it takes too long."""
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    try:
        # Time on the clock: on a busy machine several times that of the processor.
        return pool.submit(cost_here, name, size).result(timeout=10.0 * seconds)
    except TimeoutError:
        for process in pool._processes.values():
            process.kill()
        return None
    finally:
        pool.shutdown()


def row(name: str, sizes: list[int], seconds: float) -> str:
    """A line of the table."""
    costs: list[Cost] = []
    for size in sizes:
        cost = cost_apart(name, size, seconds)
        costs += [cost] if cost else []
        if cost is None or cost.seconds > seconds:
            break
    reached = sizes[: len(costs)]
    times = [f"{cost.seconds:.2g}" for cost in costs] + ["–"] * (len(sizes) - len(costs))
    ends = ["–", "–"]
    if len(costs) > 1:
        power, _ = power_law(reached, [cost.seconds for cost in costs])
        ends = [f"{power:.1f}", f"{costs[-1].memory / reached[-1]:.0f}"]
    return f"| {name} | {' | '.join(times + ends)} |"


def main() -> None:
    """Print the table, a line as soon as it is known."""
    given = options(__doc__, seconds=60.0, largest=POWERS_OF_TEN[-1], only=tuple(METHODS))
    sizes = [size for size in POWERS_OF_TEN if size <= given.largest]
    print(f"| H | {' | '.join(f'10^{round(np.log10(size))}' for size in sizes)} | exponent | bytes per classifier |")
    print("|---" * (len(sizes) + 3) + "|")
    for name in given.only:
        print(row(name, sizes, given.seconds), flush=True)


if __name__ == "__main__":
    main()
