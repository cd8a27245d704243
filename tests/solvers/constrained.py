"""Problems with rows, caps and floors that a known posterior keeps."""

from __future__ import annotations

import numpy as np

import pacb_models as pm

#: Every divergence, with each distance.
PAIRS = [(distance, divergence) for divergence in ("chi2", "renyi", "kl") for distance in ("linear", "squared", "kl")]
CONVEX = [pair for pair in PAIRS if pair[0] == "linear"]


def constrained(seed: int, distance: str = "kl", divergence: str = "chi2", size: int = 12, m: int = 300, **changes):
    """Two rows, caps and floors, of which the prior breaks some: risks and rows pull in different directions."""
    random = np.random.default_rng(seed)
    inside = random.dirichlet(np.full(size, 1.5))
    # In units of their own: nothing may depend on them.
    latency, misses = 10.0 ** random.uniform(-4, 4) * random.uniform(0.2, 1.0, size), random.uniform(0.0, 0.4, size)
    constraints = [
        pm.average(latency, at_most=float(latency @ inside), name="latency"),
        pm.average(misses, at_least=float(misses @ inside) - 0.01, name="misses"),
        pm.weights(at_most=float(inside.max()) + 0.01, at_least=np.minimum(inside, 0.05 / size)),
    ]
    arguments = {
        "risks": random.beta(2.0, 8.0, size),
        "m": m,
        "distance": distance,
        "divergence": divergence,
        "prior": random.dirichlet(np.full(size, 3.0)),
        "constraints": constraints,
    }
    if divergence == "renyi":
        arguments["order"] = 3.0
    return pm.BoundProblem(**(arguments | changes))


def several_minima(seed: int, distance: str = "kl", divergence: str = "chi2", size: int = 10):
    """One very good classifier, which a row and the prior are against: the bound has several minima."""
    random = np.random.default_rng(seed)
    risks = np.append(random.uniform(0.0, 0.03), random.uniform(0.22, 0.3, size - 1))
    latency = np.append(1.0, random.uniform(0.1, 0.6, size - 1))
    prior = np.append(random.uniform(0.01, 0.06), random.dirichlet(np.ones(size - 1)))
    prior[1:] *= 1.0 - prior[0]
    constraints = [
        pm.average(latency, at_most=random.uniform(0.6, 0.95), name="latency"),
        pm.weights(at_most=random.uniform(0.5, 0.9)),
    ]
    return pm.BoundProblem(
        risks, int(random.integers(30, 80)), 0.05, distance, divergence, prior, constraints=constraints
    )
