"""Every capable solver on one problem, against the best bound that is known for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import terminal
from ..errors import SolverUnavailableError
from ..html import as_html
from ..plugins import exception_text
from ..problem import Problem
from ..solution import Solution, finite
from ..solver import Solver
from ..validation import check_kind, check_positive
from ..wording import at_least, at_most
from .judging import REFUTES
from .registry import capable_solvers, get_solver
from .running import solve

if TYPE_CHECKING:
    import pandas

REFUTED = "its lower bound is refuted"


class CheckRow(NamedTuple):
    """One solver's line of the table."""

    solver: str
    status: str
    bound: float
    gap: float
    #: What no bound is below, as a checked proof of the solver's shows; None without one.
    lower_bound: float | None
    kkt_residual: float
    iterations: int | None
    setup_seconds: float
    seconds: float
    verdict: str
    #: What no bound is below, as the solver says without a proof; None when it says nothing.
    claimed_lower_bound: float | None = None

    @property
    def agrees(self) -> bool:
        """True when the solver found the reference bound and was right about it."""
        return self.verdict == "agrees"

    @property
    def refuted(self) -> bool:
        """True when some solver found a bound below what this one says that none is below."""
        return self.verdict.startswith(REFUTED)


#: What is printed, under which heading and how: lower bounds have lines of their own.
_SHOWN: dict[str, tuple[str, Callable[[Any], str]]] = {
    "solver": ("solver", str),
    "status": ("status", str),
    "bound": ("bound", lambda value: at_most(value, 10)),
    "gap": ("gap", "{:.1e}".format),
    "kkt_residual": ("KKT", "{:.1e}".format),
    "iterations": ("iterations", str),
    "setup_seconds": ("set-up s", "{:.4f}".format),
    "seconds": ("s", "{:.4f}".format),
    "verdict": ("verdict", str),
}
_HEADINGS = [terminal.Column(title, name not in ("solver", "status", "verdict")) for name, (title, _) in _SHOWN.items()]


@dataclass(frozen=True)
class CrossCheck:
    """The table of :func:`cross_check`; prints itself."""

    rows: tuple[CheckRow, ...]
    reference: str
    reference_bound: float
    tol: float
    #: What each solver returned, where it returned anything.
    solutions: dict[str, Solution] = field(default_factory=dict, repr=False, compare=False)

    @property
    def agree(self) -> bool:
        """True when every solver that can run here agrees."""
        return all(row.agrees for row in self.rows if row.status != "unavailable")

    @property
    def lower_bound(self) -> float | None:
        """The largest lower bound that a solver proved and no other's bound refutes; None when none proved any."""
        return max(
            (row.lower_bound for row in self.rows if row.lower_bound is not None and not row.refuted), default=None
        )

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows, columns=CheckRow._fields)

    def as_dict(self) -> dict[str, Any]:
        """Return the table as JSON-ready values (NaN and infinities become None)."""
        rows = [{column: finite(value) for column, value in row._asdict().items()} for row in self.rows]
        return {
            "reference": self.reference,
            "reference_bound": finite(self.reference_bound),
            "lower_bound": self.lower_bound,
            "tol": self.tol,
            "agree": self.agree,
            "rows": rows,
        }

    @property
    def verdict(self) -> str:
        """Who agrees, in one sentence.

        Solvers whose software is missing are counted apart.
        """
        able = [row for row in self.rows if row.status != "unavailable"]
        others = [f"{row.solver} ({row.verdict})" for row in able if not row.agrees]
        absent = f" {len(self.rows) - len(able)} cannot run here." if len(able) < len(self.rows) else ""
        if not able:
            return f"No solver could run.{absent}"
        if others:
            return f"{len(able) - len(others)} of {len(able)} solvers agree; not {', '.join(others)}.{absent}"
        who = "The solver agrees" if len(able) == 1 else f"All {len(able)} solvers agree"
        return f"{who}: the smallest bound is {at_most(self.reference_bound, 10)}.{absent}"

    def _repr_html_(self) -> str:
        return as_html([self.verdict], [column.title for column in _HEADINGS], self._cells(), len(self.rows))

    def __str__(self) -> str:
        return "\n".join([*terminal.aligned(_HEADINGS, self._cells()), *self._remarks()])

    def _cells(self) -> list[list[str]]:
        """Return the rows as they are shown."""
        rows = [[(getattr(row, name), shown) for name, (_, shown) in _SHOWN.items()] for row in self.rows]
        return [["-" if value is None or value != value else shown(value) for value, shown in row] for row in rows]

    def _remarks(self) -> list[str]:
        """Return what the comparison rests on."""
        lines = [f"reference: {self.reference}, bound {at_most(self.reference_bound, 12)}; tolerance {self.tol:g}"]
        if self.lower_bound is not None:
            below = self.reference_bound - self.lower_bound
            lines.append(
                f"proven: no bound is below {at_least(self.lower_bound, 12)}, {max(below, 0.0):.1e} below the reference"
            )
        lines += [
            f"{row.solver} says: no bound is below {at_least(row.claimed_lower_bound, 12)}"
            for row in self.rows
            if row.claimed_lower_bound is not None and not row.refuted
        ]
        return lines

    def show(self) -> None:
        """Print the table; on a terminal with the verdict first."""
        lines = [
            terminal.Line(cells, None if row.status == "unavailable" else row.agrees)
            for row, cells in zip(self.rows, self._cells(), strict=True)
        ]
        first = terminal.Line([self.verdict, *self._remarks()], self.agree)
        terminal.show(first, [terminal.Grid("", _HEADINGS, lines)], str(self))


def cross_check(
    problem: Problem,
    solvers: str | Solver | Sequence[str | Solver] | None = None,
    tol: float = 1e-7,
    options: dict[str, dict[str, Any]] | None = None,
    time_limit: float | None = None,
) -> CrossCheck:
    """Run every capable solver and compare its bound with the reference.

    The reference is the solution of an exact solver when one applies, else the smallest bound found. Lower bounds,
    proven ones and those that a solver only claims, have to be below every bound that was found: a certified minimum
    is confirmed from below by an unrelated method, or one of the two is wrong.

    Parameters
    ----------
    problem : BoundProblem or DirectProblem
    solvers : list of str or Solver, or one of them, optional
        Which ones, by name or as objects; by default every registered solver that can handle the problem.
    tol : float
        Largest difference between bounds that counts as agreement.
    options : dict, optional
        Solver name to keyword arguments for it.
    time_limit : float, optional
        Seconds for each of the solvers that can keep a limit.

    Returns
    -------
    CrossCheck
        One row per solver with a verdict: ``agrees``, ``worse by …``, ``failed: …``, ``claims optimal but is not``,
        ``below the reference by …``, which would mean that the reference is wrong, or ``its lower bound is refuted, by
        …``, which would mean that the solver's proof or claim is.
    """
    check_kind("problem", problem, Problem, "a problem, as pm.BoundProblem makes one")
    check_kind("solvers", solvers or (), (str, Solver, Iterable), "a list of solvers")
    check_positive("tol", tol)
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    chosen = [solvers] if isinstance(solvers, str | Solver) else solvers or capable_solvers(problem)
    named = {each.name if isinstance(each, Solver) else each: each for each in chosen}
    for name in {*named, *(options or {})} - {each.name for each in chosen if isinstance(each, Solver)}:
        get_solver(name)  # an unknown name is refused before anything is run
    found = {name: _attempt(problem, each, (options or {}).get(name, {}), time_limit) for name, each in named.items()}
    solved = {name: result for name, result in found.items() if isinstance(result, Solution)}
    reference = _reference(problem, solved)
    # Only weights that keep the constraints can refute a lower bound.
    feasible = [
        solution
        for solution in [*solved.values(), reference]
        if solution and solution.details.get("constraint_violation", 0.0) <= REFUTES
    ]
    smallest = min((solution.bound for solution in feasible), default=math.inf)
    rows = tuple(_row(name, result, reference, smallest, tol) for name, result in found.items())
    if reference is None:
        return CrossCheck(rows, "none", float("nan"), tol, solved)
    return CrossCheck(rows, reference.solver, reference.bound, tol, solved)


def _attempt(
    problem: Problem, solver: str | Solver, options: dict[str, Any], time_limit: float | None
) -> Solution | tuple[str, str]:
    """Return a solution, or (status, reason). One solver's exception must not hide what the others found."""
    try:
        method = solver if isinstance(solver, Solver) else get_solver(solver)
        if time_limit is not None and method.keeps_time_limit:
            options = {"time_limit": time_limit, **options}
        return solve(problem, solver, **options)
    except SolverUnavailableError as reason:
        return "unavailable", str(reason)
    except (Exception, SystemExit) as reason:
        # Another package's solver may raise anything.
        return "error", exception_text(reason)


def _reference(problem: Problem, solved: dict[str, Solution]) -> Solution | None:
    certified = [solution for solution in solved.values() if solution.is_global]
    if not certified:
        certified = [
            solve(problem, name)
            for name in capable_solvers(problem)
            if name not in solved and get_solver(name).exact and get_solver(name).missing() is None
        ]
    candidates = certified or [solution for solution in solved.values() if solution.posterior is not None]
    return min(candidates, key=lambda solution: solution.bound, default=None)


def _row(
    name: str, result: Solution | tuple[str, str], reference: Solution | None, smallest: float, tol: float
) -> CheckRow:
    nan = float("nan")
    if not isinstance(result, Solution):
        status, reason = result
        return CheckRow(name, status, nan, nan, None, nan, None, nan, nan, f"failed: {reason}")
    gap = result.bound - reference.bound if reference is not None else nan
    facts = {field: getattr(result, field) for field in CheckRow._fields if field not in ("solver", "gap", "verdict")}
    return CheckRow(solver=name, gap=gap, verdict=verdict(result, gap, tol, smallest), **facts)


def verdict(solution: Solution, gap: float, tol: float, smallest: float = math.inf) -> str:
    """Return what to say of a solution whose bound differs from the reference by ``gap``.

    ``smallest`` is the smallest bound that any solver found.
    """
    said = [each for each in (solution.lower_bound, solution.claimed_lower_bound) if each is not None]
    if any(each > smallest + REFUTES for each in said):
        return f"{REFUTED}, by {max(said) - smallest:.1e}"
    failed = solution.status not in ("optimal", "acceptable")
    # Weights that break the constraints say nothing of the reference.
    if gap < -tol and not (failed and solution.details.get("constraint_violation", 0.0) > REFUTES):
        return f"below the reference by {-gap:.1e}"
    if failed:
        return f"failed: {solution.status}" + (f", {solution.message}" if solution.message else "")
    if gap <= tol:
        return "agrees"
    if solution.status == "optimal" and solution.kkt_residual > tol:
        return "claims optimal but is not"
    return f"worse by {gap:.1e}"
