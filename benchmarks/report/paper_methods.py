"""The paper's methods: when they find the optimum, in what time, from how many starts, and why not."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from .. import verdict
from . import missed, pictures
from .drawing import Looks
from .part import Part
from .wording import duration, listed, percent

#: Methods of the paper.
PAPER = ("fixed-point", "ipopt", "ccp")


def paper_parts(cells: pd.DataFrame, each: pd.DataFrame) -> Iterator[Part]:
    """The paper's methods: when they find the optimum, in what time, from how many starts, and why not."""
    methods = [name for name in PAPER if name in set(each["method"])]
    # The exact one beside them, in the same colours as elsewhere.
    looks = Looks(pictures.FIRST)
    if len(methods) < 2 or each["minima"].isna().all():
        return
    mine = each[each["method"].isin(methods)]
    parts = {
        title.replace(" (easy)", "").replace(" (hard)", ""): rows for title, rows in pictures.classes(mine).items()
    }
    shares = {title: rows.groupby("method")["found"].mean() for title, rows in parts.items()}
    names = {
        f"with {title[0].lower()}{title[1:]}": listed([f"{name} {percent(rates[name])}" for name in methods])
        for title, rates in shares.items()
    }
    titles = list(names)
    easy, hard = titles[0], titles[-1]
    text = (
        f"Bars: optima found. {easy.capitalize()}: {names[easy]}. A method that goes downhill finds the only minimum "
        "there is, unless time or precision runs out. Where there are several, it ends in the one below its start."
    )
    title = f"When: {hard}, optima found: {names[hard]}"
    yield Part("paper-found", title, text, (pictures.shares(parts, methods, looks),))
    common = mine.groupby("kind")["method"].nunique()
    both = each[each["method"].isin([*methods, "frontier"]) & each["kind"].isin(common[common == len(methods)].index)]
    kinds = pictures.growth_kinds(both, most=1)
    if kinds:
        text = (
            "A fixed-point step is one pass over the classifiers. Ipopt first builds a model, and factorises a matrix "
            "at each step. CCP solves a conic program at each step. Beside them: the exact solver."
        )
        medians = mine[mine["found"]].groupby("method")["total_seconds"].median().sort_values()
        words = listed([f"{name} {duration(value, 2)}" for name, value in medians.items()])
        drawn = pictures.growth(both, looks, kinds, name="paper-growth")
        yield Part("paper-growth", f"In what time: {words} (medians)", text, drawn)
    started = cells[cells["method"].isin(methods) & ~cells["merged"] & (cells["minima"] > 1)]
    started = started[started["start"] != verdict.PRIOR]
    if started["start"].nunique() > 1:
        rates = started.groupby("method")["found"].mean()
        words = listed([f"{name} {percent(rates[name])}" for name in methods if name in rates])
        text = (
            "Problems with several local minima. All three methods began at the same random posteriors. A start is a "
            "draw: the curve is the share of problems that at least one of so many starts solves."
        )
        picture = pictures.starts_needed(started, methods, looks)
        yield Part("paper-starts", f"From how many starts: one start solves {words}", text, (picture,))
    found = missed.cases(mine[mine["minima"] > 1], 1)
    if found:
        text = (
            "The curve is the bound along the path that holds all its local minima. The star is the best one. A circle "
            "is the point where a method ended: it goes downhill from its start and cannot cross a hill."
        )
        drawn = pictures.paths(found, looks, "paper-why")
        yield Part("paper-why", "Why: the start decides in which valley a method ends", text, drawn)
