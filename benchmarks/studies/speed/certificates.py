"""How long certificates take: beside ``numpy.argsort`` of the same counts, and for few classifiers.

    python -m pacb_models.benchmarks.studies.speed.certificates [--size 1000000] [--repeats 7]

Every time is the shortest of several alternating repeats in one run. A certificate computes its bounds; ``posterior``
and ``single_bounds`` are computed when they are asked for, and measured beside.
"""

from __future__ import annotations

import numpy as np

import pacb_models as pm

from .timing import best_seconds, options, show


def _bounds(certificate: pm.Certificate) -> tuple[object, ...]:
    return certificate.bound, certificate.single_bound


def _everything(certificate: pm.Certificate) -> tuple[object, ...]:
    return certificate.bound, certificate.posterior, certificate.single_bounds


def main() -> None:
    """One large set and one small set."""
    given = options(__doc__, size=1_000_000, repeats=7)
    random = np.random.default_rng(0)
    large = random.binomial(2000, random.uniform(0.05, 0.4, given.size))
    prior = np.maximum(random.dirichlet(np.ones(given.size)), 1e-300)
    prior /= prior.sum()
    actions = {
        "numpy.argsort": lambda: np.argsort(large),
        "bounds, uniform prior": lambda: _bounds(pm.certify(large, 2000)),
        "bounds, any prior": lambda: _bounds(pm.certify(large, 2000, prior=prior)),
        "bounds, posterior, all singles, uniform": lambda: _everything(pm.certify(large, 2000)),
        "bounds and posterior, any prior": lambda: pm.certify(large, 2000, prior=prior).posterior,
    }
    show(f"{given.size} classifiers, m = 2000", best_seconds(actions, given.repeats))
    errors = random.binomial(549, random.uniform(0.05, 0.4, 50))
    weights = random.dirichlet(np.full(50, 5.0))
    small = {
        "no ties": lambda: _bounds(pm.certify(errors, 549)),
        "ties": lambda: _bounds(pm.certify(errors // 8, 549)),
        "any prior": lambda: _bounds(pm.certify(errors, 549, prior=weights)),
        "any prior, ties": lambda: _bounds(pm.certify(errors // 8, 549, prior=weights)),
        "bound_of a posterior": lambda: pm.certify(errors, 549).bound_of(weights),
    }
    show("50 classifiers, m = 549", best_seconds(small, 50 * given.repeats))


if __name__ == "__main__":
    main()
