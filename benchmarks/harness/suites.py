"""Suites: which problems are given to which solvers, with which settings and time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pacb_models import BoundProblem, TandemProblem
from pacb_models.errors import InputError
from pacb_models.plugins import load, registered
from pacb_models.risk_file import RiskFile, read_risk_file
from pacb_models.solving.registry import available_solvers, capable_solvers, get_solver, solver_identity

from ..problems import forests
from ..problems.families import CONSTRAINED, HARD, Instance, instance, instances
from ..problems.problem import (
    PAPER_DATASETS,
    PAPER_SIZES,
    TABLE_DISTANCES,
    UCI_FAMILY,
    Problem,
    from_file,
    from_table,
    of_risk_file,
    outside_problems,
    synthetic,
    table_problem,
)
from ..problems.starts import numbered_start, takes_start
from ..store import digest
from .measurement import Settings

if TYPE_CHECKING:
    from pacb_models.constraints import Constraint

#: Entry-point group for third parties: a function without arguments that returns a suite.
SUITES_GROUP = "pacb_models.suites"


@dataclass(frozen=True)
class Cell:
    """One measurement: a problem, a solver, its settings and seed; and the start, one of a numbered list."""

    problem: Problem
    solver: str
    settings: Settings = field(default_factory=dict)
    #: Of the solver's own draws, or of the list of starts.
    seed: int | None = None
    start: int | None = None

    @cached_property
    def key(self) -> str:
        """A short name for exactly this measurement, the same in every run."""
        parts = [self.problem.identity, solver_identity(self.solver), self.settings, self.seed]
        return digest(*parts, *([] if self.start is None else [self.start]))

    def options(self, problem: BoundProblem) -> Settings:
        """Keyword arguments for the solver."""
        if self.seed is None:
            return self.settings
        if self.start is None:
            return {**self.settings, "seed": self.seed}
        return {**self.settings, "start": numbered_start(problem, self.seed, self.start)}


@dataclass(frozen=True)
class Suite:
    """Cells to measure, in order, and how."""

    name: str
    description: str
    cells: tuple[Cell, ...]
    #: Seconds after which a cell is ended and its solver charged.
    time_limit: float
    #: Measure peak memory, which takes a new process for every cell.
    measure_memory: bool = False
    #: Once a solver runs out of time, do not try it on larger problems of the family.
    stop_at_limit: bool = False
    #: Writes what the page says beside the measurements, in Markdown.
    remark: Callable[[], str] = str

    def select(self, solvers: Iterable[str] | None = None, problems: str | None = None) -> Suite:
        """The cells of some solvers, and of the problems whose name contains a text."""
        wanted = None if solvers is None else set(solvers)
        for name in wanted or ():
            get_solver(name)
        cells = tuple(
            cell
            for cell in self.cells
            if (wanted is None or cell.solver in wanted) and (problems is None or problems in cell.problem.name)
        )
        for name in sorted((wanted or set()) - {cell.solver for cell in self.cells}):
            first = next(iter(self.cells)).problem
            refusal = get_solver(name).refusal(first.build())
            advice = f"of {first.name}: {refusal}" if refusal else "the help lists suites that have every solver"
            raise InputError("solvers", name, f"the suite {self.name!r} gives it no problem; {advice}")
        if not cells:
            raise InputError(f"no cell of the suite {self.name!r} is left for these solvers and problems.")
        return replace(self, cells=cells)

    def with_starts(self, count: int, seed: int) -> Suite:
        """Every local method from the same ``count`` random posteriors; what has starts of its own, or takes none, as
        it is.
        """
        cells: list[Cell] = []
        for cell in self.cells:
            own = cell.seed is not None or {"start", "starts", "merge"} & cell.settings.keys()
            if own or not takes_start(get_solver(cell.solver)):
                cells.append(cell)
            else:
                cells += [replace(cell, seed=seed, start=number) for number in range(count)]
        description = f"{self.description}; local methods from {count} random starts (seed {seed})"
        return replace(self, description=description, cells=tuple(cells))

    def with_options(self, options: Settings) -> Suite:
        """Every cell with those of the options that its solver has; one that no solver has is refused."""
        taken = {solver: options.keys() & parameters(solver) for solver in {cell.solver for cell in self.cells}}
        for name in sorted(options.keys() - set().union(*taken.values())):
            raise InputError("option", name, f"none of {', '.join(sorted(taken))} has it")
        cells = [
            replace(cell, settings={**cell.settings, **{name: options[name] for name in sorted(taken[cell.solver])}})
            for cell in self.cells
        ]
        # Two settings of a suite may have become the same.
        return replace(self, cells=tuple({cell.key: cell for cell in cells}.values()))

    def installed(self) -> tuple[Suite, dict[str, str]]:
        """The cells of solvers that can run here, and what the others lack."""
        absent = {name: reason for name, reason in available_solvers().items() if not reason.available}
        cells = tuple(cell for cell in self.cells if cell.solver not in absent)
        wanted = {cell.solver for cell in self.cells}
        return replace(self, cells=cells), {name: reason for name, reason in absent.items() if name in wanted}


def parameters(solver: str) -> set[str]:
    """The options that a solver has."""
    return set(get_solver(solver).option_names() or ())


def cells_for(problem: Problem, settings: dict[str, list[tuple[Settings, int | None]]] | None = None) -> list[Cell]:
    """One cell per solver that can handle the problem; ``settings`` lists (options, seed) pairs for some of them."""
    chosen = settings or {}
    return [
        Cell(problem, solver, options, seed)
        for solver in capable_solvers(problem.build())
        for options, seed in chosen.get(solver, [({}, None)])
    ]


def both_ways(cells: list[Cell]) -> list[Cell]:
    """Each cell on the raw problem, and with classifiers of equal risk merged."""
    merged = [replace(cell, settings={**cell.settings, "merge": True}) for cell in cells]
    return [cell for pair in zip(cells, merged, strict=True) for cell in pair]


#: Methods that keep dense matrices, or branch: seconds to minutes where the others take milliseconds.
DENSE = ("slsqp", "trust-constr", "scip")

#: The size up to which the fuller suites ask them.
DENSE_LARGEST = 200

#: Methods that the faster suites do not wait for: those, and one that takes many thousands of steps.
SLOW = (*DENSE, "frank-wolfe")

#: Methods that build an algebraic model first, which takes longer than solving most problems.
MODELLED = ("cvxpy", "ipopt", "dnlp", "casadi")

#: Instances of ``hard`` in the quick suite: one per way to fail, small enough for every solver.
QUICK_HARD = (
    "one-good-07-H50-chi2-squared",
    "one-good-09-H100-chi2-squared",
    "one-good-12-H50-chi2-kl",
    "one-good-17-H20-chi2-kl",
    "staircase-03-H111-chi2-kl",
    "no-errors-12-H200-chi2-kl",
    "natural-01-H2000-renyi3-kl",
)


def without(cells: Iterable[Cell], solvers: Iterable[str]) -> list[Cell]:
    """The cells of all other solvers."""
    return [cell for cell in cells if cell.solver not in solvers]


def table_problems(*counts: int) -> list[Problem]:
    """Nine data sets × three distances × some sizes."""
    return [
        table_problem(dataset, count, distance)
        for count in counts
        for dataset in PAPER_DATASETS
        for distance in TABLE_DISTANCES
    ]


def hard_cells(solvers_left_out: Iterable[str] = (), largest: int | None = None, collection: str = HARD) -> list[Cell]:
    """A frozen collection with every solver but some, up to a size."""
    cells: list[Cell] = []
    for frozen in instances(collection):
        if largest is None or frozen.size <= largest:
            # Which solvers can handle it does not depend on its size, and the largest take a while to build.
            small = replace(frozen.problem, arguments={**frozen.arguments, "count": min(frozen.size, 10_000)})
            cells += [replace(cell, problem=frozen.problem) for cell in cells_for(small)]
    return without(cells, solvers_left_out)


def quick() -> Suite:
    """Nine data sets × three distances × H = 50 and 1990 and a few hard instances; slow methods at H = 50 only."""
    cells = [cell for problem in table_problems(50) for cell in cells_for(problem)]
    for frozen in map(instance, QUICK_HARD):
        cells += without(cells_for(frozen.problem), SLOW if frozen.size > DENSE_LARGEST else ())
    cells += without([cell for problem in table_problems(1990) for cell in cells_for(problem)], SLOW)
    description = (
        "nine UCI data sets, three distances, H = 50 and 1990, and a few hard instances; "
        f"slow methods ({', '.join(SLOW)}) not at 1990"
    )
    return Suite("quick", description, tuple(cells), time_limit=3.0)


def hard() -> Suite:
    """The frozen collection of hard instances, with the solvers that are done in milliseconds."""
    cells = hard_cells(SLOW + MODELLED)
    description = f"{len(instances())} hard instances with certified optima, the fast solvers"
    return Suite("hard", description, tuple(cells), time_limit=2.0)


def constrained() -> Suite:
    """Bounds with constraints on the posterior, every solver that honours them."""
    return Suite(
        "constrained",
        "budgets, caps and small supports with certified optima, H = 4 to 60, every solver that honours them",
        tuple(hard_cells(collection=CONSTRAINED)),
        time_limit=10.0,
    )


def field_suite() -> Suite:
    """Everything: the quick suite's problems and all hard instances, every solver; dense methods on small ones."""
    tables = [cell for problem in table_problems(50, 1990) for cell in both_ways(cells_for(problem))]
    cells = [
        cell
        for cell in (*tables, *hard_cells())
        if cell.solver not in DENSE or (cell.problem.size or 0) <= DENSE_LARGEST
    ]
    description = (
        f"nine UCI data sets (H = 50 and 1990), raw and merged, and {len(instances())} hard instances, every solver; "
        f"dense methods ({', '.join(DENSE)}) up to H = {DENSE_LARGEST}"
    )
    return Suite("field", description, tuple(cells), time_limit=3.0)


def certify_optimum() -> Suite:
    """SCIP's lower bounds against the certified optima: the nine data sets at H = 50, hard instances up to that size.

    Rényi orders are left out: SCIP does not close them in any time that one would wait.
    """
    tables = [cell for problem in table_problems(50) for cell in cells_for(problem)]
    small = [cell for cell in hard_cells(largest=50) if cell.problem.arguments["divergence"] != "renyi"]
    cells = [cell for cell in (*tables, *small) if cell.solver in ("frontier", "scip")]
    description = "the certified optimum against the lower bound of an unrelated global method, H up to 50"
    return Suite("certify-optimum", description, tuple(cells), time_limit=60.0)


def paper() -> Suite:
    """The paper's grid with both constants, 1000 starts of CCP at H = 50, Ipopt from several starts."""
    cells: list[Cell] = []
    for constant in ("exact", "paper"):
        for count in PAPER_SIZES:
            for dataset in PAPER_DATASETS:
                for distance in TABLE_DISTANCES:
                    problem = table_problem(dataset, count, distance, constant)
                    cells += cells_for(problem, {"ipopt": [({}, None), ({"starts": 5}, 0)]})
                    if count == 50 and distance == "kl":
                        cells.append(Cell(problem, "ccp", {"starts": 1000}, 0))
    description = "the paper's grid (nine data sets, five sizes, three distances, both constants), multi-start included"
    return Suite("paper", description, tuple(cells), time_limit=60.0)


def scaling() -> Suite:
    """H = 10² to 10⁷ with synthetic risks, each solver as far as its time limit lets it."""
    cells: list[Cell] = []
    for exponent in range(2, 8):
        for distance, kind in (*((distance, "bound") for distance in TABLE_DISTANCES), ("kl", "direct")):
            arguments = {"count": 10**exponent, "distance": distance, "delta": 0.05, "kind": kind}
            name = f"synthetic-H1e{exponent}-{distance}" + ("" if kind == "bound" else "-direct")
            family = f"synthetic, {distance}" + ("" if kind == "bound" else ", direct")
            problem = Problem(name, family, synthetic, arguments, 10**exponent)
            # Which solvers can handle it does not depend on its size; the small one is cheap to build.
            small = Problem("small", family, synthetic, {**arguments, "count": 10})
            cells += both_ways([Cell(problem, solver) for solver in capable_solvers(small.build())])
    description = "synthetic risks, H = 10² to 10⁷, raw and merged, each solver as far as the time limit lets it"
    return Suite("scaling", description, tuple(cells), time_limit=20.0, measure_memory=True, stop_at_limit=True)


def direct() -> Suite:
    """Direct bounds: nine data sets × distances and divergences × H = 50 and 1990; dense methods at H = 50 only."""
    pairs = [*(("chi2", 2.0, distance) for distance in TABLE_DISTANCES), ("renyi", 1.2, "kl"), ("kl", 2.0, "kl")]
    cells: list[Cell] = []
    for count in (50, 1990):
        for dataset in PAPER_DATASETS:
            for divergence, order, distance in pairs:
                bound = {"distance": distance, "divergence": divergence, "order": order, "delta": 0.01}
                arguments = {"dataset": dataset, "count": count, "kind": "direct", "constant": "one-sided", **bound}
                name = f"{dataset}-H{count}-{distance}-{divergence}-direct"
                problem = Problem(name, UCI_FAMILY, from_table, arguments, count, dataset)
                cells += without(cells_for(problem), DENSE if count > 50 else ())
    description = "bounds without change of measure, one-sided constants: nine UCI data sets, H = 50 and 1990"
    return Suite("direct", description, tuple(cells), time_limit=5.0)


def votes() -> Suite:
    """Bounds for the votes of random forests on scikit-learn's data, three divergences; slow methods at H = 100."""
    cells: list[Cell] = []
    # CasADi writes the H² products of a tandem risk one by one.
    slow = (*DENSE, "casadi")
    for problem in forests.problems():
        bound = {name: problem.arguments[name] for name in ("divergence", "order")}
        capable = capable_solvers(TandemProblem([[0.1]], 10, **bound))
        cells += [Cell(problem, solver) for solver in capable if problem.size == 100 or solver not in slow]
    description = (
        "tandem bounds of forests of 100 and 300 trees, three data sets, KL, χ² and order 3; "
        f"{', '.join(slow)} at H = 100 only"
    )
    return Suite("votes", description, tuple(cells), time_limit=20.0, remark=_about_votes)


def _about_votes() -> str:
    return (
        "## All methods agree; a hold-out certificate of the same vote is far smaller\n\n"
        "New is the proof: the others report a stationary point, as iRProp (here: softmax) does in MajorityVoteBounds. "
        "Limits to the error of the weighted vote, KL and kl, δ = .05; hold-out is Clopper–Pearson's for the vote with "
        f"equal weights, from the same examples.\n\n```text\n{forests.vote_bounds()}\n```"
    )


def starts() -> Suite:
    """Where local methods end, from random starts: a few instances of every hard family, and the paper's own."""
    problems = [frozen.problem for frozen in telling_instances()]
    # Of these the paper says that methods find one stationary point, whatever the start.
    problems += [
        replace(table_problem(dataset, 50, distance, "paper"), family=f"the paper's, {distance}")
        for distance in ("squared", "kl")
        for dataset in PAPER_DATASETS
    ]
    cells = without([cell for problem in problems for cell in cells_for(problem)], SLOW + MODELLED)
    local = [cell for cell in cells if cell.solver == "frontier" or takes_start(get_solver(cell.solver))]
    description = "local methods on a few instances of every hard family and on the paper's own problems, H = 50"
    return Suite("starts", description, tuple(local), time_limit=2.0)


def telling_instances(each: int = 2, largest: int = 60) -> list[Instance]:
    """Of every family a few instances with several minima, one with a single minimum where there are none.

    They have up to ``largest`` classifiers; where only larger ones have several minima, the smallest of those count.
    """
    chosen: list[Instance] = []
    for family in dict.fromkeys(frozen.family for frozen in instances()):
        members = [frozen for frozen in instances() if frozen.family == family]
        limit = max(largest, min((frozen.size for frozen in members if frozen.minima > 1), default=0))
        small = [frozen for frozen in members if frozen.size <= limit]
        several = [frozen for frozen in small if frozen.minima > 1]
        # Not neighbours, which are alike: spread over the list.
        chosen += several[:: max(1, len(several) // each)][:each] or small[:1]
    return chosen


def outside() -> Suite:
    """Problems that other packages register, every solver."""
    cells = [cell for problem in outside_problems() for cell in cells_for(problem)]
    return Suite("outside", "problems registered by other packages", tuple(cells), time_limit=60.0)


def from_files(
    paths: Iterable[str],
    m: int | None,
    distances: Iterable[str],
    limits: Callable[[RiskFile], list[Constraint]] = lambda table: [],
    **bound: Any,
) -> Suite:
    """A user's own risk files and problems as JSON, every solver; the name of a problem tells what is not as usual.

    ``limits`` are the constraints that go with a risk file.
    """
    usual = {"divergence": "chi2", "order": 2.0, "constant": "exact"}
    marks = "".join(f"-{bound[name]}" for name, value in usual.items() if bound.get(name, value) != value)
    cells: list[Cell] = []
    for path in paths:
        if path.endswith(".json"):
            cells += cells_for(from_file(path))
            continue
        content = read_risk_file(path)
        constraints = limits(content)
        for distance in distances:
            name = f"{path}-{distance}{marks}{'-constrained' * bool(constraints)}"
            cells += cells_for(of_risk_file(name, path, content, constraints, m=m, distance=distance, **bound))
    return Suite("files", "risk files: " + ", ".join(map(str, paths)), tuple(cells), time_limit=60.0)


_OURS = {
    "quick": quick,
    "hard": hard,
    "field": field_suite,
    "certify-optimum": certify_optimum,
    "constrained": constrained,
    "paper": paper,
    "direct": direct,
    "votes": votes,
    "scaling": scaling,
    "starts": starts,
    "outside": outside,
}


def suite_lines() -> dict[str, str]:
    """What each suite is, in a line."""
    theirs = {entry.name: f"registered by {entry.value}" for entry in registered(SUITES_GROUP)}
    return {name: (make.__doc__ or name).splitlines()[0] for name, make in _OURS.items()} | theirs


def suite_names() -> list[str]:
    """Names of all suites, ours and registered ones."""
    return [*_OURS, *(entry.name for entry in registered(SUITES_GROUP))]


def suite(name: str) -> Suite:
    """The suite of that name."""
    if name in _OURS:
        return _OURS[name]()
    for entry in registered(SUITES_GROUP):
        if entry.name == name:
            return load(entry, _made)
    raise InputError("suite", name, f"it must be one of {', '.join(map(repr, suite_names()))}")


def _made(make: Any) -> Suite:
    made = make()
    if not isinstance(made, Suite):
        raise TypeError(f"it returned {made!r}, not a Suite")
    return made
