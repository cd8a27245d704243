"""The certified minimum under constraints against others: SCIP, and Ipopt from many starts, on random problems.

    python -m pacb_models.benchmarks.studies.constrained [--count 500] [--seconds 3] [--out FILE.csv [--resume]]

Rows, caps and floors on 3 to 12 classifiers, every distance with χ², the KL divergence and order 3, one good classifier
among poor ones in a third. A line for each problem says what each found. Nothing may contradict: no posterior of
theirs is below our lower bound, ours is not above theirs by 1e-6, and SCIP's own lower bound is not above our minimum.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd

import pacb_models as pm
from pacb_models.commands.program import answered
from pacb_models.solving.judging import CLAIMS, REFUTES

from .kept_rows import KeptRows, Rows, options_for

COMBINATIONS = [
    (distance, divergence) for divergence in ("chi2", "kl", "renyi") for distance in ("kl", "squared", "linear")
]
#: By how much a claimed minimum may be above another's.
CLAIMED = 1e-6
#: Starts of Ipopt: the prior, and random posteriors.
STARTS = 10

STUDY = KeptRows("constrained", 1, ("seed", "seconds"))


def random_problem(seed: int) -> pm.BoundProblem:
    """A problem whose constraints a random posterior keeps; the prior breaks some of them."""
    random = np.random.default_rng(seed)
    (distance, divergence), size = COMBINATIONS[seed % len(COMBINATIONS)], int(random.integers(3, 13))
    risks = random.beta(2.0, 8.0, size)
    if seed // len(COMBINATIONS) % 3 == 0:
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


def by_everybody(seed: int, seconds: float) -> Rows:
    """What ours, SCIP and Ipopt found on one problem, and what contradicts."""
    problem = random_problem(seed)
    ours = pm.solve(problem, "frontier")
    scip = pm.solve(problem, "scip", time_limit=seconds)
    ipopt = pm.solve(problem, "ipopt", starts=STARTS, seed=seed, time_limit=seconds)
    row: dict[str, object] = {"seed": seed, "problem": f"{problem.divergence}-{problem.distance}", "size": problem.size}
    row |= {"bound": ours.bound, "lower_bound": ours.lower_bound, "global": ours.is_global}
    for other in (scip, ipopt):
        row |= {other.solver: other.bound, f"{other.solver}_status": other.status}
    row["scip_lower_bound"] = scip.claimed_lower_bound
    return [row | {"contradictions": "; ".join(what_contradicts(ours, (scip, ipopt)))}]


def what_contradicts(ours: pm.Solution, others: Iterable[pm.Solution]) -> list[str]:
    """What cannot be, if the certificate is right and the others' claims are."""
    found = [] if ours.is_global and ours.lower_bound is not None else ["ours is open"]
    for other in others:
        # A bound is that of weights which were moved into the set, whatever the method says of them.
        if other.bound < (ours.lower_bound or 0.0) - REFUTES:
            found.append(f"{other.solver} is below our lower bound")
        if other.status in CLAIMS and ours.bound > other.bound + CLAIMED:
            found.append(f"ours is above {other.solver}")
        if other.claimed_lower_bound is not None and other.claimed_lower_bound > ours.bound + REFUTES:
            found.append(f"the lower bound of {other.solver} is above our minimum")
    return found


def counts_of(rows: pd.DataFrame) -> str:
    """The counts, for reading."""
    closed, claimed = rows["scip_status"] == "optimal", rows["ipopt_status"].isin(CLAIMS)
    far, missed = rows["scip_lower_bound"] < rows["bound"] - 1e-5, rows["ipopt"] > rows["bound"] + CLAIMED
    wrong = rows[rows["contradictions"].fillna("") != ""]
    lines = [
        f"{len(rows)} problems, {int(rows['global'].sum())} certified",
        f"SCIP closed {int(closed.sum())}, its lower bound within 1e-5 on {int((closed & ~far).sum())} of them",
        f"Ipopt from {STARTS} starts claims {int(claimed.sum())}, above the minimum on {int((claimed & missed).sum())}",
        f"{len(wrong)} contradictions" + "".join(f"\n  {row.seed}: {row.contradictions}" for row in wrong.itertuples()),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Solve what is missing and print the counts."""
    seconds = {"type": float, "default": 3.0, "help": "for each of the others on each problem"}
    options = options_for(__doc__, arguments, 500, of="count", seconds=seconds)
    print(counts_of(STUDY.table(options, product(options.seeds, [options.seconds]), by_everybody)))
    return 0


if __name__ == "__main__":
    sys.exit(answered("constrained", main))
