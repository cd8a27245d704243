"""What is behind the report's closed details: tables and pictures for who wants to know more."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ..harness.measurement import LEVELS
from ..verdict import Judged
from . import pictures
from .drawing import Looks
from .tables import Column, Entry, Group, Part, Table
from .wording import percent, said, scientific, significant

#: Longer tables are cut: all of it is in the results.
LONGEST = 20

#: Up to so many problems have a table of their bounds.
MOST_PROBLEMS = 12

#: What tables begin with, and how counts are shown.
SOLVER, COUNT = Column("solver", "method", numeric=False), "{:.0f}".format


def details(judged: Judged, looks: Looks) -> Iterator[Part]:
    """Yield every part that the runs have something for."""
    each = judged.comparable
    yield from filter(None, [families(judged) if each["start"].nunique() == 1 else None, _bounds(judged)])
    if each[list(LEVELS)].notna().any(axis=None):
        kept = {f"reached {name}": (name, "count") for name in LEVELS} | {name: (name, "median") for name in LEVELS}
        table = each.groupby("method").agg(runs=("key", "size"), **kept).loc[list(judged.by_solver["method"])]
        columns = [SOLVER, Column("runs", "runs", COUNT)]
        for name, level in LEVELS.items():
            columns += [Column(f"to {level:.0e}", f"reached {name}", COUNT), Column("[ms]", name, milliseconds)]
        yield part_of("levels", "Time to three accuracies", columns, table.reset_index(), said("levels"))
    problems = each.groupby("kind", sort=False)["problem"].nunique().sort_values(ascending=False, kind="stable")
    # The three largest kinds, of ten problems at least.
    kinds = [str(kind) for kind, count in problems.items() if count >= 10][:3]
    if kinds and each["method"].nunique() > 1:
        drawn = [pictures.profile(each[each["kind"] == kind], looks, kind, number) for number, kind in enumerate(kinds)]
        yield Part("profiles", "Performance profiles", said("profiles"), tuple(drawn))
    if kinds := pictures.growth_kinds(each[each["peak_memory_bytes"] > 0]):
        grown = pictures.growth(each, looks, kinds, "peak_memory_bytes", "memory")
        yield Part("memory", "Memory against the number of classifiers", pictures=grown)
    yield from filter(None, [_merging(judged.condensed), _misses(each)])


def milliseconds(seconds: float) -> str:
    """Return seconds in a column of milliseconds."""
    return significant(1e3 * seconds, 2)


def part_of(anchor: str, title: str, columns: Sequence[Column], records: pd.DataFrame, text: str = "") -> Part:
    """Return a part with one table, of the same name."""
    return Part(anchor, title, text, tables=(Table.of(anchor, "", columns, records),))


def families(judged: Judged) -> Part | None:
    """Return optima found by each solver on each family: a count, or from several starts a rate."""
    each, names = judged.comparable, judged.comparable["family"]
    if names.nunique() < 2:
        return None
    grouped = each.groupby(["method", names])["found"]
    texts = grouped.sum().astype(str) + "/" + grouped.count().astype(str)
    title = "Optima found, family by family"
    if each["start"].nunique() > 1:
        texts = grouped.mean().map(percent)
        rates = each[each["local"]].groupby(names)["found"].mean().sort_values()
        title = (
            f"Random starts lead to the optimum in {percent(rates.iloc[-1])} of runs on {rates.index[-1]} problems, "
            f"in {percent(rates.iloc[0])} on {rates.index[0]} problems"
        )
    table = texts.unstack().reindex(list(judged.by_solver["method"])).fillna("–")
    columns = [SOLVER, *(Column(str(name), name, numeric=False) for name in dict.fromkeys(names))]
    return part_of("families", title, columns, table.reset_index())


def _bounds(judged: Judged) -> Part | None:
    """Return problems against solvers, where they are few."""
    each, methods = judged.comparable, list(judged.by_solver["method"])
    if each["problem"].nunique() > MOST_PROBLEMS:
        return None
    rows = []
    for problem, of_problem in each.groupby("problem", sort=False):
        least = of_problem["reference_bound"].iloc[0]
        known = np.isfinite(least)
        cells = [Entry(str(problem)), Entry(f"{least:.8f}" if known else "–")]
        for method in methods:
            mine = of_problem[of_problem["method"] == method]
            worst = (mine["gap"] if known else mine["bound"]).max()
            # Less than this is rounding.
            worst = 0.0 if known and abs(worst) < 1e-12 else worst
            text = "–" if np.isnan(worst) else scientific(worst) if known else f"{worst:.8f}"
            cells.append(Entry(text, "best" if len(mine) and mine["found"].all() else "", float(worst)))
        rows.append(cells)
    groups = Group("", ("problem",)), Group("", ("minimum", *methods))
    table = Table("bounds", "", groups, rows)
    return Part("bounds", "Bounds, problem by problem", said("bounds"), tables=(table,))


def _merging(cells: pd.DataFrame) -> Part | None:
    place = ["method", "problem", "start"]
    sides = [cells[cells["merged"] == side].drop_duplicates(place).set_index(place) for side in (False, True)]
    both = sides[0].merge(sides[1], left_index=True, right_index=True, suffixes=("_raw", "_merged"))
    if both.empty:
        return None
    solved = both["found_raw"] & both["found_merged"]
    times = {side: both[f"total_seconds_{side}"].where(solved) for side in ("raw", "merged")}
    times["faster"] = times["raw"] / times["merged"].clip(lower=1e-9)
    kept = {"problems": ("key_raw", "size")} | {name: (name, "median") for name in times}
    kept |= {f"found {side}": (f"found_{side}", "sum") for side in ("raw", "merged")}
    table = both[["key_raw", "found_raw", "found_merged"]].assign(**times).groupby("method", sort=False).agg(**kept)
    columns = [SOLVER, Column("problems", "problems", COUNT)]
    columns += [Column(f"found, {side}", f"found {side}", COUNT) for side in ("raw", "merged")]
    columns += [Column(f"{side} [ms]", side, milliseconds) for side in ("raw", "merged")]
    columns.append(Column("times faster", "faster", lambda value: significant(value, 2)))
    title = "Equal risks merged, beside the problem as it is"
    return part_of("merging", title, columns, table.reset_index(), said("merging"))


def _misses(each: pd.DataFrame) -> Part | None:
    wrong = each[~each["found"]]
    if wrong.empty:
        return None
    table = wrong.groupby(["method", "kind", "status"], sort=False, dropna=False).agg(
        runs=("key", "size"),
        gap=("gap", "max"),
        simplex=("simplex_residual", "max"),
        constraints=("constraint_residual", "max"),
        message=("message", lambda texts: next((text for text in texts if text), "")),
    )
    table = table.reset_index().sort_values("runs", ascending=False, kind="stable")
    columns = [SOLVER, Column("distance", "kind", numeric=False)]
    columns.append(Column("it says", "status", lambda status: status.replace("_", " "), numeric=False))
    columns += [Column("runs", "runs", COUNT), Column("largest gap", "gap", scientific)]
    columns.append(Column("off the simplex", "simplex", scientific))
    if wrong["constraints"].notna().any():
        columns.append(Column("off the constraints", "constraints", scientific))
    columns.append(Column("first message", "message", _shortened, numeric=False))
    more = f"The {LONGEST} most frequent of {len(table)}; the results have all." if len(table) > LONGEST else ""
    return part_of("misses", "What solvers that missed say", columns, table.head(LONGEST), more)


def _shortened(text: str, length: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
