"""Judging solutions that somebody else's solver wrote into a file: everything is recomputed from the weights.

A solver's own value counts as a claim only (see :mod:`..problems.claimed`).
"""

import math
from dataclasses import dataclass
from pathlib import Path

from pacb_models.errors import InputError
from pacb_models.solution import Outcome
from pacb_models.solving.judging import OPTIMAL_RESIDUAL, assess
from pacb_models.solving.registry import solver_names

from .. import verdict
from ..problems.claimed import claims
from ..problems.export import Optimum, exact_solution
from ..problems.problem import FACTS, Problem, facts
from ..problems.solution_files import SolutionFile
from ..store import digest
from .environment import Environments, described_here
from .measuring import Conditions, begun
from .referee import by_weights
from .results import ResultLog, write_exports
from .suites import Cell
from .worker import Facts

#: What a solution can come to beside the endings of :class:`..verdict.Ending`; the last two contradict a claim.
NO_POINT, UNKNOWN = "no point", "no optimum is proven"
BELOW, INFEASIBLE = "claims a value below the proven one", "infeasible"


@dataclass(frozen=True)
class Worth:
    """What a file's weights come to, beside what it claims."""

    #: Of the weights, on the simplex.
    bound: float
    claimed: float | None
    #: How far the bound is above the proven one.
    gap: float | None
    kkt_residual: float
    #: The largest, and what has it.
    violation: float
    violated: str


@dataclass(frozen=True)
class Finding:
    """What a file's solution is worth."""

    solver: str
    verdict: str
    #: The same in one sentence, with its numbers.
    sentence: str
    #: Whether the solver claims what does not hold; one that says itself that it failed does not.
    wrong: bool
    #: None where the file has no point.
    numbers: Worth | None
    #: Fields of its measurement.
    row: Facts


class Judge:
    """Judges solutions of one problem."""

    def __init__(self, recipe: Problem) -> None:
        self.recipe, self.problem = recipe, recipe.build()
        known = Optimum.of(exact_solution(self.problem))
        self.optimum = known.optimum
        #: No posterior has a smaller bound.
        self.proven = known.lower_bound if self.optimum is None else self.optimum
        #: Bounds of the local minima, the optimum first.
        self.minima = [minimum["bound"] for minimum in known.local_minima]

    def judge(self, found: SolutionFile, solver: str) -> Finding:
        """Return what one file says, and what holds of it."""
        known = {"reference_bound": self.optimum, "minima": len(self.minima) or None}
        status, message = found.status, found.message
        if found.weights is None:
            row: Facts = {**facts(self.problem), "status": status or "error", "message": message, **known}
            return Finding(solver, NO_POINT, f"no point: {message or 'the file has none'}", False, None, row)
        if status is None:
            # A file that claims nothing is taken for what its weights support.
            status = assess(self.problem, Outcome(found.weights, "optimal"), solver, math.nan).status
        # By the same functions as of a solver that runs here.
        row = by_weights(self.problem, solver, {"status": status, "message": message, "posterior": found.weights})
        claim, bound = claims(self.problem, found), row["bound"]
        gap = None if self.optimum is None else bound - self.optimum
        numbers = Worth(bound, claim.claimed, gap, row["kkt_residual"], claim.violation, claim.violated)
        kind, sentence = self._verdict(found, numbers)
        wrong = kind in (BELOW, INFEASIBLE) and found.claims
        if wrong and row["claims"]:
            # The row's own words are of the weights on the simplex; what the file says besides does not hold.
            row |= {"status": "not_converged", "message": f"{sentence}. {row['message']}".strip()}
        return Finding(solver, kind, sentence, wrong, numbers, row | known)

    def _verdict(self, found: SolutionFile, numbers: Worth) -> tuple[str, str]:
        bound, claimed, gap = numbers.bound, numbers.claimed, numbers.gap
        by = -math.inf if self.proven is None or claimed is None else self.proven - claimed
        # Rows may be violated as much, and a printed value is as exact as its digits.
        if found.claims and by > OPTIMAL_RESIDUAL + found.rounding:
            off = f"{numbers.violated} is violated by {numbers.violation:.1e}"
            return BELOW, f"{BELOW}: {claimed:.10g}, by {by:.1e}; its weights have {bound:.10g}, and {off}"
        if not numbers.violation <= OPTIMAL_RESIDUAL:
            what = f"{INFEASIBLE} by {numbers.violation:.1e} ({numbers.violated}); bound {bound:.10g}"
            return INFEASIBLE, what + ("" if found.claims else f"; the solver says {found.status}")
        residual = numbers.kkt_residual
        near = f"KKT residual {residual:.1e}"
        if gap is None:
            return UNKNOWN, f"bound {bound:.10g}; {UNKNOWN}; {near}"
        end = verdict.ending(True, residual <= OPTIMAL_RESIDUAL, gap, residual)
        number = next((n for n, low in enumerate(self.minima, 1) if abs(bound - low) <= verdict.CORRECT_GAP), 0)
        local = end is verdict.Ending.LOCAL and number
        which = f"local minimum {number} of {len(self.minima)}" if local else end.words
        return end.words, f"{which}: bound {bound:.10g}, {gap:.1e} above the proven optimum; {near}"


def solver_of(found: SolutionFile, path: Path, given: str | None) -> str:
    """Return what a solver is called in a report: as the user says, as the file says, or as the file is called."""
    name = given or found.solver or path.stem
    if name in solver_names():
        raise InputError(f"{path} is by {name!r}, which is a solver of this package; yours needs a name of its own.")
    return name


def add_to_log(directory: str | Path, recipe: Problem, findings: list[Finding]) -> None:
    """Append the rows to the log of a directory; a solver's earlier row for the problem is replaced."""
    with ResultLog(directory, resume=True) as log:
        known = log.measurements()
        number = Environments.read(directory).number(described_here(), directory)
        limits = [row.time_limit for row in known if row.problem == recipe.name]
        suite = next((row.suite for row in known), None) or "judged"
        conditions = Conditions(suite, time_limit=max(limits, default=0.0))
        for finding in findings:
            key = digest("judged", recipe.name, finding.solver)
            row = begun(Cell(recipe, finding.solver), 0, conditions)
            row = row.told({**finding.row, "key": key, "environment": number})
            # A problem that shares nothing but its name with that of the log is refused.
            other = next((each for each in known if each.problem == recipe.name and each.size is not None), row)
            for name in (*FACTS, "reference_bound"):
                one, another = getattr(row, name), getattr(other, name)
                near = name == "reference_bound" and None not in (one, another) and abs(one - another) <= verdict.BELOW
                if not (near or one == another or None in (one, another)):
                    what = f"{directory} has results on another {recipe.name!r}"
                    raise InputError(f"{what}: its {name} is {another}, not {one}.")
            log.append(row)
        write_exports(directory, log.measurements())
