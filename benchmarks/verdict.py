"""What measurements are worth: the one place that says found, correct, contradicted, faster.

The runner asks it about each run; the terminal, the exit code, ``--compare``, the report and the pages ask it about all
of them. Thresholds are here and nowhere else.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd

from pacb_models.solving.judging import supported_claim
from pacb_models.solving.registry import get_solver, solver_names

from .problems.starts import takes_start

#: Largest difference from the certified optimum that counts as correct.
CORRECT_GAP = 1e-7

#: A bound below the certified optimum by more than this contradicts the certificate, and so does a proof above it.
BELOW = 1e-9

#: Times must change by this factor before a solver is called faster or slower ...
NOTABLE = 1.2
#: ... after a millisecond was added to both, so that microseconds do not rule.
MOMENT = 1e-3

#: What a run can come to, the worst first. A local minimum is a supported claim that is not the optimum.
FAILED, LOCAL, SOME, FOUND = OUTCOMES = ("failed", "local minimum", "found from some starts", "found")

#: The number of the start that a method has when it is given none.
PRIOR = -1

#: Facts about a problem that a run lacks when it ended before the problem was built.
_FACTS = ["problem_kind", "H", "m", "delta", "distance", "divergence", "order", "constant", "prior", "constraints"]
_FACTS += ["minima"]

_NUMBERS = ["H", "bound", "lower_bound", "reference_bound", "gap", "empirical_risk", "gradient_evaluations", "minima"]
_NUMBERS += ["simplex_residual", "constraint_residual"]

#: Settings that are columns of their own, and no part of a method's name.
_APART = ("merge", "start", "seed")


def of_run(row: dict[str, Any]) -> dict[str, Any]:
    """The judgement of one measurement, as columns of its row.

    Success is a claim of optimality that the recomputed residuals support. Correct is a bound within 1e-7 of the
    certified optimum, whatever is claimed.
    """
    bound, reference = row.get("bound"), row.get("reference_bound")
    gap = None
    if bound is not None and reference is not None and math.isfinite(reference):
        gap = bound - reference
    claims = row.get("claims", row.get("status") == "optimal")
    residuals = [math.inf if row.get(name) is None else row[name] for name in ("kkt_residual", "simplex_residual")]
    # A problem without constraints, and a log from before there were any, have none to break.
    residuals[1] = max(residuals[1], row.get("constraint_residual") or 0.0)
    return {
        "gap": gap,
        "claims": claims,
        "success": claims and supported_claim(row["status"], *residuals) == "optimal",
        "correct": gap is not None and abs(gap) <= CORRECT_GAP,
    }


def judged(results: pd.DataFrame) -> pd.DataFrame:
    """The rows of a log with what is asked of each.

    Added columns: ``method`` (solver, settings, and the machine where there are several: times of two are never set
    against each other), ``merged``, ``kind`` (distance and divergence), ``total_seconds`` (set-up and solving),
    ``found`` (a success that is correct, or just a success where no optimum is known), ``outcome`` and ``false_claim``.
    """
    runs = results.copy()
    runs["start"] = pd.to_numeric(runs["start"]).fillna(PRIOR).astype(int) if "start" in runs else PRIOR
    for fact in _FACTS:
        runs[fact] = runs.groupby("problem")[fact].transform("first") if fact in runs else None
    for flag in ("claims", "success", "correct", "parallel"):
        runs[flag] = runs[flag].astype(bool)
    for number in (*_NUMBERS, *_times(runs)):
        runs[number] = pd.to_numeric(runs[number]).astype(float)
    settings = runs["settings"].map(lambda text: json.loads(text or "{}"))
    runs["merged"] = settings.map(lambda given: bool(given.get("merge")))
    runs["method"] = _method_names(runs, settings)
    runs["kind"] = list(map(_kind, *(runs[fact] for fact in ("distance", "divergence", "problem_kind", "constraints"))))
    # A solution that somebody handed in has no time of ours.
    timed = runs["seconds"].notna() | runs["setup_seconds"].notna() | ~runs["success"]
    total = runs["seconds"].fillna(0.0) + runs["setup_seconds"].fillna(0.0)
    runs["total_seconds"] = total.where(timed)
    runs["found"] = runs["success"] & (runs["correct"] | runs["reference_bound"].isna())
    runs["outcome"] = np.select([runs["found"], runs["success"]], [FOUND, LOCAL], FAILED)
    runs["false_claim"] = runs["claims"] & ~runs["found"]
    return runs


def _times(runs: pd.DataFrame) -> list[str]:
    return [name for name in runs.columns if name in ("seconds", "setup_seconds") or name.startswith("seconds_to_")]


def _method_names(runs: pd.DataFrame, settings: pd.Series) -> list[str]:
    """Solver and settings: "ipopt", "ipopt starts=5"."""
    several = runs["machine"].nunique(dropna=False) > 1
    names = []
    for solver, given, machine in zip(runs["solver"], settings, runs["machine"]):
        words = [solver, *(f"{name}={value}" for name, value in sorted(given.items()) if name not in _APART)]
        names.append(" ".join(words + ([f"[machine {machine:.0f}]"] if several else [])))
    return names


def _kind(distance: Any, divergence: Any, problem_kind: Any, constraints: Any) -> str:
    if not isinstance(distance, str):
        return "unknown"
    marks = "direct " * (problem_kind == "direct") + "constrained " * isinstance(constraints, str)
    return marks + (distance if divergence in ("chi2", None) else f"{distance} ({divergence})")


def condensed(runs: pd.DataFrame) -> pd.DataFrame:
    """One row for all repetitions of a cell on a machine: the worst of them, with the median times.

    A cell is found when every repetition finds it.
    """
    cell = ["machine", "key"]
    ranks = runs["outcome"].map(OUTCOMES.index)
    worst = runs.assign(_rank=ranks).sort_values(["_rank", "repetition"], kind="stable").drop_duplicates(cell)
    worst = worst.sort_index().drop(columns="_rank")
    medians = runs.groupby(cell, dropna=False)[[*_times(runs), "total_seconds"]].median()
    places = pd.MultiIndex.from_frame(worst[cell])
    return worst.assign(**{name: medians[name].reindex(places).to_numpy() for name in medians.columns})


def comparable(each: pd.DataFrame) -> pd.DataFrame:
    """The condensed rows on which solvers are compared: nobody has another problem, or another start, than the others.

    Solvers whose software is missing have no part in it, and merged problems only where nothing else was measured.
    Methods that take a start are compared from the prior, or else from the starts that all of them had.
    """
    kept = each[each["status"] != "unavailable"]
    kept = kept if kept["merged"].all() else kept[~kept["merged"]]
    local = kept["solver"].map(is_local).astype(bool)
    starts = kept[local].groupby("solver")["start"].agg(set)
    shared = set.intersection(*starts) if len(starts) else set()
    return kept[~local | kept["start"].isin({PRIOR} if PRIOR in shared else shared)]


def is_local(solver: str) -> bool:
    """Whether a solver, known here, goes down from a start that it is given."""
    return solver in solver_names() and takes_start(get_solver(solver))


def by_problem(each: pd.DataFrame) -> pd.DataFrame:
    """The outcome of each method (columns) on each problem (rows), over all its starts; None where it had none."""
    shares = each.groupby(["problem", "method"], sort=False)["found"].mean()
    # The worst of the starts, unless some of them found it.
    ranks = each["outcome"].map(OUTCOMES.index).groupby([each["problem"], each["method"]], sort=False).min()
    outcomes = ranks.map(OUTCOMES.__getitem__).where((shares == 0.0) | (shares == 1.0), SOME)
    return outcomes.unstack("method").astype(object).where(lambda table: table.notna(), None)


def by_solver(each: pd.DataFrame) -> pd.DataFrame:
    """One line per method on comparable rows, who solves most first: of a problem with several starts, their share.

    ``low`` and ``high`` are Wilson's 95 % interval of the share found; ``median`` and ``ninety`` quantiles of the
    seconds of the runs that found the optimum, and of no others; ``relative`` is the median of the ratios to the
    fastest on each problem; ``evaluations`` that of the gradient evaluations.
    """
    solved = each[each["found"]]
    fastest = solved.groupby(["machine", "problem"], dropna=False)["total_seconds"].transform("min")
    ratios = solved["total_seconds"] / fastest.clip(lower=1e-9)
    lines = []
    for method, rows in each.groupby("method", sort=False):
        of_method = solved[solved["method"] == method]
        found, count = len(of_method), len(rows)
        low, high = wilson(found, count)
        lines.append(
            {
                "method": method,
                "runs": count,
                "found": found,
                "share": found / count,
                "solved": rows.groupby("problem")["found"].mean().sum(),
                "low": low,
                "high": high,
                "false_claims": int(rows["false_claim"].sum()),
                "median": of_method["total_seconds"].median(),
                "ninety": of_method["total_seconds"].quantile(0.9),
                "relative": ratios[of_method.index].median(),
                "evaluations": of_method["gradient_evaluations"].median(),
            }
        )
    columns = ["method", "runs", "found", "share", "solved", "low", "high", "false_claims", "median", "ninety"]
    table = pd.DataFrame(lines, columns=[*columns, "relative", "evaluations"])
    return table.sort_values(["solved", "share", "median"], ascending=[False, False, True], ignore_index=True)


def wilson(found: int, count: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's 95 % interval for a share.

    >>> [round(end, 3) for end in wilson(10, 10)], [round(end, 3) for end in wilson(0, 20)]
    ([0.722, 1.0], [0.0, 0.161])
    """
    if count == 0:
        return 0.0, 1.0
    centre = (found + z**2 / 2) / (count + z**2)
    half = z * math.sqrt(found * (count - found) / count + z**2 / 4) / (count + z**2)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def contradictions(runs: pd.DataFrame) -> pd.DataFrame:
    """Rows that must not exist, of all repetitions, with the column ``reason``; no row: all results can be true."""
    attained = runs["reference_bound"].fillna(runs.groupby("problem")["bound"].transform("min"))
    reasons = {
        "it claims an optimum that the recomputed residuals deny": runs["claims"] & ~runs["success"],
        "its bound lies below the certified optimum": runs["gap"] < -BELOW,
        "its proven lower bound lies above the optimum": runs["lower_bound"] > attained + BELOW,
    }
    found = pd.concat([runs[which].assign(reason=reason) for reason, which in reasons.items()])
    return found.sort_index(kind="stable").drop_duplicates(["method", "problem", "reason"])


def verdict_text(runs: pd.DataFrame, longest: int = 5) -> str:
    """Whether all results can be true, in the words of the terminal and of the page."""
    wrong = contradictions(runs)
    if wrong.empty:
        return "No result contradicts another: every claim is supported, and no bound is below a certified optimum."
    named = [f"{row.method} on {row.problem}: {row.reason}" for row in wrong.head(longest).itertuples()]
    more = f"; and {len(wrong) - longest} more" if len(wrong) > longest else ""
    return f"{len(wrong)} contradiction{'s' * (len(wrong) > 1)}! {'; '.join(named)}{more}."


def disagreements(each: pd.DataFrame) -> int:
    """On how many problems two supported claims of an optimum differ: at least one of them is a local minimum."""
    claims = each[each["success"]].groupby("problem")["bound"]
    return int((claims.max() - claims.min() > CORRECT_GAP).sum())


def change(first: pd.Series, second: pd.Series) -> str:
    """How the times of the same cells changed between two runs."""
    ratio = ((second + MOMENT) / (first + MOMENT)).median()
    return "slower" if ratio > NOTABLE else "faster" if ratio < 1 / NOTABLE else "about as fast"
