"""How long certificates take: in units of ``numpy.argsort`` of the same counts, in µs, and many at once.

    python -m pacb_models.benchmarks.studies.speed.certificates [--size 1000000] [--repeats 7]

Every time is the shortest of several alternating repeats in one run. A certificate computes its bounds; ``posterior``
and ``single_bounds`` are computed when they are asked for, and measured beside.
"""

from __future__ import annotations

import argparse

import numpy as np

import pacb_models as pm

from .timing import best_seconds

_CALLS = 50


def large_sets(size: int, repeats: int) -> None:
    """Bounds of one large set, against sorting its counts."""
    random = np.random.default_rng(0)
    errors = random.binomial(2000, random.uniform(0.05, 0.4, size))
    weights = random.dirichlet(np.ones(size))
    prior = np.maximum(weights, 1e-300) / np.maximum(weights, 1e-300).sum()
    found = best_seconds(
        {
            "numpy.argsort": lambda: np.argsort(errors),
            "bounds, uniform prior": lambda: _bounds(pm.certify(errors, 2000)),
            "bounds, any prior": lambda: _bounds(pm.certify(errors, 2000, prior=prior)),
            "bounds, posterior, all singles, uniform": lambda: _everything(pm.certify(errors, 2000)),
            "bounds and posterior, any prior": lambda: pm.certify(errors, 2000, prior=prior).posterior,
        },
        repeats,
    )
    print(f"{size} classifiers, m = 2000")
    for name, seconds in found.items():
        print(f"  {name:<42} {1e3 * seconds:9.2f} ms  {seconds / found['numpy.argsort']:7.3f} x argsort")


def _bounds(certificate: pm.Certificate) -> tuple[float, float]:
    return certificate.bound, certificate.single_bound


def _everything(certificate: pm.Certificate) -> tuple[object, ...]:
    return certificate.bound, certificate.posterior, certificate.single_bounds


def small_sets(repeats: int) -> None:
    """One call for fifty classifiers, with and without ties."""
    random = np.random.default_rng(1)
    errors = random.binomial(549, random.uniform(0.05, 0.4, 50))
    prior = random.dirichlet(np.full(50, 5.0))
    cases = {
        "no ties": lambda: _bounds(pm.certify(errors, 549)),
        "ties": lambda: _bounds(pm.certify(errors // 8, 549)),
        "any prior": lambda: _bounds(pm.certify(errors, 549, prior=prior)),
        "bound_of a posterior": lambda: pm.certify(errors, 549).bound_of(prior),
    }
    calls = {name: (lambda action=action: [action() for _ in range(_CALLS)]) for name, action in cases.items()}
    print("50 classifiers, m = 549")
    for name, seconds in best_seconds(calls, repeats).items():
        print(f"  {name:<42} {1e6 * seconds / _CALLS:9.0f} us a call")


def many_samples(repeats: int, samples: int = 10_000) -> None:
    """Many samples of fifty classifiers: the array form against a loop."""
    random = np.random.default_rng(2)
    errors = random.binomial(549, random.uniform(0.05, 0.4, 50), size=(samples, 50))
    found = best_seconds(
        {
            "loop": lambda: [_bounds(pm.certify(row, 549)) for row in errors],
            "array": lambda: _everything(pm.certify(errors, 549)),
        },
        max(1, repeats // 3),
    )
    print(f"{samples} samples of 50 classifiers")
    for name, seconds in found.items():
        print(f"  {name:<42} {samples / seconds:9.0f} certificates a second")
    print(f"  array form over loop {found['loop'] / found['array']:.0f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000, help="classifiers of the large set")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    large_sets(options.size, options.repeats)
    small_sets(options.repeats)
    many_samples(options.repeats)


if __name__ == "__main__":
    main()
