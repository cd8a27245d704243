"""The results in a terminal: the table of solvers and the verdict."""

from __future__ import annotations

from ..verdict import Judged
from .wording import duration, significant


def text(judged: Judged) -> str:
    """What a run came to."""
    runs = judged.runs
    lines = [
        f"{'solver':<16} {'found':>12} {'elsewhere':>10} {'false claims':>13} {'median':>10} {'90 %':>10} "
        f"{'× fastest':>10}"
    ]
    for row in judged.by_solver.itertuples():
        times = [duration(value, 2) if row.found else "–" for value in (row.median, row.ninety)]
        ratio = significant(row.relative, 2) if row.found else "–"
        lines.append(
            f"{row.method:<16} {f'{row.found} of {row.runs}':>12} {row.elsewhere:>10} {row.false_claims:>13} "
            f"{times[0]:>10} {times[1]:>10} {ratio:>10}"
        )
    lines.append("elsewhere: ended in another local minimum, which is no false claim")
    lines.append("times: of the runs that found the optimum, set-up included")
    absent = runs.loc[runs["status"] == "unavailable", "method"].unique()
    if len(absent):
        lines.append(f"not measured, because their software is missing: {', '.join(absent)}")
    repetitions = int(runs["repetition"].max()) + 1
    if repetitions > 1:
        lines.append(f"of {repetitions} repetitions the median time counts, and the worst outcome")
    if runs["parallel"].any():
        lines.append("times come from a parallel run and are not comparable with those of a serial one")
    return "\n".join([*lines, judged.sentence()])
