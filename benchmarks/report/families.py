"""What a run says about the families of hard problems, and about the certified optima."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..families import FAMILIES, instances
from .tables import Column, Table
from .wording import percent, scientific, significant

#: A proven lower bound above a certified minimum by more than this contradicts it.
ABOVE = 1e-9


def overview_table(runs: pd.DataFrame) -> Table | None:
    """Who finds the optima of data sets and of hard problems, and the times on the data sets; None without both.

    Merged problems are left out.
    """
    raw = runs[~runs["merged"]]
    minima = raw["problem"].map({frozen.name: frozen.minima for frozen in instances()})
    given = raw[minima.isna() & ~raw["dataset"].isin(list(FAMILIES))]
    if given.empty or minima.isna().all():
        return None
    groups = {"data sets": given, "hard, one minimum": raw[minima == 1], "hard, several minima": raw[minima > 1]}
    sizes = sorted(given["H"].unique())
    lines = []
    for method in raw["method"].unique():
        line = {"method": method, "order": -raw.loc[raw["method"] == method, "found"].sum()}
        for name, rows in groups.items():
            of_method = rows.loc[rows["method"] == method, "found"]
            line[name] = f"{of_method.sum()} of {len(of_method)}" if len(of_method) else "–"
        for size in sizes:
            times = given.loc[(given["method"] == method) & (given["H"] == size) & given["found"], "total_seconds"]
            line[f"ms at H = {size:.0f}"] = 1e3 * np.exp(np.log(times).mean()) if len(times) else np.nan
        lines.append(line)
    columns = [Column("solver", "method", numeric=False)]
    columns += [Column(name, name, numeric=False) for name in groups]
    columns += [Column(name, name, lambda value: significant(value, 2)) for name in list(lines[0])[5:]]
    caption = (
        "Optima found: of the data sets, and of the hard problems with one local minimum and with several. Times: "
        "geometric means of those found on the data sets, set-up included."
    )
    return Table.of("overview", caption, columns, pd.DataFrame(lines).sort_values("order", kind="stable"))


def families_table(runs: pd.DataFrame) -> Table | None:
    """The share of the optima of each family that each solver finds; None without hard problems."""
    hard = runs[runs["dataset"].isin(list(FAMILIES))]
    if hard.empty:
        return None
    shares = hard.pivot_table(index="method", columns="dataset", values="found", aggfunc="mean", sort=False)
    shares = shares[[family for family in FAMILIES if family in shares]]
    minima = hard["problem"].map({frozen.name: frozen.minima for frozen in instances()})
    for name, rows in (("one minimum", hard[minima == 1]), ("several minima", hard[minima > 1]), ("all", hard)):
        if len(rows):
            shares[name] = rows.groupby("method")["found"].mean()
    shares = shares.sort_values("all", ascending=False).reset_index()
    columns = [Column("solver", "method", numeric=False)]
    columns += [Column(name, name, percent) for name in shares.columns[1:]]
    caption = (
        "Optima found, family by family, of the problems that the solver can handle and was given; and of the problems "
        "that have one local minimum, and several."
    )
    return Table.of("families", caption, columns, shares)


def lower_bounds_table(runs: pd.DataFrame) -> Table | None:
    """Proven lower bounds against the certified minima; None where no solver but the exact one has any."""
    numbers = runs.assign(lower_bound=pd.to_numeric(runs["lower_bound"]))
    proven = numbers.dropna(subset=["lower_bound", "reference_bound"])
    if proven["method"].nunique() < 2:
        return None
    proven = proven.assign(below=proven["reference_bound"] - proven["lower_bound"])
    lines = [
        {
            "method": method,
            "problems": len(rows),
            "close": (rows["below"].abs() <= 1e-5).mean(),
            "median": rows["below"].median(),
            "worst": rows["below"].max(),
            "above": int((rows["below"] < -ABOVE).sum()),
        }
        for method, rows in proven.groupby("method", sort=False)
    ]
    columns = [
        Column("solver", "method", numeric=False),
        Column("problems", "problems", "{:.0f}".format),
        Column("within 1e-5", "close", percent),
        Column("median below", "median", scientific),
        Column("farthest below", "worst", scientific),
        Column("above (a contradiction)", "above", "{:.0f}".format),
    ]
    caption = "Proven lower bounds below the certified minimum; one above it would contradict the certificate."
    return Table.of("lower-bounds", caption, columns, pd.DataFrame(lines))
