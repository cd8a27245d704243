"""How much faster the convex–concave procedure is with a subproblem compiled once than with one rebuilt at every step.

Both sides run the same iteration with the same stopping rule from the same random starts, in one process and one run:

    python -m benchmarks.speed.ccp [--dataset spambase] [--count 50] [--starts 1000] [--rebuilt-starts 50]

The rebuilt side is what one would write first: a new CVXPY problem, with the numbers in it, at every step. It gets
fewer starts, and the ratio is that of the times per start. Compiling is part of the compiled side's time, once for all
starts; importing CVXPY is part of neither.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.risks import load_risk_table
from pacb_models.algebraic.ccp_subproblems import CONIC_OPTIONS, Point, Step, tangent_ratio
from pacb_models.problem import BoundProblem
from solvers.ccp import Descent, Subproblem, descend, one_sided


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


def run(
    problem: BoundProblem, build: Callable[[BoundProblem], Subproblem], starts: np.ndarray
) -> tuple[float, list[Descent]]:
    """Seconds per start, building included, and the descents."""
    began = time.perf_counter()
    solve = build(problem)
    descents = [descend(problem, solve, start) for start in starts]
    return (time.perf_counter() - began) / len(starts), descents


def describe(name: str, seconds: float, descents: list[Descent]) -> str:
    steps = sum(descent.iterations for descent in descents)
    converged = sum(descent.status == "optimal" for descent in descents)
    return (
        f"  {name:22s} {len(descents):5d} starts, {steps:6d} steps, {converged:5d} converged, "
        f"{seconds * len(descents):7.2f} s, {1e3 * seconds:8.3f} ms per start"
    )


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
        slow, rebuilt_descents = run(problem, rebuilt, starts[: options.rebuilt_starts])
        fast, compiled_descents = run(problem, one_sided, starts)
        pairs = zip(rebuilt_descents, compiled_descents)
        difference = max(abs(a.point.bound - b.point.bound) for a, b in pairs)
        print(f"{options.dataset}, {distance} distance, H = {problem.size}, m = {problem.m}")
        print(describe("rebuilt at every step", slow, rebuilt_descents))
        print(describe("compiled once", fast, compiled_descents))
        print(f"  ratio per start {slow / fast:.1f}; largest difference between their bounds {difference:.1e}")


if __name__ == "__main__":
    main()
