"""The results in a terminal: the table of solvers and the verdict."""

from collections.abc import Iterator

import pandas as pd

from pacb_models.terminal import Column, aligned

from ..verdict import Judged
from .wording import counted, duration, listed, significant

_NUMBERS = ("found", "elsewhere", "false claims", "median", "90 %", "× fastest")


def text(judged: Judged) -> str:
    """What a run came to."""
    runs, rows = judged.runs, []
    for row in judged.by_solver.itertuples():
        times = duration(row.median, 2), duration(row.ninety, 2), significant(row.relative, 2)
        rows.append([row.method, f"{row.found} of {row.runs}", str(row.elsewhere), str(row.false_claims), *times])
    lines = aligned([Column("solver", numeric=False), *map(Column, _NUMBERS)], rows)
    lines.append("elsewhere: ended in another local minimum, which is no false claim")
    lines.append("times: of the runs that found the optimum, set-up included")
    if (repetitions := int(runs["repetition"].max()) + 1) > 1:
        lines.append(f"of {repetitions} repetitions the median time counts, and the worst outcome")
    return "\n".join([*lines, *caveats(runs), judged.sentence()])


def caveats(runs: pd.DataFrame) -> Iterator[str]:
    """Which times cannot be compared, and which solvers have none; here and in the report."""
    if parallel := int(runs["parallel"].sum()):
        which = "All times" if parallel == len(runs) else f"The times of {counted(parallel, 'run')}"
        yield f"{which} were measured while other runs shared the machine; do not compare them with a serial run's."
    absent = runs.loc[runs["status"] == "unavailable", "method"].unique()
    if len(absent):
        yield f"Not measured, because their software is missing: {listed(absent)}."
