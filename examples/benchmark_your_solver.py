"""Benchmark a solver of your own: exponentiated gradient, against ours, on risks of real classifiers.

    python examples/benchmark_your_solver.py

Twenty-seven problems (nine UCI data sets, three distances, H = 50). Every solver is judged by the same rules: its bound
is recomputed from its weights, "optimal" needs a small KKT residual, and the smallest bound is known with certainty.
For processes that are killed at a time limit, result files and a report, name the file to the harness::

    pacb bench --solvers examples/benchmark_your_solver.py:SOLVER,frontier,ipopt
"""

import numpy as np

import pacb_models as pm
from pacb_models.benchmarks.problems.problem import PAPER_DATASETS
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.solution import Outcome
from pacb_models.solver import Solver


class ExponentiatedGradient(Solver):
    """Multiply each weight by exp(-step × slope); the step halves when the bound rises and doubles when it falls."""

    name = "exponentiated-gradient"
    needs = ("problem.gradient",)

    def run(self, problem: pm.BoundProblem, *, max_iterations: int = 500, tolerance: float = 1e-7) -> Outcome:
        q, step = problem.prior.copy(), 1.0
        for iteration in range(max_iterations):
            if problem.kkt_residual(q) <= tolerance:
                return Outcome(q, "optimal", iterations=iteration)
            slopes = problem.gradient(q)
            while step > 1e-12:
                moved = q * np.exp(-step * (slopes - q @ slopes))
                moved /= moved.sum()
                if problem.bound(moved) < problem.bound(q):
                    q, step = moved, 2.0 * step
                    break
                step *= 0.5
        return Outcome(q, "iteration_limit", "allow more iterations", max_iterations)


SOLVER = ExponentiatedGradient()


def main() -> None:
    """Compare, and print one line per solver and distance."""
    solvers = ["frontier", "fixed-point", "slsqp", SOLVER]
    print(f"{'distance':<9} {'solver':<23} {'optimal':>8} {'correct':>8} {'worst gap':>10} {'seconds':>8}")
    for distance in ("linear", "squared", "kl"):
        tables = []
        for name in PAPER_DATASETS:
            risks = load_risk_table(name)
            problem = pm.BoundProblem(risks.risks(50), m=risks.m, delta=0.05, distance=distance)
            tables.append(pm.cross_check(problem, solvers=solvers))
        for rows in zip(*(table.rows for table in tables), strict=True):
            optimal = sum(row.status == "optimal" for row in rows)
            correct = sum(abs(row.gap) <= 1e-7 for row in rows)
            gap, seconds = max(row.gap for row in rows), sum(row.seconds for row in rows)
            print(f"{distance:<9} {rows[0].solver:<23} {optimal:>6}/9 {correct:>6}/9 {gap:>10.1e} {seconds:>8.3f}")


if __name__ == "__main__":
    main()
