"""What a log of runs says: who found the optimum, where solvers agree, how their time grows with H."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from ..results import LEVELS, reach_field
from ..runner import CORRECT_GAP
from ..summary import MERGED, mean_times, method_names

#: Sizes that a fitted exponent needs at least; two give a slope without any sign of how well it fits.
SIZES_FOR_A_FIT = 3

#: A time below the clock's resolution, so that ratios of times stay finite.
_TICK = 1e-7

#: Why a run is no success although it claims one: the point is stationary, but a better one exists.
NOT_GLOBAL = "optimal claimed, gap above 1e-7"

_FACTS = ["problem_kind", "H", "m", "delta", "distance", "divergence", "order", "constant", "prior"]

_TIMES = ["seconds", "setup_seconds", "charged_seconds", *map(reach_field, LEVELS)]


def prepare(results: pd.DataFrame) -> pd.DataFrame:
    """The rows of a log with what the report asks of each.

    Added columns: ``method`` (solver and settings), ``kind`` (distance and divergence, which decide which solvers
    apply; whether equal risks were merged, which makes the problem a smaller one; and the machine where there are
    several: times of two are never set against each other), ``total_seconds``
    (set-up and solving), ``found`` (a success within 1e-7 of the certified optimum, or just a success where none is
    known) and ``outcome`` (the status, or :data:`NOT_GLOBAL`). A run that ended before its problem was built gets the
    problem's facts from other runs.
    """
    runs = results.copy()
    for fact in _FACTS:
        runs[fact] = runs.groupby("problem")[fact].transform("first")
    for flag in ("claims", "success", "correct", "parallel"):
        runs[flag] = runs[flag].astype(bool)
    for number in ("H", "bound", "reference_bound", "gap", "kkt_residual", *_TIMES):
        runs[number] = pd.to_numeric(runs[number])
    runs["merged"] = runs["settings"].map(lambda given: bool(json.loads(given or "{}").get("merge")))
    names = method_names(results)
    runs["method"] = names.map(lambda name: " ".join(word for word in name.split(" ") if word != MERGED))
    machines = runs["machine"] if runs["machine"].nunique(dropna=False) > 1 else [None] * len(runs)
    facts = runs["distance"], runs["divergence"], runs["problem_kind"], runs["merged"]
    runs["kind"] = list(map(_kind, *facts, machines))
    runs["total_seconds"] = runs["seconds"].fillna(0.0) + runs["setup_seconds"].fillna(0.0)
    runs["found"] = runs["success"] & (runs["correct"] | runs["reference_bound"].isna())
    runs["outcome"] = runs["status"].where(~runs["success"] | runs["found"], NOT_GLOBAL)
    return runs


def _kind(distance: Any, divergence: Any, problem_kind: Any, merged: bool, machine: Any) -> str:
    if not isinstance(distance, str):
        return "unknown"
    direct = "direct " if problem_kind == "direct" else ""
    name = direct + (distance if divergence in ("chi2", None) else f"{distance} ({divergence})")
    name += ", merged" if merged else ""
    return name if machine is None else f"{name}, machine {machine:.0f}"


def condense(runs: pd.DataFrame) -> pd.DataFrame:
    """One row for all repetitions of a cell on a machine: median times; found and a success when every one is.

    The other columns are those of a repetition that did not find the optimum, where there is one.
    """
    cell = ["machine", "key"]
    if not runs.duplicated(cell).any():
        return runs
    first = runs.sort_values(["found", "repetition"], kind="stable").drop_duplicates(cell).sort_index()
    medians = runs.groupby(cell, dropna=False)[[*_TIMES, "total_seconds"]].median()
    places = pd.MultiIndex.from_frame(first[cell])
    return first.assign(**{name: medians[name].reindex(places).to_numpy() for name in medians.columns})


def by_kind(runs: pd.DataFrame) -> pd.DataFrame:
    """For every kind and method: cells, optima found, and mean time with failures charged, best method first.

    The best finds most optima, in the least time where several find as many. An optimum is found when every repetition
    finds it; ``low`` and ``high`` are the interval of the repetitions. ``relative_time`` is the method's time over the
    best one's on the problems that both were given: a suite may spare a method the large ones.
    """
    tables = [_of_kind(kind, rows) for kind, rows in runs.groupby("kind", sort=False)]
    return pd.concat(tables, ignore_index=True)


def _of_kind(kind: str, runs: pd.DataFrame) -> pd.DataFrame:
    of_method = dict(list(runs.groupby("method", sort=False)))
    lines = []
    for method, rows in of_method.items():
        found = rows.groupby("key")["found"].all()
        low, mean, high = _mean_times(rows)
        tally = {"runs": len(found), "found": int(found.sum()), "share": found.mean()}
        lines.append({"kind": kind, "method": method, **tally, "mean_seconds": mean, "low": low, "high": high})
    table = pd.DataFrame(lines).sort_values(
        ["found", "share", "mean_seconds"], ascending=[False, False, True], ignore_index=True
    )
    best = of_method[table["method"].iloc[0]]
    table["relative_time"] = [_ratio(of_method[method], best) for method in table["method"]]
    return table


def _ratio(rows: pd.DataFrame, best: pd.DataFrame) -> float:
    """How many times longer one takes than the other on their common problems; NaN where they have none."""
    both = [each[each["problem"].isin(other["problem"])] for each, other in ((rows, best), (best, rows))]
    return float("nan") if both[0].empty else _mean_times(both[0])[1] / _mean_times(both[1])[1]


def _mean_times(rows: pd.DataFrame) -> tuple[float, float, float]:
    return mean_times(_charged(rows), rows["key"], rows["repetition"])


def _charged(rows: pd.DataFrame) -> pd.Series:
    """Seconds of a run that found the optimum, else the time limit: a wrong answer saves no time."""
    return rows["charged_seconds"].where(rows["found"], rows["time_limit"]).astype(float)


def failures(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs that did not find the optimum, counted by method, kind, size and outcome."""
    lines = []
    rank = {method: position for position, method in enumerate(runs["method"].unique())}
    missed = runs[~runs["found"]].sort_values("method", key=lambda methods: methods.map(rank), kind="stable")
    for (method, kind, size, outcome), rows in missed.groupby(
        ["method", "kind", "H", "outcome"], sort=False, dropna=False
    ):
        lines.append(
            {
                "method": method,
                "kind": kind,
                "H": size,
                "outcome": outcome,
                "runs": len(rows),
                "datasets": list(rows["dataset"].unique()),
                "largest_gap": rows["gap"].max(),
                "message": next((text for text in rows["message"] if text), ""),
            }
        )
    columns = ["method", "kind", "H", "outcome", "runs", "datasets", "largest_gap", "message"]
    return pd.DataFrame(lines, columns=columns)


def agreement(runs: pd.DataFrame, claims_only: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """For each pair of methods: on what share of common problems their bounds agree within 1e-7, and of how many.

    A common problem is one on which both returned a bound; with ``claims_only``, one on which both claim optimality.
    """
    kept = runs[runs["success"]] if claims_only else runs
    bounds = kept.pivot_table(values="bound", index="problem", columns="method", aggfunc="min")
    methods = list(runs["method"].unique())
    bounds = bounds.reindex(columns=methods).to_numpy(dtype=float)
    both = np.isfinite(bounds)[:, :, None] & np.isfinite(bounds)[:, None, :]
    with np.errstate(invalid="ignore"):
        agree = both & (np.abs(bounds[:, :, None] - bounds[:, None, :]) <= CORRECT_GAP)
    common = both.sum(axis=0)
    share = np.divide(agree.sum(axis=0), common, out=np.full(common.shape, np.nan), where=common > 0)
    return pd.DataFrame(share, methods, methods), pd.DataFrame(common, methods, methods)


def worse_claims(runs: pd.DataFrame) -> pd.DataFrame:
    """Successes whose bound is more than 1e-7 above another success's on the same problem."""
    claims = runs[runs["success"]]
    best = claims.groupby("problem")["bound"].transform("min")
    return claims[claims["bound"] > best + CORRECT_GAP]


def by_class(runs: pd.DataFrame) -> pd.DataFrame:
    """:func:`by_kind` for each decade of sizes: ``H`` is the upper end of the decade that the line is about."""
    sizes = 10.0 ** np.ceil(np.log10(runs["H"].astype(float).clip(lower=10.0)))
    tables = [by_kind(rows).assign(H=size) for size, rows in runs.groupby(sizes, dropna=False)]
    table = pd.concat(tables, ignore_index=True)
    order = {kind: position for position, kind in enumerate(runs["kind"].unique())}
    return table.sort_values(["kind", "H"], key=lambda column: column.map(order).fillna(column), kind="stable")


def performance_profiles(runs: pd.DataFrame) -> dict[str, np.ndarray]:
    r"""The time ratios behind Dolan and Moré's profiles, one sorted array per method.

    For problem ``p`` and method ``s``, :math:`r_{p,s} = t_{p,s} / \min_{s'} t_{p,s'}` where only runs that found the
    optimum have a time; the others' ratio is infinite. The profile of ``s`` at τ is the share of its ratios up to τ.
    """
    return _ratios(runs["total_seconds"].clip(lower=_TICK).where(runs["found"], np.inf), runs, runs["method"])


def level_profiles(runs: pd.DataFrame, level: float) -> dict[str, np.ndarray]:
    """The same ratios for the time until the gap is at most ``level``, whatever is claimed.

    A method that was run with several tolerances has the time of the quickest run that gets there.
    """
    times = runs[reach_field(level)].clip(lower=_TICK).fillna(np.inf)
    return _ratios(times, runs, runs["method"].map(without_tolerance))


def without_tolerance(method: str) -> str:
    """The name of a method less its tolerance.

    >>> without_tolerance("ipopt starts=5 tolerance=0.0001")
    'ipopt starts=5'
    """
    return " ".join(word for word in method.split(" ") if not word.startswith("tolerance="))


def _ratios(times: pd.Series, runs: pd.DataFrame, methods: pd.Series) -> dict[str, np.ndarray]:
    quickest = times.groupby([runs["problem"], methods.rename("method")]).min()
    best = quickest.groupby("problem").transform("min")
    # Where nobody found the optimum, all ratios are infinite.
    ratios = (quickest / best).fillna(np.inf)
    return {
        method: np.sort(ratios[ratios.index.get_level_values("method") == method].to_numpy())
        for method in methods.unique()
    }


def pairwise(runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """For each pair of methods: on how many of their common problems the first is the faster to find the optimum.

    The second table has the number of common problems. Of two that fail neither is faster.
    """
    methods = list(runs["method"].unique())
    times = runs["total_seconds"].where(runs["found"], np.inf)
    wide = times.groupby([runs["problem"], runs["method"]]).min().unstack().reindex(columns=methods)
    known = wide.to_numpy(dtype=float)
    common = (~np.isnan(known)[:, :, None] & ~np.isnan(known)[:, None, :]).sum(axis=0)
    faster = (known[:, :, None] < known[:, None, :]).sum(axis=0)
    return pd.DataFrame(faster, methods, methods), pd.DataFrame(common, methods, methods)


def data_profiles(runs: pd.DataFrame) -> dict[str, np.ndarray]:
    """Gradient evaluations to the optimum, sorted, infinite where it was not found; for methods that count them.

    Moré and Wild's data profile of a method at κ is the share of its problems that took at most κ.
    """
    counts = pd.to_numeric(runs["gradient_evaluations"])
    counting = runs.loc[counts.notna(), "method"].unique()
    evaluations = counts.where(runs["found"] & counts.notna(), np.inf)
    return {method: np.sort(evaluations[runs["method"] == method].to_numpy(dtype=float)) for method in counting}


def merging(runs: pd.DataFrame) -> pd.DataFrame:
    """Solvers with and without merging of equal risks, side by side: one line per kind, solver and size.

    The times are geometric means over the problems that both found.
    """
    columns = ["kind", "method", "H", "problems", "merged", "raw_found", "merged_found", "raw", "with", "difference"]
    place = ["kind", "method", "H", "problem"]
    named = runs.assign(kind=runs["kind"].str.replace(", merged", ""))
    sides = [named[named["merged"] == side].drop_duplicates(place).set_index(place) for side in (False, True)]
    both = sides[0].merge(sides[1], left_index=True, right_index=True, suffixes=("_raw", "_with"))
    lines = []
    for key, rows in both.groupby(["kind", "method", "H"], sort=False):
        solved = rows[rows["found_raw"] & rows["found_with"]]
        times = [np.exp(np.log(solved[f"total_seconds_{side}"].clip(lower=_TICK)).mean()) for side in ("raw", "with")]
        merged = pd.to_numeric(rows["merged_size_with"]).median()
        counts = [int(rows[f"found_{side}"].sum()) for side in ("raw", "with")]
        difference = (solved["bound_raw"] - solved["bound_with"]).abs().max()
        lines.append(dict(zip(columns, [*key, len(rows), merged, *counts, *times, difference], strict=True)))
    return pd.DataFrame(lines, columns=columns)


def growth(runs: pd.DataFrame) -> pd.DataFrame:
    """Time (and memory, where measured) of each method at each size, from the runs that found the optimum."""
    found = runs[runs["found"]].assign(
        logarithm=np.log(runs["total_seconds"].clip(lower=_TICK)), memory=pd.to_numeric(runs["peak_memory_bytes"])
    )
    grouped = found.groupby(["kind", "method", "H"], sort=False)
    table = grouped.agg(
        seconds=("logarithm", lambda values: np.exp(values.mean())),
        fastest=("total_seconds", "min"),
        slowest=("total_seconds", "max"),
        memory=("memory", "max"),
        runs=("found", "size"),
    )
    return table.reset_index()


def exponents(grown: pd.DataFrame) -> pd.DataFrame:
    r"""Least-squares fits of :math:`\ln t = a + b \ln H` (and of memory) for methods seen at three sizes or more."""
    columns = ["kind", "method", "sizes", "largest", "seconds_there", "exponent", "memory_exponent"]
    lines = []
    for (kind, method), rows in grown.groupby(["kind", "method"], sort=False):
        if len(rows) < SIZES_FOR_A_FIT:
            continue
        last = rows.loc[rows["H"].idxmax()]
        slopes = [_slope(rows["H"], rows[quantity]) for quantity in ("seconds", "memory")]
        lines.append(dict(zip(columns, [kind, method, len(rows), int(last["H"]), last["seconds"], *slopes])))
    return pd.DataFrame(lines, columns=columns)


def _slope(sizes: pd.Series, values: pd.Series) -> float:
    usable = (values > 0).to_numpy()
    if usable.sum() < SIZES_FOR_A_FIT:
        return np.nan
    return float(np.polyfit(np.log(sizes[usable].astype(float)), np.log(values[usable].astype(float)), 1)[0])


def gaps(runs: pd.DataFrame) -> pd.DataFrame:
    """Quantiles of the distance from the certified optimum, for each method's claims and for all its bounds."""
    lines = []
    for method, rows in runs.groupby("method", sort=False):
        known = rows.loc[rows["gap"].notna()]
        claimed = known.loc[known["success"], "gap"]
        lines.append(
            {
                "method": method,
                "bounds": len(known),
                "median": known["gap"].median(),
                "ninety": known["gap"].quantile(0.9),
                "largest": known["gap"].max(),
                "claims": len(claimed),
                "largest_claimed": claimed.max() if len(claimed) else np.nan,
                "smallest": known["gap"].min(),
            }
        )
    return pd.DataFrame(lines)
