"""Suites: which problems are given to which solvers, with which settings and time limit; and problems by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from pacb_models import BoundProblem, TandemProblem
from pacb_models.errors import InputError, SolverUnavailableError
from pacb_models.names import CONSTANTS
from pacb_models.plugins import load, registered
from pacb_models.risk_file import RiskFile, read_risk_file
from pacb_models.solving.registry import available_solvers, capable_solvers, get_solver, solver_identity

from ..problems import forests
from ..problems.families import CONSTRAINED, HARD, Instance, every_instance, instance, instances
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
        """Return keyword arguments for the solver."""
        if self.seed is None or self.start is None:
            return self.settings | ({} if self.seed is None else {"seed": self.seed})
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
        """Return the cells of some solvers, and of the problems whose name contains a text."""
        known = {cell.solver for cell in self.cells}
        wanted = known if solvers is None else set(solvers)
        for name in sorted(wanted - known if known else ()):
            first = self.cells[0].problem
            refusal = get_solver(name).refusal(first.build())
            advice = f"of {first.name}: {refusal}" if refusal else "the help lists suites that have every solver"
            raise InputError("solvers", name, f"the suite {self.name!r} gives it no problem; {advice}")
        cells = tuple(cell for cell in self.cells if cell.solver in wanted and (problems or "") in cell.problem.name)
        if not cells:
            raise InputError(f"no cell of the suite {self.name!r} is left for these solvers and problems.")
        return replace(self, cells=cells)

    def with_starts(self, count: int, seed: int) -> Suite:
        """Return every local method from the same ``count`` posteriors; what has its own, or takes none, as it is."""
        cells: list[Cell] = []
        for cell in self.cells:
            own = cell.seed is not None or {"start", "starts", "merge"} & cell.settings.keys()
            kept = own or not takes_start(get_solver(cell.solver))
            cells += [cell] if kept else [replace(cell, seed=seed, start=number) for number in range(count)]
        description = f"{self.description}; local methods from {count} random starts (seed {seed})"
        return replace(self, description=description, cells=tuple(cells))

    def with_options(self, options: Settings) -> Suite:
        """Return every cell with those of the options that its solver has; one that no solver has is refused."""
        solvers, cells = sorted({cell.solver for cell in self.cells}), {}
        known = {solver: options.keys() & set(get_solver(solver).option_names() or ()) for solver in solvers}
        for name in sorted(options.keys() - set().union(*known.values())):
            raise InputError("option", name, f"none of {', '.join(solvers)} has it")
        for cell in self.cells:
            taken = {name: options[name] for name in sorted(known[cell.solver])}
            changed = replace(cell, settings={**cell.settings, **taken})
            # Two settings of a suite may have become the same.
            cells[changed.key] = changed
        return replace(self, cells=tuple(cells.values()))

    def installed(self, tell: Callable[[str], None]) -> Suite:
        """Return the cells of solvers that can run here; the others are told of, and are no failures."""
        solvers = {cell.solver for cell in self.cells}
        absent = {name: why for name, why in available_solvers().items() if name in solvers and not why.available}
        for name, why in absent.items():
            tell(f"left out: {name}, which cannot run here ({why})")
        if absent.keys() == solvers:
            raise SolverUnavailableError(f"none of the solvers can run here: {', '.join(absent)}")
        return replace(self, cells=tuple(cell for cell in self.cells if cell.solver not in absent))


def cells_for(problem: Problem, settings: dict[str, list[tuple[Settings, int | None]]] | None = None) -> list[Cell]:
    """Return one cell per solver that can handle the problem; ``settings`` lists (options, seed) pairs for some of
    them."""
    pairs = {solver: (settings or {}).get(solver, [({}, None)]) for solver in capable_solvers(problem.build())}
    return [Cell(problem, solver, options, seed) for solver, some in pairs.items() for options, seed in some]


def _both_ways(cells: list[Cell]) -> list[Cell]:
    """Return each cell on the raw problem, and with classifiers of equal risk merged."""
    merged = [replace(cell, settings={**cell.settings, "merge": True}) for cell in cells]
    return [cell for pair in zip(cells, merged, strict=True) for cell in pair]


#: Methods that keep dense matrices, or branch: seconds to minutes where others take milliseconds; and the size up to
#: which the fuller suites ask them.
DENSE, DENSE_LARGEST = ("slsqp", "trust-constr", "scip"), 200
#: Methods that the faster suites do not wait for: those, and one that takes many thousands of steps.
SLOW = (*DENSE, "frank-wolfe")
#: Methods that build an algebraic model first, which takes longer than solving most problems.
MODELLED = ("cvxpy", "ipopt", "dnlp", "casadi")
#: Instances of ``hard`` in the quick suite: one per way to fail, small enough for every solver.
QUICK_HARD = (
    *("one-good-07-H50-chi2-squared", "one-good-09-H100-chi2-squared", "one-good-12-H50-chi2-kl"),
    *("one-good-17-H20-chi2-kl", "staircase-03-H111-chi2-kl", "no-errors-12-H200-chi2-kl"),
    "natural-01-H2000-renyi3-kl",
)


def _without(cells: Iterable[Cell], solvers: Iterable[str]) -> list[Cell]:
    return [cell for cell in cells if cell.solver not in solvers]


def _table_cells(*counts: int) -> list[Cell]:
    """Return nine data sets × three distances × some sizes, every solver."""
    grid = product(counts, PAPER_DATASETS, TABLE_DISTANCES)
    return [cell for count, dataset, distance in grid for cell in cells_for(table_problem(dataset, count, distance))]


def _hard_cells(collection: str = HARD) -> list[Cell]:
    """Return a frozen collection, every solver."""
    cells: list[Cell] = []
    for frozen in instances(collection):
        # Which solvers can handle it does not depend on its size, and the largest take a while to build.
        small = replace(frozen, arguments={**frozen.arguments, "count": min(frozen.size, 10_000)})
        cells += [replace(cell, problem=frozen) for cell in cells_for(small)]
    return cells


Cells = Callable[[], list[Cell]]
#: Our suites, as they are listed: words, time limit, what lists the cells, and what else is particular.
_OURS: dict[str, tuple[str, float, Cells, dict[str, Any]]] = {}
_DENSE, _SLOW = ", ".join(DENSE), ", ".join(SLOW)


def _ours(words: str, time_limit: float, **more: Any) -> Callable[[Cells], Cells]:
    """Make a suite of a function that lists its cells."""

    def add(cells: Cells) -> Cells:
        _OURS[cells.__name__.strip("_").replace("_", "-")] = words, time_limit, cells, more
        return cells

    return add


@_ours(
    "nine UCI data sets, three distances, H = 50 and 1990, and a few hard instances; "
    f"slow methods ({_SLOW}) not at 1990",
    3.0,
)
def _quick() -> list[Cell]:
    hard = [(frozen, cells_for(frozen)) for frozen in map(instance, QUICK_HARD)]
    few = [cell for frozen, cells in hard for cell in _without(cells, SLOW if frozen.size > DENSE_LARGEST else ())]
    return [*_table_cells(50), *few, *_without(_table_cells(1990), SLOW)]


@_ours("all hard instances, which have certified optima, the fast solvers", 2.0)
def _hard() -> list[Cell]:
    return _without(_hard_cells(), SLOW + MODELLED)


@_ours("budgets, caps and small supports with certified optima, H = 4 to 60, every solver that honours them", 10.0)
def _constrained() -> list[Cell]:
    return _hard_cells(CONSTRAINED)


@_ours(
    "nine UCI data sets (H = 50 and 1990), raw and merged, and all hard instances, every solver; "
    f"dense methods ({_DENSE}) up to H = {DENSE_LARGEST}",
    3.0,
)
def _field() -> list[Cell]:
    cells = [*_both_ways(_table_cells(50, 1990)), *_hard_cells()]
    return [cell for cell in cells if cell.solver not in DENSE or (cell.problem.size or 0) <= DENSE_LARGEST]


@_ours("the certified optimum against the lower bound of an unrelated global method, H up to 50", 60.0)
def _certify_optimum() -> list[Cell]:
    # SCIP does not close Rényi orders in any time that one would wait.
    hard = [cell for cell in _hard_cells() if cell.problem.arguments["divergence"] != "renyi"]
    small = [cell for cell in (*_table_cells(50), *hard) if (cell.problem.size or 0) <= 50]
    return [cell for cell in small if cell.solver in ("frontier", "scip")]


@_ours("the paper's grid (nine data sets, five sizes, three distances, both constants), multi-start included", 60.0)
def _paper() -> list[Cell]:
    cells: list[Cell] = []
    for constant, count, dataset, distance in product(("exact", "paper"), PAPER_SIZES, PAPER_DATASETS, TABLE_DISTANCES):
        problem = table_problem(dataset, count, distance, constant)
        cells += cells_for(problem, {"ipopt": [({}, None), ({"starts": 5}, 0)]})
        if count == 50 and distance == "kl":
            cells.append(Cell(problem, "ccp", {"starts": 1000}, 0))
    return cells


@_ours(
    "synthetic risks, H = 10² to 10⁷, raw and merged, each solver as far as the time limit lets it",
    20.0,
    measure_memory=True,
    stop_at_limit=True,
)
def _scaling() -> list[Cell]:
    cells: list[Cell] = []
    kinds = [*((distance, "bound") for distance in TABLE_DISTANCES), ("kl", "direct")]
    for exponent, (distance, kind) in product(range(2, 8), kinds):
        arguments = {"count": 10**exponent, "distance": distance, "delta": 0.05, "kind": kind}
        name = f"synthetic-H1e{exponent}-{distance}" + "-direct" * (kind == "direct")
        family = f"synthetic, {distance}" + ", direct" * (kind == "direct")
        problem = Problem(name, family, synthetic, arguments, 10**exponent)
        # Which solvers can handle it does not depend on its size; the small one is cheap to build.
        small = replace(problem, arguments={**arguments, "count": 10})
        cells += _both_ways([replace(cell, problem=problem) for cell in cells_for(small)])
    return cells


@_ours("bounds without change of measure, one-sided constants: nine UCI data sets, H = 50 and 1990", 5.0)
def _direct() -> list[Cell]:
    pairs = [*(("chi2", 2.0, distance) for distance in TABLE_DISTANCES), ("renyi", 1.2, "kl"), ("kl", 2.0, "kl")]
    cells: list[Cell] = []
    for count, dataset, (divergence, order, distance) in product((50, 1990), PAPER_DATASETS, pairs):
        bound = {"distance": distance, "divergence": divergence, "order": order, "delta": 0.01}
        arguments = {"dataset": dataset, "count": count, "kind": "direct", "constant": "one-sided", **bound}
        name = f"{dataset}-H{count}-{distance}-{divergence}-direct"
        problem = Problem(name, UCI_FAMILY, from_table, arguments, count, dataset)
        cells += _without(cells_for(problem), DENSE if count > 50 else ())
    return cells


def _about_votes() -> str:
    return (
        "## All methods agree; a hold-out certificate of the same vote is far smaller\n\n"
        "New is the proof: the others report a stationary point, as iRProp (here: softmax) does in MajorityVoteBounds. "
        "Limits to the error of the weighted vote, KL and kl, δ = .05; hold-out is Clopper–Pearson's for the vote with "
        f"equal weights, from the same examples.\n\n```text\n{forests.vote_bounds()}\n```"
    )


@_ours(
    "tandem bounds of forests of 100 and 300 trees, three data sets, KL, χ² and order 3; "
    f"{_DENSE}, casadi at H = 100 only",
    20.0,
    remark=_about_votes,
)
def _votes() -> list[Cell]:
    cells: list[Cell] = []
    for problem in forests.problems():
        bound = {name: problem.arguments[name] for name in ("divergence", "order")}
        of_problem = [Cell(problem, solver) for solver in capable_solvers(TandemProblem([[0.1]], 10, **bound))]
        # CasADi writes the H² products of a tandem risk one by one.
        cells += _without(of_problem, () if problem.size == 100 else (*DENSE, "casadi"))
    return cells


@_ours("local methods on a few instances of every hard family and on the paper's own problems, H = 50", 2.0)
def _starts() -> list[Cell]:
    # Of these the paper says that methods find one stationary point, whatever the start.
    papers = [
        replace(table_problem(dataset, 50, distance, "paper"), family=f"the paper's, {distance}")
        for distance, dataset in product(("squared", "kl"), PAPER_DATASETS)
    ]
    problems = [*telling_instances(), *papers]
    cells = _without([cell for problem in problems for cell in cells_for(problem)], SLOW + MODELLED)
    return [cell for cell in cells if cell.solver == "frontier" or takes_start(get_solver(cell.solver))]


def telling_instances(each: int = 2, largest: int = 60) -> list[Instance]:
    """Return, of every family, a few instances with several minima, one with a single minimum where there are none.

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


@_ours("problems registered by other packages", 60.0)
def _outside() -> list[Cell]:
    return [cell for problem in outside_problems() for cell in cells_for(problem)]


def embedded() -> Iterator[Problem]:
    """Yield first-order bounds that come with this package."""
    yield from every_instance()
    for dataset, count, distance, constant in product(PAPER_DATASETS, PAPER_SIZES, TABLE_DISTANCES, CONSTANTS):
        yield table_problem(dataset, count, distance, constant)


def problems_named(text: str) -> list[Problem]:
    """Return the problem of that name, or all whose names begin so."""
    beginning = [each for each in (*embedded(), *forests.problems(), *outside_problems()) if each.name.startswith(text)]
    return [each for each in beginning if each.name == text] or (beginning if text else [])


def from_files(
    paths: Iterable[str],
    m: int | None,
    distances: Iterable[str],
    limits: Callable[[RiskFile], list[Constraint]] = lambda table: [],
    **bound: Any,
) -> Suite:
    """Return a user's own risk files, constrained by ``limits``, and problems as JSON; names tell what is not as
    usual."""
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


def suite_lines() -> dict[str, str]:
    """Return what each suite is, in a line; ours, and registered ones."""
    theirs = {entry.name: f"registered by {entry.value}" for entry in registered(SUITES_GROUP)}
    return {name: ours[0] for name, ours in _OURS.items()} | theirs


def suite(name: str) -> Suite:
    """Return the suite of that name."""

    def made(make: Callable[[], Suite]) -> Suite:
        if not isinstance(found := make(), Suite):
            raise TypeError(f"it returned {found!r}, not a Suite")
        return found

    if name in _OURS:
        words, time_limit, cells, more = _OURS[name]
        return Suite(name, words, tuple(cells()), time_limit, **more)
    for entry in registered(SUITES_GROUP):
        if entry.name == name:
            return load(entry, made)
    raise InputError("suite", name, f"it must be one of {', '.join(map(repr, suite_lines()))}")
