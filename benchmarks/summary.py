"""Who finds the optimum, how often, how fast: the figures that every report starts with."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

#: Seconds added before, and subtracted after, taking the geometric mean of times, so that microseconds do not rule it.
#: Typical solves take milliseconds to seconds, hence ten milliseconds.
SHIFT = 0.01

#: A bound below the certified optimum by more than this contradicts the certificate.
BELOW = 1e-9


def shifted_geometric_mean(seconds: pd.Series, shift: float = SHIFT) -> float:
    r"""The mean :math:`\exp(\mathrm{mean}\,\ln(t + s)) - s` with shift ``s``."""
    return float(np.exp(np.log(seconds.astype(float) + shift).mean()) - shift)


def method_names(results: pd.DataFrame) -> pd.Series:
    """Each row's solver and, where it was given any, its settings: "ipopt", "ipopt starts=5"."""
    names = []
    for solver, settings in zip(results["solver"], results["settings"]):
        given = json.loads(settings or "{}")
        names.append(" ".join([solver, *(f"{name}={value}" for name, value in sorted(given.items()))]))
    return pd.Series(names, index=results.index, dtype=object)


def by_solver(results: pd.DataFrame) -> pd.DataFrame:
    """One line per solver: cells, success rate, correct rate, worst gap of a success, time relative to the fastest.

    A solver with other settings is another line. Solvers are compared on the cells they can handle; what is no success
    is charged the time limit.
    """
    lines = []
    for solver, rows in results.groupby(method_names(results), sort=False):
        successes = rows[rows["success"].astype(bool)]
        lines.append(
            {
                "solver": solver,
                "cells": len(rows),
                "success_percent": 100.0 * rows["success"].astype(bool).mean(),
                "correct_percent": 100.0 * rows["correct"].astype(bool).mean(),
                "worst_gap": successes["gap"].astype(float).max() if len(successes) else np.nan,
                "mean_seconds": shifted_geometric_mean(rows["charged_seconds"]),
                "failures": _failures(rows),
            }
        )
    table = pd.DataFrame(lines)
    table["relative_time"] = table["mean_seconds"] / table["mean_seconds"].min()
    return table.sort_values(["success_percent", "mean_seconds"], ascending=[False, True], ignore_index=True)


def _failures(rows: pd.DataFrame) -> str:
    counts = rows.loc[~rows["success"].astype(bool), "status"].value_counts()
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def contradictions(results: pd.DataFrame) -> pd.DataFrame:
    """Rows that must not exist: a claim that the residuals deny, or a bound below the certified optimum."""
    below = results["gap"].astype(float) < -BELOW
    false_claim = results["claims"].astype(bool) & ~results["success"].astype(bool)
    return results[below | false_claim]


def text(results: pd.DataFrame) -> str:
    """The table of :func:`by_solver` for a terminal."""
    lines = [f"{'solver':<14} {'cells':>5} {'success':>8} {'correct':>8} {'worst gap':>10} {'mean time':>11}  failures"]
    for row in by_solver(results).itertuples():
        gap = "-" if np.isnan(row.worst_gap) else f"{row.worst_gap:.1e}"
        lines.append(
            f"{row.solver:<14} {row.cells:>5} {row.success_percent:>7.1f}% {row.correct_percent:>7.1f}% {gap:>10} "
            f"{row.mean_seconds:>9.4f} s  {row.failures}".rstrip()
        )
    lines.append(f"mean time: shifted geometric mean (shift {SHIFT:g} s); failures are charged the time limit")
    wrong = contradictions(results)
    if len(wrong):
        lines.append(
            f"{len(wrong)} contradictions: " + "; ".join(f"{r.solver} on {r.problem}" for r in wrong.itertuples())
        )
    if results["parallel"].astype(bool).any():
        lines.append("timings come from a parallel run and are not comparable with those of a serial one")
    return "\n".join(lines)
