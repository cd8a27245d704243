"""The table of solvers in the README, from the measurements behind docs/field.md.

python tools/solver_table.py      writes the table between the marks in README.md
"""

import re
from pathlib import Path

import pandas as pd

from pacb_models.benchmarks.harness.results import load_results
from pacb_models.benchmarks.problems.families import FAMILIES
from pacb_models.benchmarks.report.details import milliseconds
from pacb_models.benchmarks.report.tables import pipes
from pacb_models.benchmarks.verdict import Judged

ROOT = Path(__file__).resolve().parent.parent
MARKS = re.compile(r"(<!-- solvers -->\n).*?(<!-- end of solvers -->)", re.DOTALL)

#: What each method is, whose software it runs, and what it finds.
METHODS = {
    "frontier": ("search along the frontier", "NumPy", "global, proven"),
    "scip": ("branch and bound", "SCIP", "global"),
    "fixed-point": ("the paper's fixed point", "NumPy", "local"),
    "subset-search": ("the paper's Algorithm 1 (χ²)", "NumPy", "local"),
    "ipopt": ("interior point, Pyomo model", "Pyomo, Ipopt", "local"),
    "ccp": ("convex–concave procedure (χ²)", "Clarabel", "local"),
    "cyipopt": ("interior point, own derivatives", "cyipopt", "local"),
    "casadi": ("interior point, CasADi model", "CasADi", "local"),
    "dnlp": ("interior point, CVXPY model", "CVXPY", "local"),
    "mirror": ("mirror descent", "NumPy", "local"),
    "spg": ("spectral projected gradient", "NumPy", "local"),
    "lbfgsb": ("quasi-Newton", "SciPy", "local"),
    "softmax": ("quasi-Newton on logits", "SciPy", "local"),
    "frank-wolfe": ("pairwise Frank–Wolfe", "NumPy", "local"),
    "slsqp": ("sequential quadratic program", "SciPy", "local"),
    "trust-constr": ("trust region", "SciPy", "local"),
    "cvxpy": ("second-order cone program", "CVXPY", "convex only"),
}


def solver_table(results: pd.DataFrame) -> str:
    """The rows of the hard collection as a Markdown table, one line for each solver."""
    hard = results[results["family"].isin(FAMILIES)].assign(machine="")
    lines = Judged(hard).by_solver.set_index("method")
    rows = [
        pipes([f"`{name}`", *METHODS[name], f"{line.found:.0f}/{line.runs:.0f}", milliseconds(line["median"])])
        for name, line in sorted(lines.iterrows(), key=lambda item: list(METHODS).index(item[0]))
    ]
    head = [pipes(["keyword", "method", "library", "minimum", "found", "ms"]), "|---|---|---|---|---|---:|"]
    return "\n".join([*head, *rows]) + "\n"


if __name__ == "__main__":
    table = solver_table(load_results(ROOT / "docs" / "field"))
    readme = ROOT / "README.md"
    readme.write_text(MARKS.sub(rf"\g<1>\n{table}\n\g<2>", readme.read_text(encoding="utf-8")), encoding="utf-8")
