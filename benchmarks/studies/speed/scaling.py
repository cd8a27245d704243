"""How time and memory grow: of methods and certificates with the classifiers, of what comes before with the rows.

    python -m pacb_models.benchmarks.studies.speed.scaling [--seconds 60] [--largest 10000000] [--only NAME ...]

Every size is measured in a process of its own: processor seconds of one thread, the least of a few runs, and the
largest memory above that of the imports. A line ends where a size took more than the given seconds. Exponents are
those of the line through the three largest sizes, below which fixed costs flatten it; the last column follows it to a
size out of reach here. The tables of the page about large problems are made of this one.
"""

import resource
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import pacb_models as pm
from pacb_models.estimators.kernel_family import gaussian_kernel

from ..kept_rows import options
from .timing import apart, best_seconds

Action = Callable[[], object]


class Growing(NamedTuple):
    """What is timed at a size, the sizes, one that is out of reach here, and what they are numbers of."""

    prepare: Callable[[int], Action]
    sizes: tuple[int, ...] = tuple(np.logspace(2, 7, 6, dtype=int).tolist())
    far: int = 10**8
    unit: str = "classifiers"


def _solved(solver: str, size: int) -> Action:
    problem = pm.BoundProblem(np.random.default_rng(0).beta(4, 16, size), m=1000)
    return lambda: pm.solve(problem, solver, merge=False)


def _constrained(size: int) -> Action:
    """Return two rows, one of which cuts the optimum off, and a cap on every weight."""
    random = np.random.default_rng(1)
    latency, memory = random.gamma(4.0, 5.0, size), random.random(size)
    rows = [pm.average(latency, at_most=15.0, name="latency"), pm.average(memory, at_most=0.5, name="memory")]
    limits = [*rows, pm.weights(at_most=20.0 / size)]
    problem = pm.BoundProblem(np.random.default_rng(0).beta(4, 16, size), m=1000, constraints=limits)
    return lambda: pm.solve(problem, "frontier")


def _certified(size: int, single: bool) -> Action:
    """Return any prior; with every single bound, the uniform one."""
    random = np.random.default_rng(2)
    counts, prior = random.binomial(1000, 0.2, size), random.random(size) + 0.01
    if single:
        return lambda: pm.certify(counts, 1000).single_bounds
    return lambda: pm.certify(counts, 1000, prior=prior / prior.sum()).posterior


def _of_counts(size: int) -> Action:
    counts = np.random.default_rng(0).binomial(1000, 0.2, size)
    return lambda: pm.solve(pm.BoundProblem.from_counts(counts, 1000))


def _kernel(size: int) -> Action:
    X = np.random.default_rng(0).random((size, 57))
    return lambda: gaussian_kernel(X, X, 0.1)


def _machine(size: int) -> Action:
    X, y = make_classification(size, 20, flip_y=0.1, random_state=0)
    gram = gaussian_kernel(X, X, 0.05)
    return lambda: SVC(kernel="precomputed").fit(gram, y)


def _errors(size: int) -> Action:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, size)
    predictions = {f"c{k}": random.integers(0, 2, size) for k in range(20)}
    return lambda: pm.ErrorCounts(list(predictions)).update(truth, predictions)


_ROWS = (500, 1000, 2000, 4000)
_MANY = (10_000, 250_000, 2_000_000, 16_000_000)

#: What is measured, by its name in the tables.
METHODS = {
    "error counts of 20 classifiers": Growing(_errors, (20_000, 80_000, 320_000, 1_280_000), 10**9, "rows"),
    "kernel matrix, 57 features": Growing(_kernel, _ROWS, 50_000, "rows"),
    "one SVM on that matrix": Growing(_machine, _ROWS, 50_000, "rows"),
    "`certify`, every single bound": Growing(partial(_certified, single=True), _MANY),
    "`certify`, any prior": Growing(partial(_certified, single=False)),
    "χ²–kl minimum, 1000 examples": Growing(_of_counts, _MANY),
    "`frontier`": Growing(partial(_solved, "frontier")),
    "`frontier`, two averages and caps": Growing(_constrained),
    "Ipopt (`cyipopt`)": Growing(partial(_solved, "cyipopt")),
    "`ccp`": Growing(partial(_solved, "ccp")),
}


def cost_here(name: str, size: int) -> tuple[float, float]:
    """Return processor seconds and bytes in this process."""
    prepare = METHODS[name].prepare
    # What is imported and compiled once does not count.
    prepare(100)()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    actions = {name: prepare(size)}
    least = best_seconds(actions, 1, time.process_time)[name]
    if least < 1.0:
        least = best_seconds(actions, min(10, int(1.0 / least)), time.process_time)[name]
    return least, 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def row(name: str, largest: int, seconds: float) -> str:
    """Return a line of the table."""
    method, costs = METHODS[name], dict[int, tuple[float, float]]()
    for size in (size for size in method.sizes if size <= largest):
        try:
            # Time on the clock: on a busy machine several times that of the processor.
            costs[size] = apart(cost_here, name, size, seconds=10.0 * seconds)
        except TimeoutError:
            break
        if costs[size][0] > seconds:
            break
    cells = [name, method.unit, ", ".join(f"{size}: {cost[0]:.2g}" for size, cost in costs.items())]
    if len(costs) > 1:
        sizes, times = (np.log(list(values)[-3:]) for values in (costs, (cost[0] for cost in costs.values())))
        power, shift = np.polyfit(sizes, times, 1)
        far = np.exp(shift + power * np.log(method.far))
        size, (_, memory) = list(costs.items())[-1]
        cells += [f"{power:.1f}", f"{memory / size:.0f}", f"{far:.2g} s at {method.far:.0e}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, a line as soon as it is known."""
    given = options(__doc__, seconds=60.0, largest=2 * 10**7, only=tuple(METHODS))
    print("| what | grows with | size: seconds | exponent | bytes each | by that line |\n" + "|---" * 6 + "|")
    for name in given.only:
        print(row(name, given.largest, given.seconds), flush=True)


if __name__ == "__main__":
    main()
