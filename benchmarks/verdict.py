"""What measurements are worth: the one place that says found, correct, contradicted, faster, with all thresholds."""

import math
from enum import IntEnum
from functools import cached_property
from typing import Any

import pandas as pd
from scipy.stats import binomtest

from pacb_models.solving.judging import supported_claim
from pacb_models.solving.registry import get_solver, solver_names
from pacb_models.wording import shown

from .harness.measurement import LEVELS, TYPES, Measurement, Settings
from .problems.problem import FACTS
from .problems.starts import takes_start

#: Largest difference from the certified optimum that counts as correct.
CORRECT_GAP = 1e-7
#: A bound below the certified optimum by more than this contradicts the certificate, and so does a proof above it.
BELOW = 1e-9
#: A solver's clock and the runner's differ by what ``solve`` checks and the way of the answer: seconds, and seconds for
#: each classifier; and by a factor where others take the processor. More, and its clock is wrong.
CLOCKS, CLOCKS_EACH, CLOCKS_FACTOR = 1.0, 1e-5, 10.0
#: Times must change by this factor before a solver is called faster or slower, after a millisecond was added to both:
#: microseconds do not rule.
NOTABLE, MOMENT = 1.2, 1e-3


class Ending(IntEnum):
    """What a run can come to, the worst first; no minimum is what our residual denies, some are several starts."""

    FAILED, NO_MINIMUM, LOCAL, SOME, LESS_ACCURATE, FOUND = range(6)

    @property
    def words(self) -> str:
        """Those of every table and legend."""
        return _WORDS[self]


_WORDS = (
    "failed",
    "not a minimum",
    "another local minimum",
    "found from some starts",
    "found, less accurately",
    "found",
)
#: The number of the start that a method has when it is given none.
PRIOR = -1
#: Settings that are columns of their own, and no part of a method's name.
_APART = ("merge", "start", "seed")
#: What solvers say that is untrue. To end in another local minimum is none of it.
_DENIED = "it claims an optimum that the recomputed residuals deny"
_TOO_HIGH = "its lower bound lies above the optimum"
_NOT_GLOBAL = "it claims the global minimum and is above it"


def success(row: Measurement) -> bool:
    """Return whether a run claims an optimum, and our residuals agree."""
    if row.kkt_residual is None or row.simplex_residual is None:
        return False
    # A problem without constraints has none to break.
    off = max(row.simplex_residual, row.constraint_residual or 0.0)
    return row.claims and supported_claim(row.status, row.kkt_residual, off) == "optimal"


def correct(row: Measurement) -> bool:
    """Return whether the bound is within 1e-7 of the certified optimum, whatever is claimed."""
    return row.gap is not None and abs(row.gap) <= CORRECT_GAP


def ending(claims: bool, stationary: bool, gap: float | None, residual: float) -> Ending:
    """Return what a point is: ``stationary`` if our residuals agree, ``gap`` above the certified optimum, None without
    one.

    The residual is the first-order decrease that is left. Where it is no smaller than the gap, the point is as near to
    the optimum as it can tell; where it is smaller, this is another stationary point.

    >>> ending(True, True, 2.2e-7, 2.8e-7).words, ending(True, True, 2.2e-7, 1e-12).words
    ('found, less accurately', 'another local minimum')
    """
    if not (claims and stationary):
        return Ending.NO_MINIMUM if claims else Ending.FAILED
    if gap is None or math.isnan(gap) or abs(gap) <= CORRECT_GAP:
        return Ending.FOUND
    return Ending.LESS_ACCURATE if 0.0 < gap <= residual else Ending.LOCAL


class Judged:
    """All that is asked of the rows of a log, computed once: for the terminal, the exit code, the report, the pages.

    ``runs`` has every measurement, with these columns besides: ``method`` (solver, settings, and the machine where
    there are several: times of two are never set against each other), ``merged``, ``kind`` (distance and divergence),
    ``local`` and ``exact`` (whether the solver, where it is known here, goes down from a start that it is given, or is
    exact), ``total_seconds`` (set-up and solving), ``stopped_clock``, ``ending``, ``found`` and ``false_claim``.
    """

    def __init__(self, results: pd.DataFrame) -> None:
        numbers = ["gap", *(name for name, kind in TYPES.items() if kind in (int, float))]
        self.runs = runs = results.assign(**results[numbers].apply(pd.to_numeric))
        runs["start"] = runs["start"].fillna(PRIOR).astype(int)
        # A run lacks them when it ended before the problem was built.
        for fact in (*FACTS, "minima"):
            runs[fact] = runs.groupby("problem")[fact].transform("first")
        runs["merged"] = runs["settings"].map(lambda given: bool(given.get("merge")))
        machines = runs["machine"] if runs["machine"].nunique() > 1 else [math.nan] * len(runs)
        runs["method"] = list(map(_method, runs["solver"], runs["settings"], machines))
        # Nobody else's code is loaded for it.
        known = {name: get_solver(name) for name in runs["solver"].unique() if name in solver_names()}
        runs["local"] = runs["solver"].isin([name for name, solver in known.items() if takes_start(solver)])
        runs["exact"] = runs["solver"].isin([name for name, solver in known.items() if solver.exact])
        facts = (runs[fact] for fact in ("distance", "divergence", "problem_kind", "constraints"))
        runs["kind"] = list(map(_kind, *facts))
        # A solution that somebody handed in has no time of ours.
        timed = runs["seconds"].notna() | runs["setup_seconds"].notna() | ~runs["success"]
        total = runs["seconds"].fillna(0.0) + runs["setup_seconds"].fillna(0.0)
        # A solver that stops its clock must not make the others slow.
        clocks = CLOCKS + CLOCKS_EACH * runs["size"].fillna(0.0) + CLOCKS_FACTOR * total
        runs["stopped_clock"] = runs["wall_seconds"] > clocks
        runs["total_seconds"] = total.where(timed).mask(runs["stopped_clock"], runs["wall_seconds"])
        runs["ending"] = list(map(ending, *(runs[name] for name in ("claims", "success", "gap", "kkt_residual"))))
        runs["found"] = runs["ending"] == Ending.FOUND
        reasons = self._reasons
        runs["false_claim"] = reasons[_DENIED] | reasons[_TOO_HIGH] | reasons[_NOT_GLOBAL]

    @cached_property
    def _reasons(self) -> dict[str, pd.Series]:
        """Which rows must not exist, by the reason."""
        runs = self.runs
        attained = runs["reference_bound"].fillna(runs.groupby("problem")["bound"].transform("min"))
        return {
            _DENIED: runs["claims"] & ~runs["success"],
            "its bound lies below the certified optimum": runs["gap"] < -BELOW,
            _TOO_HIGH: runs["lower_bound"] > attained + BELOW,
            _NOT_GLOBAL: (runs["gap"] > CORRECT_GAP) & runs["success"] & runs["exact"],
            "its own clock shows much less time than passed": runs["stopped_clock"],
        }

    @cached_property
    def condensed(self) -> pd.DataFrame:
        """One row for all repetitions of a cell on a machine: the worst, with median times. Found is what all found."""
        runs, cell = self.runs, ["machine", "key"]
        worst = runs.sort_values(["ending", "repetition"], kind="stable").drop_duplicates(cell).sort_index()
        groups = runs.groupby(cell, dropna=False)
        times = ["seconds", "setup_seconds", *LEVELS, "total_seconds"]
        kept = groups[times].median().join(groups["false_claim"].any())
        places = pd.MultiIndex.from_frame(worst[cell])
        return worst.assign(**{name: kept[name].reindex(places).to_numpy() for name in kept.columns})

    @cached_property
    def comparable(self) -> pd.DataFrame:
        """The condensed rows on which solvers are compared: nobody has another problem, or another start, than others.

        Solvers whose software is missing have no part in it, and merged problems only where nothing else was measured.
        Methods that take a start are compared from the prior, or else from the starts that all of them had.
        """
        kept = self.condensed[self.condensed["status"] != "unavailable"]
        kept = kept if kept["merged"].all() else kept[~kept["merged"]]
        starts = kept[kept["local"]].groupby("solver")["start"].agg(set)
        shared = set.intersection(*starts) if len(starts) else set()
        return kept[~kept["local"] | kept["start"].isin({PRIOR} if PRIOR in shared else shared)]

    @cached_property
    def by_solver(self) -> pd.DataFrame:
        """One line per method on those."""
        return by_solver(self.comparable)

    @cached_property
    def contradictions(self) -> pd.DataFrame:
        """Rows that must not exist, each with its ``reason``; none: all results can be true."""
        found = pd.concat([self.runs[which].assign(reason=reason) for reason, which in self._reasons.items()])
        return found.sort_index(kind="stable").drop_duplicates(["method", "problem", "reason"])

    def sentence(self, longest: int = 5) -> str:
        """Return whether all results can be true, in the words of the terminal and of the page."""
        wrong = self.contradictions
        if wrong.empty:
            return "No result contradicts another: no claim is false, and no bound is below a certified optimum."
        named = [f"{row.method} on {row.problem}: {row.reason}" for row in wrong.head(longest).itertuples()]
        more = f"; and {len(wrong) - longest} more" if len(wrong) > longest else ""
        return f"{len(wrong)} contradiction{'s' * (len(wrong) > 1)}! {'; '.join(named)}{more}."


def _method(solver: str, given: Settings, machine: float) -> str:
    """Return solver, settings, and where there are several the machine: "ipopt", "ipopt starts=5"."""
    words = [shown(f"{name}={value}") for name, value in sorted(given.items()) if name not in _APART]
    return " ".join([solver, *words, *([] if math.isnan(machine) else [f"[machine {machine:.0f}]"])])


def _kind(distance: Any, divergence: Any, problem_kind: Any, constraints: Any) -> str:
    if not isinstance(distance, str):
        return "unknown"
    marks = "direct " * (problem_kind == "direct") + "constrained " * isinstance(constraints, str)
    return marks + (distance if divergence in ("chi2", None) else f"{distance} ({divergence})")


def by_problem(each: pd.DataFrame) -> pd.DataFrame:
    """Return the :class:`Ending` of each method (columns) on each problem (rows), of several starts the worst, or
    None."""
    cells = each.groupby(["problem", "method"], sort=False)
    some = cells["found"].any() & ~cells["found"].all()
    endings = cells["ending"].min().mask(some, int(Ending.SOME))
    return endings.unstack("method").astype("Int64").astype(object).where(lambda table: table.notna(), None)


def by_solver(each: pd.DataFrame) -> pd.DataFrame:
    """Return one line per method on comparable rows, who solves most first: of a problem with several starts, their
    share.

    ``elsewhere`` counts the runs that ended in another local minimum, ``low`` and ``high`` are the 95 % interval of the
    share found. Of the runs that found the optimum, and of no others, are the seconds ``median`` and ``ninety`` (%),
    ``relative``, the median of the ratios to the fastest on each problem, and ``evaluations`` of the gradient.
    """
    seconds = each["total_seconds"].where(each["found"])
    fastest = seconds.groupby([each["machine"], each["problem"]], dropna=False).transform("min")
    rows = each.assign(
        total_seconds=seconds,
        gradient_evaluations=each["gradient_evaluations"].where(each["found"]),
        ratio=seconds / fastest.clip(lower=1e-9),
        elsewhere=each["ending"] == Ending.LOCAL,
        less=each["ending"] == Ending.LESS_ACCURATE,
    )
    methods = rows.groupby("method", sort=False)
    table = methods.agg(
        runs=("key", "size"),
        found=("found", "sum"),
        share=("found", "mean"),
        false_claims=("false_claim", "sum"),
        elsewhere=("elsewhere", "sum"),
        less_accurate=("less", "sum"),
        median=("total_seconds", "median"),
        relative=("ratio", "median"),
        evaluations=("gradient_evaluations", "median"),
    )
    table["ninety"] = methods["total_seconds"].quantile(0.9)
    table["solved"] = rows.groupby(["method", "problem"])["found"].mean().groupby("method").sum()
    table["low"], table["high"] = zip(*map(interval, table["found"], table["runs"]))
    columns = ["solved", "share", "median"]
    return table.reset_index().sort_values(columns, ascending=[False, False, True], ignore_index=True)


def interval(found: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share.

    >>> [round(end, 3) for end in interval(10, 10)], [round(end, 3) for end in interval(0, 20)]
    ([0.722, 1.0], [0.0, 0.161])
    """
    low, high = binomtest(found, count).proportion_ci(method="wilson")
    return float(low), float(high)


def disagreements(each: pd.DataFrame) -> int:
    """Return on how many problems two supported claims of an optimum differ: at least one of them is a local
    minimum."""
    claims = each[each["success"]].groupby("problem")["bound"]
    return int((claims.max() - claims.min() > CORRECT_GAP).sum())


def change(first: pd.Series, second: pd.Series) -> str:
    """Return how the times of the same cells changed between two runs."""
    ratio = ((second + MOMENT) / (first + MOMENT)).median()
    return "slower" if ratio > NOTABLE else "faster" if ratio < 1 / NOTABLE else "about as fast"
