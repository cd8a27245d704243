"""How much faster the convex–concave procedure is with a subproblem compiled once than with one rebuilt at every step.

Both sides run the same iteration with the same stopping rule from the same random starts, one process, one thread:

    python -m pacb_models.benchmarks.speed.ccp [--dataset spambase] [--count 50] [--starts 1000] [--rebuilt-starts 50]

The rebuilt side is what one would write first: a new CVXPY problem, with the numbers in it, at every step. It gets
fewer starts, and the ratio is that of the times per start. Compiling is part of the compiled side's time, once for all
starts; importing CVXPY is part of neither. The processor's time is printed too, as other work disturbs it less.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pacb_models.algebraic.ccp_subproblems import CONIC_OPTIONS, Point, Step, tangent_ratio
from pacb_models.benchmarks.risks import load_risk_table
from pacb_models.problem import BoundProblem
from pacb_models.solvers.convex.ccp import Descent, Subproblem, descend, one_sided


def rebuilt(problem: BoundProblem) -> Subproblem:
    """The one-sided subproblem as a new CVXPY problem at every step."""
    import cvxpy as cp

    options = {name: value for name, value in CONIC_OPTIONS.items() if name != "verbose"}

    def solve(point: Point, seconds: float) -> Step:
        q = cp.Variable(problem.size)
        norm = cp.norm(cp.multiply(1.0 / np.sqrt(problem.prior), q), 2)
        objective = problem.risks @ q + tangent_ratio(problem, point) * norm
        model = cp.Problem(cp.Minimize(objective), [cp.sum(q) == 1.0, q >= 0.0])
        value = model.solve(cp.CLARABEL, **options)
        # Weights from the optimal value, as the compiled side reads them: both then take the same steps.
        weights = problem.prior * np.maximum(value - problem.risks, 0.0)
        return Step(weights / weights.sum(), model.status)

    return solve


class Measured(NamedTuple):
    """The descents of one side, and what each start took on average, building included."""

    descents: list[Descent]
    seconds: float
    processor_seconds: float

    def __str__(self) -> str:
        steps = sum(descent.iterations for descent in self.descents)
        converged = sum(descent.status == "optimal" for descent in self.descents)
        return (
            f"{len(self.descents):5d} starts, {converged} converged, {steps} steps; "
            f"per start {1e3 * self.seconds:.2f} ms, of the processor's time {1e3 * self.processor_seconds:.2f} ms"
        )


def measure(problem: BoundProblem, build: Callable[[BoundProblem], Subproblem], starts: np.ndarray) -> Measured:
    began, processor_began = time.perf_counter(), time.process_time()
    solve = build(problem)
    descents = [descend(problem, solve, start) for start in starts]
    seconds, processor_seconds = time.perf_counter() - began, time.process_time() - processor_began
    return Measured(descents, seconds / len(starts), processor_seconds / len(starts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="spambase")
    parser.add_argument("--count", type=int, default=50, help="number of classifiers (50)")
    parser.add_argument("--starts", type=int, default=1000)
    parser.add_argument("--rebuilt-starts", type=int, default=50)
    options = parser.parse_args()

    import cvxpy  # noqa: F401  (its second of import time belongs to neither side)

    # The tolerances ask for more than Clarabel always reaches; whether it was enough, the bounds show.
    warnings.filterwarnings("ignore", message="Solution may be inaccurate")

    table = load_risk_table(options.dataset)
    for distance in ("kl", "squared"):
        problem = BoundProblem(table.risks(options.count), m=table.m, delta=0.01, distance=distance)
        starts = np.random.default_rng(0).dirichlet(np.ones(problem.size), size=options.starts)
        slow = measure(problem, rebuilt, starts[: options.rebuilt_starts])
        fast = measure(problem, one_sided, starts)
        difference = max(abs(a.point.bound - b.point.bound) for a, b in zip(slow.descents, fast.descents))
        print(f"{options.dataset}, {distance} distance, H = {problem.size}, m = {problem.m}")
        print(f"  rebuilt at every step: {slow}")
        print(f"  compiled once:         {fast}")
        print(f"  ratio per start {slow.seconds / fast.seconds:.1f}, of the processor's time ", end="")
        print(f"{slow.processor_seconds / fast.processor_seconds:.1f}; bounds differ by at most {difference:.1e}")


if __name__ == "__main__":
    main()
