"""The report's tables: one description of each, written as HTML, Markdown and LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...wording import at_most
from .. import summary
from ..environment import Environments
from ..results import LEVELS, reach_field
from . import analysis
from .wording import percent, scientific, significant, status_text


@dataclass(frozen=True)
class Cell:
    """What is shown, what it is sorted by, and how dark its background is (a share, for matrices)."""

    text: str
    value: float | str
    shade: float | None = None

    @property
    def sort_key(self) -> str:
        """The value for the page's sorting script; empty, hence last, where there is no number."""
        if isinstance(self.value, str):
            return self.value
        return "" if math.isnan(self.value) else repr(float(self.value))


@dataclass(frozen=True)
class Column:
    """A heading and the way a record's value is shown; numbers are set flush right."""

    title: str
    key: str
    show: Callable[[Any], str] = str
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A named table with a caption."""

    name: str
    caption: str
    titles: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, name: str, caption: str, columns: Sequence[Column], records: pd.DataFrame) -> Table:
        """The columns of a data frame, each shown its way."""
        rows = tuple(tuple(_cell(column, record[column.key]) for column in columns) for _, record in records.iterrows())
        return cls(name, caption, tuple(c.title for c in columns), tuple(c.numeric for c in columns), rows)


def _cell(column: Column, value: Any) -> Cell:
    if column.numeric:
        number = float("nan") if value is None else float(value)
        return Cell("–" if math.isnan(number) else column.show(value), number)
    text = column.show(value)
    return Cell(text, text)


def _integer(value: float) -> str:
    return f"{value:.0f}"


def _milliseconds(seconds: float) -> str:
    return significant(1e3 * seconds)


def _interval(runs: pd.DataFrame) -> tuple[Column, ...]:
    """Columns with the interval of the repetitions, where there are any."""
    if runs["repetition"].max() == 0:
        return ()
    return Column("from", "low", _milliseconds), Column("to", "high", _milliseconds)


def choices_table(runs: pd.DataFrame) -> Table:
    """For each class of problems the solver to take, and what it costs to take another."""
    records = pd.DataFrame(
        [
            {
                "kind": kind,
                "H": "unknown" if math.isnan(size) else f"up to {size:.0f}",
                "problems": int(rows["runs"].max()),
                "take": rows["method"].iloc[0] if rows["found"].iloc[0] else "–",
                "found": int(rows["found"].iloc[0]),
                "mean_seconds": rows["mean_seconds"].iloc[0],
                "others": _others(rows),
            }
            for (kind, size), rows in analysis.by_class(runs).groupby(["kind", "H"], sort=False, dropna=False)
        ]
    )
    columns = (
        Column("distance", "kind", numeric=False),
        Column("H", "H", numeric=False),
        Column("problems", "problems", _integer),
        Column("take", "take", numeric=False),
        Column("optima found", "found", _integer),
        Column("mean time [ms]", "mean_seconds", _milliseconds),
        Column("another instead: times its time, optima missed", "others", numeric=False),
    )
    caption = (
        "For each distance and decade of H: the solver that finds most of the optima, the fastest where several find "
        "as many, and what each other one costs: how many times longer it takes, and the optima that it misses, for "
        "which it is charged the time limit. A solver that was given fewer problems, as the text says, is set against "
        "the first one on those."
    )
    return Table.of("choices", caption, columns, records)


def _others(rows: pd.DataFrame) -> str:
    """What it costs to take another method than the first."""
    texts, most = [], rows["runs"].max()
    for row in rows.iloc[1:].itertuples():
        missed = row.runs - row.found
        cost = f"×\u00a0{significant(row.relative_time, 2)}"
        given = f", misses {missed} of {row.runs}" if missed else f", of {row.runs}" if row.runs < most else ""
        texts.append(f"{row.method} {cost}{given}")
    return "; ".join(texts) or "–"


def pairwise_table(kind: str, runs: pd.DataFrame) -> Table:
    """Who is faster than whom, in pairs, shaded by share."""
    faster, common = analysis.pairwise(runs)
    rows = []
    for method in faster.index:
        cells = [Cell(method, method)]
        for other in faster.columns:
            wins, count = faster.at[method, other], common.at[method, other]
            share = wins / count if count else math.nan
            shown = method != other and count > 0
            cells.append(Cell(f"{wins}/{count}" if shown else "–", share if shown else math.nan))
        rows.append(tuple(cells))
    caption = (
        f"The {kind} distance: on how many of their common problems the solver of the line finds the optimum sooner "
        "than the solver of the column; failures are never sooner."
    )
    titles = ("sooner than →", *faster.columns)
    return Table(f"pairs-{slug(kind)}", caption, titles, (False, *(True for _ in faster.columns)), tuple(rows))


def levels_table(runs: pd.DataFrame) -> Table:
    """How often and how soon each accuracy is reached."""
    lines = []
    for kind, group in runs.groupby("kind", sort=False):
        for method, rows in group.groupby(group["method"].map(analysis.without_tolerance), sort=False):
            line: dict[str, Any] = {"kind": kind, "method": method, "problems": rows["problem"].nunique()}
            for level in LEVELS:
                times = rows.groupby("problem")[reach_field(level)].min().dropna()
                line[f"reached {level}"] = len(times)
                line[f"seconds {level}"] = times.median()
            lines.append(line)
    columns = [Column("distance", "kind", numeric=False), Column("solver", "method", numeric=False)]
    columns.append(Column("problems", "problems", _integer))
    for level in LEVELS:
        columns.append(Column(f"within {level:.0e}", f"reached {level}", _integer))
        columns.append(Column("median [ms]", f"seconds {level}", _milliseconds))
    caption = (
        "Problems on which the gap came to be at most 1e-3, 1e-6, 1e-9, whatever was claimed, and the median time "
        "until then. From the solver's trace where it has one, scaled to its measured time, else its whole time; of "
        "several tolerances the quickest that gets there counts."
    )
    return Table.of("levels", caption, columns, pd.DataFrame(lines))


def merging_table(runs: pd.DataFrame) -> Table | None:
    """With and without merging of equal risks; none where a suite does not have both."""
    records = analysis.merging(runs)
    if records.empty:
        return None
    records["gain"] = records["raw"] / records["with"]
    columns = (
        Column("distance", "kind", numeric=False),
        Column("solver", "method", numeric=False),
        Column("H", "H", _integer),
        Column("merged into", "merged", _integer),
        Column("problems", "problems", _integer),
        Column("found, raw", "raw_found", _integer),
        Column("found, merged", "merged_found", _integer),
        Column("raw [ms]", "raw", _milliseconds),
        Column("merged [ms]", "with", _milliseconds),
        Column("times faster", "gain", significant),
        Column("largest difference of bounds", "difference", scientific),
    )
    caption = (
        "Classifiers of equal risk as one, which changes no minimum, beside the problem as it is. Times: geometric "
        "means, merging included, over the problems whose optimum was found both ways."
    )
    return Table.of("merging", caption, columns, records)


def solvers_table(runs: pd.DataFrame) -> Table:
    """The summary by solver."""
    records = summary.by_solver(runs)
    records["failures"] = records["failures"].map(status_text)
    columns = (
        Column("solver", "solver", numeric=False),
        Column("runs", "cells", _integer),
        Column("success %", "success_percent", lambda value: percent(value / 100).removesuffix(" %")),
        Column("correct %", "correct_percent", lambda value: percent(value / 100).removesuffix(" %")),
        Column("worst gap of a success", "worst_gap", scientific),
        Column("mean time [ms]", "mean_seconds", _milliseconds),
        *_interval(runs),
        Column("failures", "failures", numeric=False),
    )
    caption = (
        "Success: claimed, and confirmed by recomputed residuals. Correct: within 1e-7 of the certified optimum, "
        f"whatever is claimed. Mean time: shifted geometric mean (shift {summary.SHIFT:g} s) of set-up and "
        "solving, failures charged the time limit. Not every solver can handle every distance: compare times in the "
        "next table."
    )
    return Table.of("solvers", caption, columns, records)


def kinds_table(runs: pd.DataFrame) -> Table:
    """Optima found and time, distance by distance."""
    columns = (
        Column("distance", "kind", numeric=False),
        Column("solver", "method", numeric=False),
        Column("runs", "runs", _integer),
        Column("optima found", "found", _integer),
        Column("mean time [ms]", "mean_seconds", _milliseconds),
        *_interval(runs),
        Column("times the first", "relative_time", significant),
    )
    caption = (
        "An optimum is found when the run is a success within 1e-7 of the certified optimum; whatever misses it is "
        "charged the time limit. The last column compares with the first solver of the distance on the problems that "
        "both were given: the mean times of solvers with fewer runs are those of easier problems."
    )
    return Table.of("distances", caption, columns, analysis.by_kind(runs))


def failures_table(runs: pd.DataFrame) -> Table:
    """Every kind of miss with an example of its message."""
    records = analysis.failures(runs)
    columns = (
        Column("solver", "method", numeric=False),
        Column("distance", "kind", numeric=False),
        Column("H", "H", _integer),
        Column("outcome", "outcome", status_text, numeric=False),
        Column("runs", "runs", _integer),
        Column("largest gap", "largest_gap", scientific),
        Column("data sets", "datasets", lambda names: ", ".join(names), numeric=False),
        Column("first message", "message", lambda text: _shortened(text or ""), numeric=False),
    )
    caption = "Runs that did not find the certified optimum."
    return Table.of("failures", caption, columns, records)


def _shortened(text: str, length: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def agreement_table(runs: pd.DataFrame, claims_only: bool) -> Table:
    """The agreement matrix, shaded by share."""
    shares, common = analysis.agreement(runs, claims_only)
    rows = []
    for method in shares.index:
        cells = [Cell(method, method)]
        for other in shares.columns:
            share, count = shares.at[method, other], common.at[method, other]
            text = f"{round(share * count)}/{count}" if count else "–"
            cells.append(Cell(text, share, None if math.isnan(share) else share))
        rows.append(tuple(cells))
    which = "both claim optimality" if claims_only else "both returned a bound, claimed or not"
    caption = f"On how many of their common problems two bounds agree within 1e-7. Common are those where {which}."
    titles = ("solver", *shares.columns)
    name = "agreement-claims" if claims_only else "agreement-bounds"
    return Table(name, caption, titles, (False, *(True for _ in shares.columns)), tuple(rows))


def growth_table(runs: pd.DataFrame) -> Table | None:
    """Fitted exponents; none where no solver was seen at three sizes."""
    records = analysis.exponents(analysis.growth(runs))
    if records.empty:
        return None
    columns = [
        Column("distance", "kind", numeric=False),
        Column("solver", "method", numeric=False),
        Column("sizes", "sizes", _integer),
        Column("largest H", "largest", _integer),
        Column("time there [ms]", "seconds_there", _milliseconds),
        Column("exponent of time", "exponent", lambda value: f"{value:.2f}"),
    ]
    if records["memory_exponent"].notna().any():
        columns.append(Column("exponent of memory", "memory_exponent", lambda value: f"{value:.2f}"))
    caption = (
        "Least-squares fit of ln(time) against ln(H) over all sizes at which the solver found the optimum (geometric "
        "mean of the runs at each size). Fixed costs flatten the slope at small H."
    )
    return Table.of("growth", caption, columns, records)


def gaps_table(runs: pd.DataFrame) -> Table:
    """Quantiles of the gap."""
    columns = (
        Column("solver", "method", numeric=False),
        Column("bounds", "bounds", _integer),
        Column("median gap", "median", scientific),
        Column("90 % quantile", "ninety", scientific),
        Column("largest", "largest", scientific),
        Column("smallest", "smallest", scientific),
        Column("claims", "claims", _integer),
        Column("largest of a claim", "largest_claimed", scientific),
    )
    caption = (
        "Gap: recomputed bound minus certified optimum. Rounding makes some gaps negative, by no more than about "
        f"1e-15; one below −{summary.BELOW:g} would contradict the certificate."
    )
    return Table.of("gaps", caption, columns, analysis.gaps(runs))


def posteriors_table(records: pd.DataFrame) -> Table:
    """The optimal posteriors behind the figures."""
    columns = (
        Column("data set", "dataset", numeric=False),
        Column("distance", "kind", numeric=False),
        Column("H", "H", _integer),
        Column("m", "m", _integer),
        Column("bound", "bound", at_most),
        Column("validation risk", "empirical_risk", lambda value: f"{value:.5f}"),
        Column("test risk", "test_risk", lambda value: f"{value:.5f}"),
        Column("support", "support_size", _integer),
    )
    caption = (
        "The optimal posteriors. Validation risk: the empirical risk that the bound uses; test risk: the same weights "
        "on examples that neither training nor weighting has seen; support: classifiers with positive weight."
    )
    return Table.of("posteriors", caption, columns, records)


def environment_table(environments: Environments, runs: pd.DataFrame) -> Table:
    """The machines and the software, a column for each environment."""
    used = environments_used(environments, runs)
    described = {number: dict(_flat(entry)) for number, entry in used.items()}
    names = dict.fromkeys(name for facts in described.values() for name in facts)
    rows = [_environment_row("runs", [int((runs["environment"] == number).sum()) for number in used])]
    rows += [_environment_row(name, [facts.get(name) for facts in described.values()]) for name in names]
    titles = ("what", *(f"environment {number}" if len(used) > 1 else "value" for number in used))
    return Table("environment", "Where these figures come from.", titles, (False,) * len(titles), tuple(rows))


def _environment_row(name: str, values: Sequence[Any]) -> tuple[Cell, ...]:
    texts = [
        "not installed" if value is None else f"{value / 2**30:.1f} GiB" if name == "memory" else str(value)
        for value in values
    ]
    return tuple(Cell(text, text) for text in (name, *texts))


def environments_used(environments: Environments, runs: pd.DataFrame) -> dict[int, dict[str, Any]]:
    """The environments that runs name, by number; all of them, should none be named."""
    numbers = sorted({int(number) for number in runs["environment"].dropna()})
    return {number: environments.entry(number) for number in numbers}


def differences(entries: Sequence[dict[str, Any]]) -> list[str]:
    """The facts in which environments differ, the date aside."""
    flat = [dict(_flat(entry)) for entry in entries]
    names = dict.fromkeys(name for facts in flat for name in facts if name != "date")
    return [name for name in names if len({str(facts.get(name)) for facts in flat}) > 1]


def _flat(environment: dict[str, Any]) -> list[tuple[str, Any]]:
    entries: list[tuple[str, Any]] = []
    for name, value in environment.items():
        entries += value.items() if isinstance(value, dict) else [(name.removesuffix("_bytes"), value)]
    return entries


def slug(text: str) -> str:
    """A file name made of the text's letters, digits, dots and hyphens."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.").lower()


def as_markdown(table: Table) -> str:
    """A pipe table under its caption."""
    marks = [" ---: " if numeric else " --- " for numeric in table.numeric]
    lines = [f"{table.caption}\n", pipes(list(map(markdown_text, table.titles))), f"|{'|'.join(marks)}|"]
    lines += [pipes([markdown_text(cell.text) for cell in row]) for row in table.rows]
    return "\n".join(lines) + "\n"


def pipes(texts: Sequence[str]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(text.replace("|", r"\|") for text in texts) + " |"


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, on one line; pipes are left to :func:`pipes`.

    >>> markdown_text("<b>*a*</b>\\n[x](y)")
    '&lt;b&gt;\\\\*a\\\\*&lt;/b&gt; \\\\[x\\\\](y)'
    """
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]~#])", r"\\\1", line)


_LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "–": "--",
    "−": "$-$",
    "…": r"\dots{}",
    "×": r"$\times$",
    "χ": r"$\chi$",
    "²": r"$^2$",
    "µ": r"$\mu$",
    "λ": r"$\lambda$",
    "δ": r"$\delta$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\to$",
    "\u00a0": "~",
}


def latex_text(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> latex_text("50 % of χ²_a")
    '50 \\\\% of $\\\\chi$$^2$\\\\_a'
    """
    return "".join(_LATEX.get(mark, mark) for mark in text)


def as_latex(table: Table) -> str:
    """A floating table in the style of booktabs."""
    alignment = "".join("r" if numeric else "l" for numeric in table.numeric)
    body = [" & ".join(latex_text(cell.text) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(map(latex_text, table.titles)) + r" \\"
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(table.caption)}}}",
            rf"\label{{tab:bench-{table.name}}}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
