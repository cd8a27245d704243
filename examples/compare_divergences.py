"""Compare divergences on risks of your own: which bound is smallest, at which confidence?

    python examples/compare_divergences.py                    embedded risks of 200 SVMs on Ionosphere
    python examples/compare_divergences.py risks.csv --m 549

The file has one risk per line, or a column ``risk`` (and ``prior``, if there is one), as for ``pacb solve``. The table
is for choosing a bound for *later* data: the smallest number of a table that was computed on the same data does not
hold with its nominal confidence. The last line shows what does.
"""

import argparse

import pacb_models as pm
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.risk_file import read_risk_file
from pacb_models.wording import at_most

#: (label, arguments of the problem)
BOUNDS = [
    ("chi2, squared", {"divergence": "chi2", "distance": "squared"}),
    ("chi2, kl", {"divergence": "chi2", "distance": "kl"}),
    ("Rényi 1.5, kl", {"divergence": "renyi", "order": 1.5, "distance": "kl"}),
    ("Rényi 1.2, kl", {"divergence": "renyi", "order": 1.2, "distance": "kl"}),
    ("KL, kl", {"divergence": "kl", "distance": "kl"}),
    ("KL, Pinsker", {"divergence": "kl", "distance": "pinsker"}),
]
DELTAS = (0.1, 0.05, 0.01, 0.001)


def main() -> None:
    """Minimise every bound at every confidence, and print bounds and supports."""
    parser = argparse.ArgumentParser(description="Compare PAC-Bayesian bounds on the same risks.")
    parser.add_argument("risks", nargs="?", help="a risk file; embedded risks of Ionosphere by default")
    parser.add_argument("--m", type=int, help="number of examples on which each risk was measured")
    options = parser.parse_args()
    if options.risks and not options.m:
        parser.error("a risk file needs --m, the number of examples on which each risk was measured")
    if options.risks:
        content = read_risk_file(options.risks)
        problem = pm.BoundProblem(content.values, m=options.m, prior=content.prior)
    else:
        table = load_risk_table("ionosphere")
        problem = pm.BoundProblem(table.risks(200), m=table.m)

    print(f"{problem.size} classifiers on {problem.m} examples; smallest risk {problem.risks.min():.4f}\n")
    print(f"{'bound':<14}" + "".join(f"{'δ = ' + str(delta):>18}" for delta in DELTAS))
    for label, bound in BOUNDS:
        solutions = [pm.solve(problem.replace(delta=delta, **bound)) for delta in DELTAS]
        cells = [f"{at_most(solution.bound)} ({solution.support_size})" for solution in solutions]
        print(f"{label:<14}" + "".join(f"{cell:>18}" for cell in cells))
    print("\nIn brackets, the number of classifiers with weight.")

    count = len(BOUNDS)
    smallest = min(pm.solve(problem.replace(delta=0.05 / count, **bound)).bound for _, bound in BOUNDS)
    print(
        f"With probability at least 0.95 all {count} hold together at δ = 0.05/{count}; "
        f"the smallest is {at_most(smallest)}."
    )


if __name__ == "__main__":
    main()
