"""What each stage costs as classifiers, examples and rows grow: times at four sizes, and the power they grow with.

    python -m pacb_models.benchmarks.studies.speed.stages [--repeats 5]

The last column says how long the stage would take at a size out of reach here. Seconds are processor time of one
thread, the least of several runs in turns: other work on the machine does not count, but what it takes of the caches
does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import pacb_models as pm
from pacb_models.estimators.kernel_family import gaussian_kernel

from ..options import options
from .timing import best_seconds, power_law


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

    def everything() -> object:
        certificate = pm.certify(counts, m=1000)
        return certificate.posterior, certificate.single_bounds

    return everything


def _of_counts(kind: Any, size: int) -> Callable[[], object]:
    counts = _counts(size)
    return lambda: pm.solve(kind.from_counts(counts, 1000))


def _raw(size: int) -> Callable[[], object]:
    risks = np.random.default_rng(0).random(size)
    return lambda: pm.solve(pm.BoundProblem(risks, m=1000))


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
    return lambda: pm.ErrorCounts(list(predictions)).update(truth, predictions)


_MANY = (10_000, 250_000, 2_000_000, 16_000_000)

STAGES = (
    Stage("error counts of 20 classifiers", "rows", (20_000, 80_000, 320_000, 1_280_000), 10**9, _rows),
    Stage("kernel matrix, 57 features", "rows", (500, 1000, 2000, 4000), 50_000, _kernel),
    Stage("one SVM on that matrix", "rows", (500, 1000, 2000, 4000), 50_000, _machine),
    Stage("certificate, with every single bound", "classifiers", _MANY, 10**8, _certify),
    Stage(
        "χ²–kl minimum, risks of 1000 examples", "classifiers", _MANY, 10**8, lambda n: _of_counts(pm.BoundProblem, n)
    ),
    Stage("χ²–kl minimum, all risks different", "classifiers", _MANY, 10**8, _raw),
    Stage("the same without change of measure", "classifiers", _MANY, 10**8, lambda n: _of_counts(pm.DirectProblem, n)),
)


def main() -> None:
    """Print the table."""
    repeats = options(__doc__, repeats=5).repeats
    print(f"{'stage':<40} {'grows with':<12} {'seconds at four sizes':<39} {'power':>6}  at a size")
    for stage in STAGES:
        actions = {str(size): stage.prepare(size) for size in stage.sizes}
        seconds = list(best_seconds(actions, repeats, time.process_time).values())
        power, line = power_law(stage.sizes, seconds)
        times = " ".join(f"{value:9.2g}" for value in seconds)
        far = f"{line(stage.far):.2g} s at {stage.far:.0e}"
        print(f"{stage.name:<40} {stage.grows:<12} {times:<39} {power:>6.2f}  {far}", flush=True)


if __name__ == "__main__":
    main()
