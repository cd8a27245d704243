"""Table 8: the fixed point against 1000 runs of the convex–concave procedure, H = 50, kl distance.

The paper's procedure stands beside what it amounts to, random posteriors without any optimisation, and beside the
one-sided procedure, which does descend.
"""

from __future__ import annotations

from itertools import product

import numpy as np

import pacb_models as pm
from pacb_models import BoundProblem
from pacb_models.solvers.convex.ccp import from_start, subproblem
from pacb_models.solvers.options import Iterative

from ...problems.problem import PAPER_DATASETS
from ...report.tables import NONE, Entry, Group, Table
from ..cells import PRINTED, REPRODUCED, Cells
from ..item import Item
from ..numbers import words
from ..showing import Beside, as_text, named
from ..study import BOTH_HALVES, EXACT, PAPER, VERSIONS, Study, Version

SMALL_SIZE = 50

#: What stands in the paper's column, and the two things beside it.
_METHODS = {"ccp": "paper's CCP", "random": "random posteriors", "one-sided": "one-sided CCP"}

_STATISTICS = ("min", "max", "mean", "sd")


def _fill(study: Study, cells: Cells) -> None:
    places = list(product(PAPER_DATASETS, VERSIONS))
    problems = {place: study.problem(place[0], SMALL_SIZE, "kl", place[1]) for place in places}
    cases = list(product(("ccp", "one-sided", "random"), places))
    tests = {dataset: study.tables[dataset].test_risks(SMALL_SIZE) for dataset in PAPER_DATASETS}
    arguments = [(problems[place], tests[place[0]], method, study.starts, study.seed) for method, place in cases]
    every = study.map("convex–concave procedures", run_method, arguments)
    for (method, (dataset, version)), found in zip(cases, every):
        for quantity, values in found.items():
            summaries = {f"{quantity}_{statistic}": value for statistic, value in statistics_of(values).items()}
            cells.add(version.name, dataset, SMALL_SIZE, method, **summaries)
    for (dataset, version), problem in problems.items():
        solution = pm.solve(problem, "subset-search")
        test_error = study.test_error(dataset, solution.posterior)
        cells.add(version.name, dataset, SMALL_SIZE, "fixed-point", bound=solution.bound, test_error=test_error)
    cells.add(REPRODUCED, "all", starts=study.starts)


def run_method(
    problem: BoundProblem, test_risks: np.ndarray, method: str, starts: int, seed: int
) -> dict[str, np.ndarray]:
    """Bounds, test errors and moves from the same random starts; nothing where the paper's procedure does not exist."""
    # Uniform on the simplex: Dirichlet with all parameters one.
    posteriors = np.random.default_rng(seed).dirichlet(np.ones(problem.size), size=starts)
    if method == "random":
        return {"bound": np.array([problem.bound(q) for q in posteriors]), "test_error": posteriors @ test_risks}
    if method == "ccp" and problem.risks.max() == 0.0:
        # The paper's linearisation needs a posterior with a positive empirical risk.
        return {}
    # Compiled once for all starts.
    solve = subproblem(problem, "paper" if method == "ccp" else "one-sided")
    options = Iterative(tolerance=1e-8, max_iterations=1000).checked(problem)
    outcomes = [from_start(problem, solve, start, options) for start in posteriors]
    histories = [outcome.details["history"] for outcome in outcomes]
    return {
        "bound": np.array([history[-1] for history in histories]),
        "test_error": np.array([outcome.posterior @ test_risks for outcome in outcomes]),
        "decrease": np.array([history[0] - history[-1] for history in histories]),
        "iterations": np.array([float(outcome.iterations or 0) for outcome in outcomes]),
    }


def statistics_of(values: np.ndarray) -> dict[str, float]:
    """Range, mean and the standard deviation as R has it."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean()), "sd": spread}


def _show(cells: Cells) -> list[Table]:
    # The test errors of posteriors found with other risks tell nothing new.
    return [
        *(_panel(cells, "bound", version, "kl bounds") for version in VERSIONS),
        *(_panel(cells, "test_error", version, "Average test errors") for version in (PAPER, EXACT)),
    ]


def _panel(cells: Cells, quantity: str, version: Version, title: str) -> Table:
    fixed_point = Beside((version.name,), compared=quantity == "bound")
    summaries = ["CCP, printed", *(f"{name}, ours" for name in _METHODS.values())]
    columns = (Group(summary, ("range", "mean ± sd")) for summary in summaries)
    groups = (Group("", ("data set",)), fixed_point.group("fixed point"), *columns)
    rows = []
    for dataset in PAPER_DATASETS:
        row = [*named(dataset), *fixed_point.cells(cells[dataset, SMALL_SIZE, "fixed-point", quantity])]
        row += [Entry(text, "printed") for text in _summary(cells, dataset, "ccp", quantity, PRINTED)]
        for method in _METHODS:
            row += map(Entry, _summary(cells, dataset, method, quantity, version.name))
        rows.append(row)
    place = " (Table 8)" if version == PAPER else ""
    risks = "paper's constants, risks on " if version == BOTH_HALVES else ""
    name = f"fp-vs-ccp-{quantity.replace('_', '-')}-{version.name.replace('_', '-')}"
    starts = cells["all", "", "", "starts"][REPRODUCED]
    full_title = f"{title} with {risks}{version.title}, H = 50, {starts} random starts{place}"
    return Table(name, full_title, groups, rows, _notes(cells) if (quantity, version) == ("bound", PAPER) else ())


def _summary(cells: Cells, dataset: str, method: str, quantity: str, version: str) -> tuple[str, str]:
    """Range and mean with the standard deviation; "NA" for both where the paper prints that."""
    values = (cells[dataset, SMALL_SIZE, method, f"{quantity}_{name}"] for name in _STATISTICS)
    least, most, mean, spread = (as_text(value.get(version)) for value in values)
    return (mean, mean) if mean in ("NA", NONE) else (f"[{least}, {most}]", f"{mean} ± {spread}")


def _notes(cells: Cells) -> list[str]:
    places = (cells[dataset, SMALL_SIZE, "ccp", "decrease_max"] for dataset in PAPER_DATASETS)
    largest = max(values[REPRODUCED] for values in places if values)
    return words("fp-vs-ccp", "notes", more=f" by more than {largest:.1e}" if largest else "")


FP_VS_CCP_TABLE = Item("fp-vs-ccp", _fill, uses=("starts", "seed"), show=_show)
