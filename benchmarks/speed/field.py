"""The field of solvers on random problems of all eleven kinds: how often each finds the certified minimum.

    python benchmarks/speed/field.py                            12 problems of each kind, every solver but the slow ones
    python benchmarks/speed/field.py --solvers mirror,scip --rounds 2 --largest 30
    python benchmarks/speed/field.py --size 1000000             first-order methods beside frontier at one size

Classifiers of equal risk are not merged. Seconds include building a model; medians over the problems.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

import pacb_models as pm
from pacb_models.registry import get_solver

KINDS = [(divergence, distance) for divergence, names in get_solver("cyipopt").handles.items() for distance in names]
DEFAULT = "mirror,spg,lbfgsb,frank-wolfe,softmax,cyipopt,ipopt,casadi,dnlp"
FIRST_ORDER = "frontier,mirror,spg,lbfgsb"


def random_problem(divergence: str, distance: str, seed: list[int], largest: int) -> pm.BoundProblem:
    """Up to ``largest`` classifiers; m, δ, the prior and the spread of the risks at random."""
    rng = np.random.default_rng(seed)
    H = int(np.exp(rng.uniform(np.log(2), np.log(largest))))
    m = int(np.exp(rng.uniform(np.log(20), np.log(5000))))
    true = np.clip(rng.normal(rng.uniform(0.0, 0.5), rng.choice([0.01, 0.05, 0.2]), H), 0.0, 1.0)
    prior = None
    if rng.random() < 0.5:
        prior = np.maximum(rng.dirichlet(np.full(H, rng.choice([0.3, 1.0, 10.0]))), 1e-12)
        prior /= prior.sum()
    order = float(rng.choice([1.1, 1.5, 3.0, 6.0])) if divergence == "renyi" else 2.0
    delta = float(rng.choice([0.01, 0.05, 0.2]))
    return pm.BoundProblem(rng.binomial(m, true) / m, m, delta, distance, divergence, prior, order=order)


def problems(rounds: int, largest: int) -> Iterator[pm.BoundProblem]:
    """So many problems of every kind, always the same ones."""
    for k in range(rounds):
        for j, (divergence, distance) in enumerate(KINDS):
            yield random_problem(divergence, distance, [k, j], largest)


class Tally:
    """What one solver made of the problems."""

    def __init__(self) -> None:
        self.solutions: list[pm.Solution] = []
        self.gaps: list[float] = []
        #: Ends in another local minimum, to its last digits: no failure of a method that is local.
        self.elsewhere = 0

    def add(self, solution: pm.Solution, certified: pm.Solution) -> None:
        gap = solution.bound - certified.bound
        self.solutions.append(solution)
        self.gaps.append(gap)
        if gap > 1e-9 and any(abs(other.bound - solution.bound) < 1e-9 for other in certified.local_minima):
            self.elsewhere += 1

    def cells(self) -> list[str]:
        gaps = np.array(self.gaps)
        slopes = [s.details["gradient_evaluations"] for s in self.solutions if "gradient_evaluations" in s.details]
        return [
            str(gaps.size),
            str(np.count_nonzero(gaps <= 1e-9)),
            str(np.count_nonzero(gaps <= 1e-6)),
            f"{gaps.max():.0e}",
            str(self.elsewhere),
            str(sum(solution.status == "optimal" for solution in self.solutions)),
            _median([s.iterations for s in self.solutions if s.iterations is not None]),
            _median(slopes),
            f"{np.median([s.seconds + s.setup_seconds for s in self.solutions]):.4f}",
        ]


COLUMNS = (
    "solver",
    "problems",
    "<=1e-9",
    "<=1e-6",
    "largest",
    "elsewhere",
    "optimal",
    "iterations",
    "slopes",
    "seconds",
)


def campaign(names: list[str], rounds: int, largest: int, seconds: float) -> None:
    """Print, per solver, how many gaps are below 1e-9 and 1e-6, the largest gap, and medians of the effort."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    for problem in problems(rounds, largest):
        certified = pm.solve(problem, "frontier")
        for name in names:
            if get_solver(name).unsupported(problem) is None:
                tallies[name].add(pm.solve(problem, name, merge=False, time_limit=seconds), certified)
    for line in [COLUMNS, *((name, *tally.cells()) for name, tally in tallies.items())]:
        print(f"{line[0]:<12}" + "".join(f"{cell:>11}" for cell in line[1:]), flush=True)


def _median(values: list[int]) -> str:
    return f"{np.median(values):.0f}" if values else "-"


def at_one_size(names: list[str], size: int) -> None:
    """Print gap, slopes and seconds of each solver on one large problem of each divergence."""
    rng = np.random.default_rng(0)
    risks = rng.beta(8.0, 40.0, size)
    for divergence, distance in (("chi2", "squared"), ("chi2", "kl"), ("kl", "kl")):
        problem = pm.BoundProblem(risks, 1000, 0.05, distance, divergence)
        certified = pm.solve(problem, "frontier").bound
        for name in names:
            if get_solver(name).unsupported(problem) is None:
                runs = [pm.solve(problem, name) for _ in range(3)]
                slopes = runs[0].details.get("gradient_evaluations", "-")
                gap, best = runs[0].bound - certified, min(run.seconds for run in runs)
                print(
                    f"{divergence:<5} {distance:<8} {name:<9} gap {gap:8.1e}  slopes {slopes!s:>4}  seconds {best:.4f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solvers", help="names, separated by commas")
    parser.add_argument("--rounds", type=int, default=12, help="problems of each of the eleven kinds")
    parser.add_argument("--largest", type=int, default=2000, help="number of classifiers at most")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of each run")
    parser.add_argument("--size", type=int, help="no campaign, but first-order methods at this number of classifiers")
    options = parser.parse_args()
    if options.size:
        at_one_size((options.solvers or FIRST_ORDER).split(","), options.size)
    else:
        campaign((options.solvers or DEFAULT).split(","), options.rounds, options.largest, options.seconds)


if __name__ == "__main__":
    main()
