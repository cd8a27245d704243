"""What each stage costs as classifiers, examples and rows grow: times at four sizes, and the power at the largest.

    python -m pacb_models.benchmarks.speed.stages [--repeats 3]

A stage that takes ``c · size^k`` seconds is a straight line of slope ``k`` on double logarithmic axes; ``k`` is that of
the two largest sizes, and the last column says how long the stage would take at a size out of reach here.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import pacb_models as pm
from pacb_models.ensembles.shared_gram import gaussian_kernel

from .timing import best_seconds


class Stage(NamedTuple):
    """One stage: what grows, the sizes to try, the size to extrapolate to, and what is timed at a size."""

    name: str
    grows: str
    sizes: tuple[int, ...]
    far: int
    prepare: Callable[[int], Callable[[], object]]


def _counts(size: int, m: int = 1000) -> np.ndarray:
    return np.random.default_rng(0).binomial(m, 0.2, size)


def _certify(size: int) -> Callable[[], object]:
    counts = _counts(size)
    return lambda: pm.certify(counts, m=1000)


def _merged(size: int) -> Callable[[], object]:
    problem = pm.BoundProblem.from_counts(_counts(size), 1000)
    return lambda: pm.solve(problem)


def _raw(size: int) -> Callable[[], object]:
    problem = pm.BoundProblem(np.random.default_rng(0).random(size), m=1000)
    return lambda: pm.solve(problem)


def _kernel(size: int) -> Callable[[], object]:
    X = np.random.default_rng(0).random((size, 57))
    return lambda: gaussian_kernel(X, X, 0.1)


def _machine(size: int) -> Callable[[], object]:
    from sklearn.datasets import make_classification
    from sklearn.svm import SVC

    X, y = make_classification(size, 20, flip_y=0.1, random_state=0)
    gram = gaussian_kernel(X, X, 0.05)
    return lambda: SVC(kernel="precomputed").fit(gram, y)


def _rows(size: int) -> Callable[[], object]:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, size)
    predictions = {f"c{k}": random.integers(0, 2, size) for k in range(20)}

    def count() -> object:
        found = pm.ErrorCounts(list(predictions))
        found.update(truth, predictions)
        return found

    return count


_CLASSIFIERS = (10_000, 100_000, 1_000_000, 4_000_000)

STAGES = (
    Stage("error counts of 20 classifiers", "rows", (20_000, 80_000, 320_000, 1_280_000), 10**9, _rows),
    Stage("kernel matrix, 57 features", "rows", (500, 1000, 2000, 4000), 50_000, _kernel),
    Stage("one SVM on that matrix", "rows", (500, 1000, 2000, 4000), 50_000, _machine),
    Stage("certificate", "classifiers", _CLASSIFIERS, 10**8, _certify),
    Stage("χ²–kl minimum, risks of 1000 examples", "classifiers", _CLASSIFIERS, 10**8, _merged),
    Stage("χ²–kl minimum, all risks different", "classifiers", _CLASSIFIERS, 10**8, _raw),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the shortest counts (3)")
    options = parser.parse_args()
    print(f"{'stage':<40} {'size':<12} {'seconds at four sizes':<38} {'power':>6}  at a size")
    for stage in STAGES:
        seconds = [best_seconds({"it": stage.prepare(size)}, options.repeats)["it"] for size in stage.sizes]
        # The two largest: below them fixed costs flatten the line.
        power, shift = np.polyfit(np.log(stage.sizes[-2:]), np.log(seconds[-2:]), 1)
        far = float(np.exp(shift + power * np.log(stage.far)))
        times = " ".join(f"{value:9.2g}" for value in seconds)
        print(f"{stage.name:<40} {stage.grows:<12} {times:<38} {power:>6.2f}  {far:.2g} s at {stage.far:.0e}")


if __name__ == "__main__":
    main()
