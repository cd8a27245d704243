"""Problems with rows, caps and floors that a known posterior keeps, and brute force over supports."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

import pacb_models as pm

from ..drawn import arrays

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


shares = st.floats(0.0, 1.0, allow_subnormal=False)


@st.composite
def sets(draw, largest=8):
    """Risks, a prior, values of two rows, a posterior that all rows keep, and how far from it the limits are."""
    size = draw(st.integers(2, largest))
    prior, inside = draw(arrays(st.floats(0.05, 1.0), size)), draw(arrays(st.floats(0.01, 1.0), size))
    risks, *rows = (draw(arrays(shares, size)) for _ in range(3))
    return risks, prior / prior.sum(), rows, inside / inside.sum(), draw(st.floats(0.001, 0.2))


def limited(given_set, distance, divergence, order=2.0, m=100):
    """The problem of such a set: both rows, caps and floors."""
    risks, prior, rows, inside, slack = given_set
    limits = [pm.average(row, at_most=float(row @ inside) + slack, name=f"row {k}") for k, row in enumerate(rows)]
    limits.append(pm.weights(at_most=np.minimum(inside + 2.0 * slack, 1.0), at_least=0.2 * inside))
    return pm.BoundProblem(risks, m, 0.05, distance, divergence, prior, order=order, constraints=limits)


def best_of_supports(problem, solver="frontier", **options):
    """The smallest bound under a limit on the support: over all that it allows, in decimals, and no other contains."""
    [limit] = [each for each in problem.constraints if each.kind == "support"]
    sizes = [Fraction(1)] * problem.size if limit.sizes is None else [Fraction(repr(x)) for x in limit.sizes.tolist()]
    total = limit.at_most if limit.sizes is None else Fraction(repr(float(limit.total)))
    every = (held for count in range(1, problem.size + 1) for held in combinations(range(problem.size), count))
    allowed = [held for held in every if sum(sizes[i] for i in held) <= total]
    others = [each for each in problem.constraints if each.kind != "support"]
    best = math.inf
    for held in allowed:
        if any(set(held) < set(other) for other in allowed):
            continue
        caps = pm.weights(at_most=np.isin(np.arange(problem.size), held).astype(float))
        try:
            alone = problem.replace(constraints=[*others, caps])
        except pm.InputError:  # this support cannot carry the rows
            continue
        best = min(best, pm.solve(alone, solver, **options).bound)
    return best
