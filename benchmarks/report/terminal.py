"""The results in a terminal: the table of solvers and the verdict."""

from __future__ import annotations

import pandas as pd

from .. import verdict
from .wording import duration, significant


def text(runs: pd.DataFrame) -> str:
    """What a run came to (rows as :func:`..verdict.judged` returns them)."""
    each = verdict.comparable(verdict.condensed(runs))
    lines = [f"{'solver':<16} {'found':>12} {'false claims':>13} {'median':>10} {'90 %':>10} {'× fastest':>10}"]
    for row in verdict.by_solver(each).itertuples():
        times = [duration(value, 2) if row.found else "–" for value in (row.median, row.ninety)]
        ratio = significant(row.relative, 2) if row.found else "–"
        lines.append(
            f"{row.method:<16} {f'{row.found} of {row.runs}':>12} {row.false_claims:>13} {times[0]:>10} {times[1]:>10} "
            f"{ratio:>10}"
        )
    lines.append("times: of the runs that found the optimum, set-up included")
    absent = runs.loc[runs["status"] == "unavailable", "method"].unique()
    if len(absent):
        lines.append(f"not measured, because their software is missing: {', '.join(absent)}")
    repetitions = int(runs["repetition"].max()) + 1
    if repetitions > 1:
        lines.append(f"of {repetitions} repetitions the median time counts, and the worst outcome")
    if runs["parallel"].any():
        lines.append("times come from a parallel run and are not comparable with those of a serial one")
    return "\n".join([*lines, verdict.verdict_text(runs)])
