"""Who finds the optimum, how often, how fast: the figures that every report starts with."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

#: Seconds added before, and subtracted after, taking the geometric mean of times, so that microseconds do not rule it.
#: Typical solves take milliseconds to seconds, hence ten milliseconds.
SHIFT = 0.01

#: What a solver's name has where it was given the problem with equal risks merged.
MERGED = "merged"

#: A bound below the certified optimum by more than this contradicts the certificate.
BELOW = 1e-9


def shifted_geometric_mean(seconds: pd.Series, shift: float = SHIFT) -> float:
    r"""The mean :math:`\exp(\mathrm{mean}\,\ln(t + s)) - s` with shift ``s``."""
    return float(np.exp(np.log(seconds.astype(float) + shift).mean()) - shift)


def median_interval(values: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """An interval for the median of the distribution that values were drawn from, and their own median between.

    Its ends are order statistics, so that nothing is assumed of the distribution: the narrowest two that enclose the
    median with probability 95 %. Fewer than six values cannot; their range is given, which does with probability
    1 - 2^(1-n): 75 % for three values, 94 % for five.

    >>> median_interval([3.0, 1.0, 2.0])
    (1.0, 2.0, 3.0)
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    # P(fewer than k of n fall below the median) for k = 1, 2, …
    tails = np.cumsum([math.comb(n, k) / 2.0**n for k in range(n // 2)])
    outside = max(int(np.searchsorted(tails, 0.025, side="right")) - 1, 0)
    return float(ordered[outside]), float(np.median(ordered)), float(ordered[n - 1 - outside])


def mean_times(seconds: pd.Series, cells: pd.Series, repetitions: pd.Series) -> tuple[float, float, float]:
    """The shifted geometric mean over cells in every repetition of a run: its median and the interval around it.

    A cell that was not repeated, as one that ran out of time, counts in every repetition.
    """
    table = pd.DataFrame({"seconds": seconds.astype(float), "cell": cells, "repetition": repetitions})
    wide = table.pivot_table(values="seconds", index="cell", columns="repetition", aggfunc="median")
    whole = wide.T.fillna(wide.median(axis=1))
    return median_interval([shifted_geometric_mean(repetition) for _, repetition in whole.iterrows()])


def method_names(results: pd.DataFrame) -> pd.Series:
    """Each row's solver and, where it was given any, its settings: "ipopt", "ipopt starts=5", "ipopt merged"."""
    names = []
    for solver, settings in zip(results["solver"], results["settings"]):
        given = json.loads(settings or "{}")
        names.append(" ".join([solver, *(_setting(name, value) for name, value in sorted(given.items()))]))
    return pd.Series(names, index=results.index, dtype=object)


def _setting(name: str, value: object) -> str:
    return MERGED if name == "merge" and value else f"{name}={value}"


def by_solver(results: pd.DataFrame) -> pd.DataFrame:
    """One line per solver: cells, success rate, correct rate, worst gap of a success, time relative to the fastest.

    A solver with other settings is another line, and so is one on another machine. Solvers are compared on the cells
    they can handle; a cell counts as a success when every repetition is one, else it is charged the time limit.
    ``mean_seconds`` is the median over repetitions, ``low`` and ``high`` the ends of its interval (see
    :func:`median_interval`).
    """
    lines = []
    several = results["machine"].nunique(dropna=False) > 1
    names = method_names(results)
    for (machine, method), rows in results.groupby([results["machine"], names], sort=False, dropna=False):
        successes = rows[rows["success"].astype(bool)]
        low, mean, high = mean_times(rows["charged_seconds"], rows["key"], rows["repetition"])
        lines.append(
            {
                "solver": f"{method} [machine {machine:.0f}]" if several else method,
                "machine": machine,
                "cells": rows["key"].nunique(),
                "success_percent": 100.0 * rows["success"].astype(bool).groupby(rows["key"]).all().mean(),
                "correct_percent": 100.0 * rows["correct"].astype(bool).groupby(rows["key"]).all().mean(),
                "worst_gap": successes["gap"].astype(float).max() if len(successes) else np.nan,
                "mean_seconds": mean,
                "low": low,
                "high": high,
                "failures": _failures(rows),
            }
        )
    table = pd.DataFrame(lines)
    fastest = table.groupby("machine", dropna=False)["mean_seconds"].transform("min")
    table["relative_time"] = table["mean_seconds"] / fastest
    return table.sort_values(["success_percent", "mean_seconds"], ascending=[False, True], ignore_index=True)


def _failures(rows: pd.DataFrame) -> str:
    counts = rows.loc[~rows["success"].astype(bool)].drop_duplicates("key")["status"].value_counts()
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def contradictions(results: pd.DataFrame) -> pd.DataFrame:
    """Rows that must not exist: a claim that the residuals deny, a bound below the certified optimum, or a proof that
    the optimum is larger.
    """
    below = results["gap"].astype(float) < -BELOW
    below |= results["lower_bound"].astype(float) > results["reference_bound"].astype(float) + BELOW
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
    repetitions = int(results["repetition"].max()) + 1
    if repetitions > 1:
        lines.append(f"the median of {repetitions} repetitions")
    if results["parallel"].astype(bool).any():
        lines.append("timings come from a parallel run and are not comparable with those of a serial one")
    return "\n".join(lines)
