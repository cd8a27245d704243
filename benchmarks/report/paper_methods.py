"""The paper's methods: when they find the optimum, in what time, from how many starts, and why not."""

from collections.abc import Iterator

import pandas as pd

from .. import verdict
from . import missed, pictures
from .drawing import Looks
from .tables import Part
from .wording import counted, duration, listed, percent, said

#: Methods of the paper.
PAPER_METHODS = ("fixed-point", "ipopt", "ccp")


def paper_parts(cells: pd.DataFrame, each: pd.DataFrame) -> Iterator[Part]:
    """A part for each question that the runs can answer; ``each`` are the rows on which solvers are compared."""
    methods = [name for name in PAPER_METHODS if name in set(each["method"])]
    if len(methods) < 2 or each["minima"].isna().all() or (each["problem_kind"] == "tandem").all():
        return
    mine = each[each["method"].isin(methods)]
    given = mine.groupby("problem")["method"].nunique()
    # Whoever takes fewer problems than the others must not look better, or worse, for it.
    shared = mine[mine["problem"].isin(given[given == len(methods)].index)]
    if shared.empty:
        return
    # In the same colours as elsewhere.
    looks = Looks(pictures.FIRST)
    parts = {title.partition(" (")[0]: rows for title, rows in pictures.classes(shared).items()}
    hard, rows = list(parts.items())[-1]
    rates = rows.groupby("method")["found"].mean()
    words = listed([f"{name} {percent(rates[name])}" for name in methods])
    counts = mine.groupby("method")["problem"].nunique()
    named = listed([f"{name} {counts[name]}" for name in methods])
    text = said("paper-found", count=counted(shared["problem"].nunique(), "problem"), given=named)
    title = f"When (optima found with {hard[0].lower()}{hard[1:]}): {words}"
    yield Part("paper-found", title, text, (pictures.shares(parts, methods, looks),))
    exact = each[(each["method"] == "frontier") & each["problem"].isin(shared["problem"])]
    both = pd.concat([shared, exact])
    if kinds := pictures.growth_kinds(both, most=1):
        medians = shared[shared["found"]].groupby("method")["total_seconds"].median().sort_values()
        words = listed([f"{name} {duration(value, 2)}" for name, value in medians.items()])
        drawn = pictures.growth(both, looks, kinds, name="paper-growth")
        yield Part("paper-growth", f"In what time (medians): {words}", said("paper-growth"), drawn)
    started = cells[cells["method"].isin(methods) & ~cells["merged"] & cells["problem"].isin(shared["problem"])]
    random = started[(started["start"] != verdict.PRIOR) & (started["minima"] > 1)]
    if random["start"].nunique() > 1:
        found = random.groupby(["method", "problem"])["found"].agg(["mean", "any"]).groupby("method").mean()
        had = [name for name in methods if name in found.index]
        one, after = (listed([f"{name} {percent(found[rate][name])}" for name in had]) for rate in ("mean", "any"))
        title = f"From how many starts (optima that one random start finds): {one}"
        drawn = (pictures.starts_needed(random, methods, looks),)
        yield Part("paper-starts", title, said("paper-starts", after=after), drawn)
    several = shared[shared["minima"] > 1]
    if cases := missed.missed_problems(several, 1):
        # From each start that they share: whether they end at the same bound.
        bounds = several.groupby(["problem", "start"])["bound"]
        same = bounds.max() - bounds.min() <= verdict.CORRECT_GAP
        title = f"the start decides. From the same one, they end at the same bound in {same.sum()} of {len(same)} cases"
        yield Part("paper-why", f"Why: {title}", said("paper-why"), pictures.paths(cases, looks, "paper-why"))
