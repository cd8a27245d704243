"""The certified minimum of random problems with constraints, against SCIP and Ipopt from many starts."""

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.solving.judging import CLAIMS, REFUTES

COMBINATIONS = [
    (distance, divergence) for divergence in ("chi2", "kl", "renyi") for distance in ("kl", "squared", "linear")
]
#: By how much a claimed minimum may be above another's.
CLAIMED = 1e-6
#: One of each pair of distance and divergence, from all over 500 seeds.
SEEDS = [place + len(COMBINATIONS) * (6 * place + 1) for place in range(len(COMBINATIONS))]


def random_problem(seed: int) -> pm.BoundProblem:
    """A problem whose constraints a random posterior keeps; the prior breaks some of them."""
    random = np.random.default_rng(seed)
    (distance, divergence), size = COMBINATIONS[seed % len(COMBINATIONS)], int(random.integers(3, 13))
    risks = random.beta(2.0, 8.0, size)
    if seed // len(COMBINATIONS) % 3 == 0:
        # One good classifier among poor ones.
        risks = np.append(random.uniform(0.0, 0.03), random.uniform(0.22, 0.4, size - 1))
    inside, prior = random.dirichlet(np.full(size, 1.5)), random.dirichlet(np.full(size, 3.0))
    constraints: list[pm.constraints.Constraint] = []
    for number in range(int(random.integers(1, 4))):
        # Good classifiers cost more, in units of their own.
        costs = 10.0 ** random.uniform(-3, 3) * (random.uniform(0.0, 1.0, size) + 1.0 - risks)
        room = float(costs @ inside) + random.choice([0.0, 0.05]) * float(np.ptp(costs))
        constraints.append(pm.average(costs, at_most=room, name=f"cost {number}"))
    if random.random() < 0.6:
        constraints.append(pm.weights(at_most=float(inside.max()) + 0.05, at_least=random.choice([0.0, 0.1]) * inside))
    m, order = int(10.0 ** random.uniform(1.5, 3.5)), 3.0 if divergence == "renyi" else 2.0
    return pm.BoundProblem(risks, m, 0.05, distance, divergence, prior, order=order, constraints=constraints)


@pytest.mark.outside
def test_nobody_contradicts():
    closed = reached = 0
    for seed in SEEDS:
        problem = random_problem(seed)
        ours = pm.solve(problem, "frontier")
        assert ours.is_global, seed
        scip = pm.solve(problem, "scip", time_limit=3.0)
        ipopt = pm.solve(problem, "ipopt", starts=10, seed=seed, time_limit=3.0)
        local = [pm.solve(problem, name, starts=4, seed=seed) for name in ("fixed-point", "cyipopt")]
        for other in (scip, ipopt, *local):
            # A bound is that of weights which were moved into the set, whatever the method says of them.
            assert other.bound >= ours.lower_bound - REFUTES, (seed, other.solver)
            assert other.status not in CLAIMS or ours.bound <= other.bound + CLAIMED, (seed, other.solver)
        assert scip.claimed_lower_bound is None or scip.claimed_lower_bound <= ours.bound + REFUTES, seed
        closed, reached = closed + (scip.status == "optimal"), reached + (ipopt.bound <= ours.bound + CLAIMED)
    # The others have something to say.
    assert closed >= 3 and reached >= 6


@pytest.mark.parametrize("seed", [103, 490])
def test_steep_lines_at_the_end_do_not_spoil_the_proof(seed):
    solution = pm.solve(random_problem(seed), "frontier")
    assert solution.is_global
    assert "gap" not in solution.message
