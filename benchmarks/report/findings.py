"""The summary in sentences: who wins, where each solver fails, and whether any result contradicts another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .. import summary
from ..runner import CORRECT_GAP
from . import analysis
from .wording import counted, duration, listed, scientific, significant, status_text


class Finding(NamedTuple):
    """A sentence and what it is about."""

    subject: str
    text: str


def winners(runs: pd.DataFrame) -> list[Finding]:
    """For each kind of problem the method that found most optima, the fastest where several found as many."""
    table = analysis.by_kind(runs)
    return [Finding(kind, _ranking(rows)) for kind, rows in table.groupby("kind", sort=False)]


def _ranking(rows: pd.DataFrame) -> str:
    best = rows.iloc[0]
    if best["found"] == 0:
        return f"no solver found an optimum ({listed(list(rows['method']))} tried)."
    count = counted(best["runs"], "optimum", "optima")
    tally = f"all {count} found" if best["found"] == best["runs"] else f"{best['found']} of {count} found"
    sentences = [f"take {best['method']}: {tally}, in {duration(best['mean_seconds'])} on average."]
    others = rows.iloc[1:]
    complete = others["found"] == others["runs"]
    fewer = others["runs"] < best["runs"]
    if len(as_many := others[complete & ~fewer]):
        names = [f"{row.method} ({_times(row)})" for row in as_many.itertuples()]
        sentences.append(f"All found too, in more time, by {listed(names)}.")
    if len(of_fewer := others[complete & fewer]):
        names = [f"{row.method} ({row.found}, {_times(row)})" for row in of_fewer.itertuples()]
        sentences.append(f"All of the fewer problems that they were given, by {listed(names)}.")
    if len(partial := others[~complete]):
        tallies = [f"{row.method} found {row.found} of {row.runs}" for row in partial.itertuples()]
        sentences.append(f"{listed(tallies)}.")
    return " ".join(sentences)


def _times(row: Any) -> str:
    return f"×\u00a0{significant(row.relative_time, 2)}"


def weaknesses(runs: pd.DataFrame) -> list[Finding]:
    """Where each method misses the optimum, the flawless ones in one sentence."""
    missed = analysis.failures(runs)
    totals = runs.groupby("method", sort=False)["found"].agg(["size", "sum"])
    flawless = [method for method, row in totals.iterrows() if row["size"] == row["sum"]]
    found = [Finding(listed(flawless), "found the optimum in every run.")] if flawless else []
    for method, rows in missed.groupby("method", sort=False):
        found.append(Finding(method, _misses(rows, totals.loc[method, "size"])))
    return found


def _misses(rows: pd.DataFrame, tried: int) -> str:
    if set(rows["outcome"]) == {"unavailable"} and rows["runs"].sum() == tried:
        return f"did not run: {rows['message'].iloc[0]}"
    reasons = []
    for outcome, group in rows.groupby("outcome", sort=False):
        gap = group["largest_gap"].max()
        worst = f", gap up to {scientific(gap)}" if np.isfinite(gap) and gap > CORRECT_GAP else ""
        reasons.append(f"{group['runs'].sum()} × {status_text(outcome)} ({_places(group)}{worst})")
    return f"missed the optimum in {rows['runs'].sum()} of {counted(tried, 'run')}: {'; '.join(reasons)}."


def _places(rows: pd.DataFrame) -> str:
    places = []
    for kind, group in rows.groupby("kind", sort=False):
        sizes = [f"{size:.0f}" for size in sorted(group["H"].dropna().unique())]
        places.append(f"{kind} at H\u00a0=\u00a0{listed(sizes)}" if sizes else str(kind))
    return "; ".join(places)


def verdicts(runs: pd.DataFrame) -> list[Finding]:
    """Whether the results can all be true."""
    below = runs["gap"] < -summary.BELOW
    false_claims = runs["claims"] & ~runs["success"]
    return [_certificate(runs[below]), _claims(runs[false_claims]), _agreement(runs)]


def _certificate(rows: pd.DataFrame) -> Finding:
    if rows.empty:
        return Finding("Certified optimum", f"no bound lies below it by more than {summary.BELOW:g}.")
    return Finding("Certified optimum", f"contradicted by {_named(rows)}.")


def _claims(rows: pd.DataFrame) -> Finding:
    if rows.empty:
        return Finding("Claims", "the residuals recomputed from the weights support every claim of optimality.")
    return Finding("Claims", f"the recomputed residuals deny those of {_named(rows)}.")


def _agreement(runs: pd.DataFrame) -> Finding:
    claimed = runs[runs["success"]].groupby("problem")["method"].nunique()
    if not (claimed > 1).any():
        return Finding("Agreement", "no problem was claimed solved by two solvers.")
    worse = analysis.worse_claims(runs)
    if worse.empty:
        return Finding("Agreement", "where solvers claim the optimum, their bounds agree within 1e-7, every time.")
    counts = [
        f"{method} ({counted(number, 'run')})" for method, number in worse.value_counts("method", sort=False).items()
    ]
    return Finding("Agreement", f"claims that another solver's undercuts by more than 1e-7: {listed(counts)}.")


def _named(rows: pd.DataFrame) -> str:
    return listed([f"{row.method} on {row.problem}" for row in rows.itertuples()])
