"""Table 8: the fixed point against 1000 runs of the convex–concave procedure, H = 50, kl distance.

The paper's procedure stands beside what it amounts to, random posteriors without any optimisation, and beside the
one-sided procedure, which does descend.
"""

from __future__ import annotations

import numpy as np

import pacb_models as pm
from pacb_models import BoundProblem
from pacb_models.solvers.convex.ccp import from_start, subproblem
from pacb_models.solvers.options import Iterative

from ...problems.problem import PAPER_DATASETS
from ...report.tables import NONE, Entry, Group, Table
from ..cells import PRINTED, REPRODUCED, Cells
from ..item import TableItem
from ..numbers import words
from ..showing import Beside, as_text, named
from ..study import BOTH_HALVES, EXACT, PAPER, VERSIONS, Study, Version

SMALL_SIZE = 50

#: What stands in the paper's column, and the two things beside it.
_METHODS = {"ccp": "paper's CCP", "random": "random posteriors", "one-sided": "one-sided CCP"}

_STATISTICS = ("min", "max", "mean", "sd")


def _fill(study: Study, cells: Cells) -> None:
    problems = {
        (dataset, version): study.problem(dataset, SMALL_SIZE, "kl", version)
        for dataset in PAPER_DATASETS
        for version in VERSIONS
    }
    cases = [(method, *place) for method in ("ccp", "one-sided", "random") for place in problems]
    arguments = [
        (problems[dataset, version], study.tables[dataset].test_risks(SMALL_SIZE), method, study.starts, study.seed)
        for method, dataset, version in cases
    ]
    for (method, dataset, version), found in zip(cases, study.map("convex–concave procedures", run_method, arguments)):
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
    if method == "random":
        posteriors = random_starts(problem, starts, seed)
        return {"bound": np.array([problem.bound(q) for q in posteriors]), "test_error": posteriors @ test_risks}
    if method == "ccp" and problem.risks.max() == 0.0:
        # The paper's linearisation needs a posterior with a positive empirical risk.
        return {}
    # Compiled once for all starts.
    solve = subproblem(problem, "paper" if method == "ccp" else "one-sided")
    options = Iterative(tolerance=1e-8, max_iterations=1000).checked(problem)
    outcomes = [from_start(problem, solve, start, options) for start in random_starts(problem, starts, seed)]
    histories = [outcome.details["history"] for outcome in outcomes]
    return {
        "bound": np.array([history[-1] for history in histories]),
        "test_error": np.array([outcome.posterior @ test_risks for outcome in outcomes]),
        "decrease": np.array([history[0] - history[-1] for history in histories]),
        "iterations": np.array([float(outcome.iterations or 0) for outcome in outcomes]),
    }


def random_starts(problem: BoundProblem, starts: int, seed: int) -> np.ndarray:
    """Posteriors that are uniform on the simplex: Dirichlet with all parameters one."""
    return np.random.default_rng(seed).dirichlet(np.ones(problem.size), size=starts)


def statistics_of(values: np.ndarray) -> dict[str, float]:
    """Range, mean and the standard deviation as R has it."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean()), "sd": spread}


def _show(cells: Cells) -> list[Table]:
    starts = cells["all", "", "", "starts"][REPRODUCED]
    # The test errors of posteriors found with other risks tell nothing new.
    return [
        *(_panel(cells, "bound", version, "kl bounds", starts) for version in VERSIONS),
        *(_panel(cells, "test_error", version, "Average test errors", starts) for version in (PAPER, EXACT)),
    ]


def _panel(cells: Cells, quantity: str, version: Version, title: str, starts: int) -> Table:
    fixed_point = Beside((version.name,), compared=quantity == "bound")
    summaries = ["CCP, printed", *(f"{name}, ours" for name in _METHODS.values())]
    groups = (
        Group("", ("data set",)),
        fixed_point.group("fixed point"),
        *(Group(summary, ("range", "mean ± sd")) for summary in summaries),
    )
    rows = []
    for dataset in PAPER_DATASETS:
        row = [*named(dataset), *fixed_point.cells(cells[dataset, SMALL_SIZE, "fixed-point", quantity])]
        rows.append([*row, *_summaries(cells, dataset, quantity, version)])
    place = " (Table 8)" if version == PAPER else ""
    risks = "paper's constants, risks on " if version == BOTH_HALVES else ""
    name = f"fp-vs-ccp-{quantity.replace('_', '-')}-{version.name.replace('_', '-')}"
    full_title = f"{title} with {risks}{version.title}, H = 50, {starts} random starts{place}"
    return Table(name, full_title, groups, rows, _notes(cells) if (quantity, version) == ("bound", PAPER) else ())


def _summaries(cells: Cells, dataset: str, quantity: str, version: Version) -> list[Entry]:
    def texts(method: str, version: str) -> tuple[str, str]:
        places = {name: cells[dataset, SMALL_SIZE, method, f"{quantity}_{name}"] for name in _STATISTICS}
        return _range_and_mean({name: as_text(values.get(version)) for name, values in places.items()})

    printed = [Entry(text, "printed") for text in texts("ccp", PRINTED)]
    return printed + [Entry(text) for method in _METHODS for text in texts(method, version.name)]


def _range_and_mean(texts: dict[str, str]) -> tuple[str, str]:
    if texts["mean"] in ("NA", NONE, ""):
        return texts["mean"] or NONE, texts["mean"] or NONE
    return f"[{texts['min']}, {texts['max']}]", f"{texts['mean']} ± {texts['sd']}"


def _notes(cells: Cells) -> list[str]:
    places = (cells[dataset, SMALL_SIZE, "ccp", "decrease_max"] for dataset in PAPER_DATASETS)
    largest = max(values[REPRODUCED] for values in places if values)
    more = f" by more than {largest:.1e}" if largest else ""
    return words("fp-vs-ccp", "notes", more=more)


FP_VS_CCP_TABLE = TableItem("fp-vs-ccp", _fill, uses=("starts", "seed"), show=_show)
