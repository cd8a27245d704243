"""What a log of runs says: who found the optimum, where solvers agree, how their time grows with H."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..runner import CORRECT_GAP
from ..summary import method_names, shifted_geometric_mean

#: Sizes that a fitted exponent needs at least; two give a slope without any sign of how well it fits.
SIZES_FOR_A_FIT = 3

#: A time below the clock's resolution, so that ratios of times stay finite.
_TICK = 1e-7

#: Why a run is no success although it claims one: the point is stationary, but a better one exists.
NOT_GLOBAL = "optimal claimed, gap above 1e-7"

_FACTS = ["H", "m", "delta", "distance", "divergence", "order", "constant", "prior"]


def prepare(results: pd.DataFrame) -> pd.DataFrame:
    """The rows of a log with what the report asks of each.

    Added columns: ``method`` (solver and settings), ``kind`` (distance and divergence: what decides which solvers
    apply), ``total_seconds`` (set-up and solving), ``found`` (a success within 1e-7 of the certified optimum, or just a
    success where none is known) and ``outcome`` (the status, or :data:`NOT_GLOBAL`). A run that ended before its
    problem was built gets the problem's facts from other runs.
    """
    runs = results.copy()
    for fact in _FACTS:
        runs[fact] = runs.groupby("problem")[fact].transform("first")
    for flag in ("claims", "success", "correct", "parallel"):
        runs[flag] = runs[flag].astype(bool)
    for number in ("H", "bound", "reference_bound", "gap", "kkt_residual", "seconds", "setup_seconds"):
        runs[number] = pd.to_numeric(runs[number])
    runs["method"] = method_names(results)
    runs["kind"] = [_kind(distance, divergence) for distance, divergence in zip(runs["distance"], runs["divergence"])]
    runs["total_seconds"] = runs["seconds"].fillna(0.0) + runs["setup_seconds"].fillna(0.0)
    runs["found"] = runs["success"] & (runs["correct"] | runs["reference_bound"].isna())
    runs["outcome"] = runs["status"].where(~runs["success"] | runs["found"], NOT_GLOBAL)
    return runs


def _kind(distance: str | None, divergence: str | None) -> str:
    if not isinstance(distance, str):
        return "unknown"
    return distance if divergence in ("chi2", None) else f"{distance} ({divergence})"


def by_kind(runs: pd.DataFrame) -> pd.DataFrame:
    """For every kind and method: runs, optima found, and mean time with failures charged, best method first."""
    lines = []
    for kind, group in runs.groupby("kind", sort=False):
        for method, rows in group.groupby("method", sort=False):
            lines.append(
                {
                    "kind": kind,
                    "method": method,
                    "runs": len(rows),
                    "found": int(rows["found"].sum()),
                    "share": rows["found"].mean(),
                    "mean_seconds": shifted_geometric_mean(_charged(rows)),
                }
            )
    table = pd.DataFrame(lines)
    table["relative_time"] = table["mean_seconds"] / table.groupby("kind")["mean_seconds"].transform("min")
    order = {kind: position for position, kind in enumerate(runs["kind"].unique())}
    table["position"] = table["kind"].map(order)
    ranking = table.sort_values(["position", "share", "mean_seconds"], ascending=[True, False, True])
    return ranking.drop(columns="position").reset_index(drop=True)


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


def performance_profiles(runs: pd.DataFrame) -> dict[str, np.ndarray]:
    r"""The time ratios behind Dolan and Moré's profiles, one sorted array per method.

    For problem ``p`` and method ``s``, :math:`r_{p,s} = t_{p,s} / \min_{s'} t_{p,s'}` where only runs that found the
    optimum have a time; the others' ratio is infinite. The profile of ``s`` at τ is the share of its ratios up to τ.
    """
    times = runs["total_seconds"].clip(lower=_TICK).where(runs["found"], np.inf)
    best = times.groupby(runs["problem"]).transform("min")
    # Where nobody found the optimum, all ratios are infinite.
    ratios = (times / best).fillna(np.inf)
    return {method: np.sort(ratios[runs["method"] == method].to_numpy()) for method in runs["method"].unique()}


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
