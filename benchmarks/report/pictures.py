"""The report's pictures: optima against time, problems against solvers, time against H, and where misses ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pacb_models.plots.palette import kind_of
from pacb_models.plots.path import Curve, PathDisplay, frontier_curve
from pacb_models.plots.style import BLACK, VERMILION, literal

from .. import verdict
from ..verdict import Ending, Judged
from .drawing import PALE, Looks, Named, Picture, draw, log_axis, name_ends, name_points, new_axes, settle
from .html import render_text
from .wording import counted, duration, percent

if TYPE_CHECKING:
    from .missed import MissedProblem

PAPER_METHODS = ("fixed-point", "ipopt", "ccp")
#: Methods that are named in every picture that they are in: the exact one, and the paper's.
FIRST = ("frontier", *PAPER_METHODS)

#: The worst is darkest, so that they differ on grey paper too.
FILLS = dict(zip(Ending, ("#222222", "#8a2f00", "#d55e00", "#d0a030", "#d2e6d0", "#a0c9df"), strict=True))


def looks_for(table: pd.DataFrame) -> Looks:
    """Return the seven methods to name: the exact one, the paper's, other people's, then the best of each kind."""
    from pacb_models.plugins import registered
    from pacb_models.solving.registry import SOLVERS_GROUP

    ours = {entry.name for entry in registered(SOLVERS_GROUP) if entry.value.startswith("pacb_models.")}
    methods = list(table["method"])
    theirs = [method for method in methods if method.split(" ")[0] not in ours]
    first = [*(name for name in FIRST if name in methods), *theirs]
    # A kind has a colour: others of the same kind come last.
    kinds = {kind_of(method): method for method in reversed([*first, *methods])}
    return Looks(dict.fromkeys([*first, *(method for method in methods if method in kinds.values()), *methods]))


def classes(each: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return easy and hard problems: those with one local minimum (or an unknown number), and those with several."""
    if each["minima"].isna().all():
        return {"All problems": each}
    several = each["minima"] > 1
    name = "One local minimum" if each.loc[~several, "minima"].notna().all() else "One local minimum, or unknown"
    parts = {f"{name} (easy)": each[~several], "Several local minima (hard)": each[several]}
    return {title: rows for title, rows in parts.items() if len(rows)}


class Chart:
    """One pair of axes on which methods are compared: each has its look, its name beside it, and words to point at."""

    def __init__(self, stem: str, number: int, looks: Looks, width: float, height: float):
        self.stem, self.number, self.looks = stem, number, looks
        self.figure, self.axis = new_axes(width, height)
        self.tips: dict[str, str] = {}
        self.ends: list[Named] = []

    def plot(self, method: str, x: Any, y: Any, words: str, **look: Any) -> None:
        """Draw a curve, or a point, with words."""
        look, gid = {**self.looks[method], **look}, f"{self.stem}-{self.number}:{method}"
        self.axis.plot(x, y, gid=gid, **look)
        self.tips[gid] = f"{method}: {words}"
        # The grey of those that are not named in every picture is too light for words.
        self.ends.append(Named(x[-1], y[-1], method, "#666666" if look["color"] == PALE else look["color"]))

    def picture(self, description: str, right: float = 1.0) -> Picture:
        """Return the picture, with the names of points beside them, or the named curves named at the right."""
        settle(self.figure, right)
        named = [end for end in self.ends if end.name in self.looks.named]
        if right < 1.0:
            name_ends(self.axis, named)
        else:
            name_points(self.axis, named + [end for end in self.ends if end not in named], size=9.0)
        return draw(f"{self.stem}-{self.number + 1}", description, self.figure, self.tips)


def overview(each: pd.DataFrame, looks: Looks) -> tuple[Picture, ...]:
    """Return optima found against the median time of the runs that found one, a mark for each method; easy and hard
    ones."""
    parts = classes(each)
    everybody = {title: verdict.by_solver(rows) for title, rows in parts.items()}
    tables = {title: table[(table["found"] > 0) & table["median"].notna()] for title, table in everybody.items()}
    medians = pd.concat([table["median"] for table in tables.values()])
    limits = (medians.min() / 2, medians.max() * 4) if len(medians) else (1e-4, 1.0)
    least = min((100 * table["share"].min() for table in tables.values() if len(table)), default=0.0)
    # Names need room below the marks, and above.
    bottom = max(0.0, min(10 * np.floor(least / 10) - 10, 60.0))
    drawn = []
    for number, (title, table) in enumerate(tables.items()):
        chart = Chart("overview", number, looks, 4.9, 3.4)
        axis = chart.axis
        for line in table.itertuples():
            if each["start"].nunique() > 1:
                colour = looks[line.method]["color"]
                axis.vlines(line.median, 100 * line.low, 100 * line.high, color=colour, lw=1.0, alpha=0.5)
            tally = f"{line.found} of {line.runs} found ({percent(line.share)})"
            times = f"median {duration(line.median)}, 90 % within {duration(line.ninety)}"
            chart.plot(line.method, [line.median], [100 * line.share], f"{tally}, {times}", linestyle="", ms=8)
        ticks = np.arange(bottom, 101, 10 if bottom >= 40 else 20)
        axis.set(xlim=limits, ylim=(bottom, 100 + 0.18 * (100 - bottom)), yticks=ticks)
        axis.set(xlabel="median time of the runs that found it, set-up included", ylabel="optima found [%]")
        problems = counted(parts[title]["problem"].nunique(), "problem")
        axis.set_title(f"{title}: {problems}", loc="left", fontweight="bold", fontsize=10.0)
        log_axis(axis.xaxis, lambda seconds: duration(seconds, digits=1))
        absent = everybody[title].drop(table.index)
        reasons = {"found none": absent[absent["found"] == 0], "not timed by us": absent[absent["found"] > 0]}
        words = [f"{reason}: {', '.join(rows['method'])}" for reason, rows in reasons.items() if len(rows)]
        if words:
            text = "\n".join(literal(line, longest=80) for line in words)
            axis.text(0.02, 0.02, text, transform=axis.transAxes, fontsize=8.0, color="#666666")
        drawn.append(chart.picture(f"{title}: optima found against median time, a mark for each solver."))
    return tuple(drawn)


def matrix(judged: Judged) -> Picture:
    """Return problems against methods, coloured by outcome, family by family; those that most methods miss come first.

    An SVG of our own: a rectangle for neighbours of equal outcome, words for each problem.
    """
    endings, methods = verdict.by_problem(judged.comparable), list(judged.by_solver["method"])
    facts = judged.comparable.drop_duplicates("problem").set_index("problem").loc[endings.index]
    facts["missed"] = (endings.notna() & (endings != Ending.FOUND)).sum(axis=1)
    facts["rank"] = -facts.groupby("family")["missed"].transform("mean")
    order = ["rank", "family", "missed", "kind", "size"]
    facts = facts.sort_values(order, ascending=[True, True, False, True, True], kind="stable")
    width, top, step, gap = 1080.0, 110.0, 19.0, 5.0
    left = 12.0 + 7.2 * max(map(len, methods))
    missed = facts["missed"] > 0
    # Problems that everybody found take no more room together than the others.
    shares = np.where(missed, 1.0, min(1.0, missed.sum() / max((~missed).sum(), 1)) if missed.any() else 1.0)
    room = width - left - gap * facts["family"].nunique() - 80.0
    widths = pd.Series(shares * min(room / shares.sum(), 24.0), facts.index)
    families: list[dict[str, Any]] = []
    x, label = left, 0.0
    for name, rows in facts.groupby("family", sort=False):
        edges = x + np.concatenate([[0.0], widths[rows.index].cumsum()])
        # Labels of narrow families need room.
        label = max((x + edges[-1]) / 2, label + 17.0)
        bars = []
        for place, method in enumerate(methods):
            of_method, y = endings[method].reindex(rows.index), top + step * place + 1.0
            end = 0
            for ending, run in groupby(of_method):
                start, end = end, end + len(list(run))
                if ending is not None:
                    wide, fill = edges[end] - edges[start], FILLS[Ending(ending)]
                    bars.append({"x": edges[start], "y": y, "width": wide, "fill": fill})
        words = [_matrix_words(endings.loc[problem], methods, problem, size) for problem, size in rows["size"].items()]
        tips, short = list(zip(edges, np.diff(edges), words)), name if len(name) <= 16 else "…" + name[-15:]
        box = {"x": x, "width": edges[-1] - x, "label": label}
        families.append({"name": name, "short": short, "bars": bars, "tips": tips, **box})
        x = edges[-1] + gap
    drawn = [ending for ending in reversed(Ending) if (endings == ending).any(axis=None)]
    legend = left + sum(40.0 + 6.8 * len(ending.words) for ending in drawn) + 220.0
    svg = render_text(
        *(__package__, "matrix.svg"),
        **{"width": min(max(x + 75.0, label + 110.0, legend), width), "top": top, "step": step, "left": left},
        **{"families": families, "methods": methods, "bottom": top + step * len(methods)},
        legend=[(ending.words, FILLS[ending]) for ending in drawn],
    )
    counts = f"{counted(len(methods), 'solver')} on {counted(len(facts), 'problem')}"
    return Picture("matrix", f"The outcome of {counts}, family by family.", drawn=svg.encode())


def _matrix_words(ends: pd.Series, methods: Sequence[str], problem: Any, size: float) -> str:
    lines = [f"{problem} (H = {size:.0f})" if np.isfinite(size) else str(problem)]
    for ending in Ending:
        if names := [name for name in methods if ends.get(name) == ending]:
            told = ", ".join(names) if ending != Ending.FOUND else counted(len(names), "solver")
            lines.append(f"{ending.words}: {told}")
    return "\n".join(lines)


def growth_kinds(each: pd.DataFrame, most: int = 3) -> list[str]:
    """Return the kinds of problem that were solved at two sizes at least; those with most problems, in order of
    appearance."""
    timed = each[each["found"] & each["total_seconds"].notna()]
    solved = timed.groupby("kind", sort=False).agg(sizes=("size", "nunique"), problems=("problem", "nunique"))
    solved = solved[solved["sizes"] > 1]
    kept = set(solved.sort_values("problems", ascending=False, kind="stable").index[:most])
    return [kind for kind in solved.index if kind in kept]


def growth(
    each: pd.DataFrame, looks: Looks, kinds: Sequence[str], quantity: str = "total_seconds", name: str = "growth"
) -> tuple[Picture, ...]:
    """Time (or another quantity) of solved runs against H, the median at each size; a picture for each kind."""
    solved = each[each["found"] & (each[quantity] > 0) & each["kind"].isin(kinds)]
    what, show = "memory added while solving", lambda size: f"{size / 1e6:g} MB"
    if quantity == "total_seconds":
        what, show = "median time, set-up included", lambda seconds: duration(seconds, digits=1)
    drawn = []
    for number, kind in enumerate(kinds):
        rows = solved[solved["kind"] == kind]
        # Many sizes are put together by half powers of ten.
        few = rows["size"].nunique() <= 8
        sizes = rows["size"] if few else 10 ** (np.round(2 * np.log10(rows["size"])) / 2)
        chart = Chart(name, number, looks, 4.4, 3.6)
        for method in sorted(rows["method"].unique(), key=looks.named.__contains__):
            of_method = rows[rows["method"] == method]
            curve = of_method.groupby(sizes[of_method.index])[["size", quantity]].median()
            points = (f"{show(value)} at H = {size:,.0f}" for size, value in curve.itertuples(index=False))
            weight = {"ms": 4, "lw": 1.8} if method in looks.named else {"ms": 2.5, "lw": 1.0}
            chart.plot(method, curve["size"].to_numpy(), curve[quantity].to_numpy(), ", ".join(points), **weight)
        chart.axis.set_title(kind_title(kind), loc="left", fontsize=10.0)
        limits = solved[quantity].min() / 2, solved[quantity].max() * 2
        chart.axis.set(xlabel="number of classifiers H", ylabel=what, ylim=limits)
        log_axis(chart.axis.xaxis, _power)
        log_axis(chart.axis.yaxis, show)
        drawn.append(chart.picture(f"{what.capitalize()}, against H: {kind_title(kind)}.", 0.8))
    return tuple(drawn)


def _power(value: float) -> str:
    """Return a number on an axis.

    >>> _power(500.0), _power(1e5)
    ('500', '10⁵')
    """
    exponent = round(np.log10(value))
    return f"{value:g}" if value < 1e4 else "10" + str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def kind_title(kind: str) -> str:
    """Return a kind in words.

    >>> kind_title("kl"), kind_title("kl (renyi)")
    ('kl distance, χ²', 'kl distance, renyi')
    """
    distance, _, divergence = kind.removesuffix(")").partition(" (")
    return f"{distance} distance, {divergence or 'χ²'}"


def profile(rows: pd.DataFrame, looks: Looks, kind: str, number: int) -> Picture:
    """Return Dolan and Moré's performance profile: the share of problems solved within a multiple of the fastest
    time."""
    # Without the methods that others ran, whose times we do not know.
    rows = rows[~rows["method"].isin(rows.loc[rows["total_seconds"].isna(), "method"])]
    times = rows[rows["found"]].groupby(["problem", "method"])["total_seconds"].min().clip(lower=1e-7)
    ratios = times / times.groupby("problem").transform("min")
    right = 1.2 * max(2.0, ratios.max() if len(ratios) else 2.0)
    chart = Chart("profile", number, looks, 4.6, 3.6)
    counts = rows.groupby("method")["problem"].nunique()
    for method in sorted(counts.index, key=looks.named.__contains__):
        reached = np.sort(ratios[ratios.index.get_level_values("method") == method].to_numpy())
        steps = np.concatenate([[1.0], reached, [right]])
        shares = np.searchsorted(reached, steps, side="right") / counts[method]
        words = f"the fastest on {percent(shares[0])}, solves {percent(shares[-1])}"
        look = {"marker": "", "drawstyle": "steps-post", "lw": 1.8 if method in looks.named else 0.9}
        chart.plot(method, steps, 100 * shares, words, **look)
    labels = {"xlabel": "time as a multiple of the fastest solver's", "ylabel": "problems solved [%]"}
    chart.axis.set(xlim=(1.0, right), ylim=(0, 103), **labels)
    log_axis(chart.axis.xaxis, "{:g}".format)
    chart.axis.set_title(kind_title(kind), loc="left", fontsize=10.0)
    return chart.picture(f"Performance profile, {kind_title(kind)}.", 0.8)


def paths(cases: Sequence[MissedProblem], looks: Looks, name: str = "path") -> tuple[Picture, ...]:
    """Return the bound along the path of posteriors, its minima, and the points where solvers ended; a picture for
    each."""
    drawn = []
    for number, case in enumerate(cases):
        curve, best = _near_the_ends(case.display), case.display.minima[0]
        figure, axis = new_axes(4.9, 3.4)
        axis.plot(curve.risk, curve.bound, color=BLACK, lw=1.4)
        axis.plot(best.empirical_risk, best.bound, "*", color=BLACK, ms=13)
        points = []
        for end in case.display.ends:
            colour = VERMILION if end.bound > best.bound + verdict.CORRECT_GAP else BLACK
            if colour == VERMILION:
                axis.plot(end.empirical_risk, end.bound, "o", mfc="none", mec=colour, mew=1.8, ms=10)
            points.append(Named(end.empirical_risk, end.bound, _names(end.names, looks), colour))
        axis.set_title(f"{literal(case.name)}\n{case.words}", loc="left", fontsize=9.0)
        axis.set(xlabel="empirical risk of the posterior", ylabel="bound")
        settle(figure)
        name_points(axis, points, size=8.0, avoid=curve, clear=8.0)
        drawn.append(draw(f"{name}-{number + 1}", f"{case.name}: {case.words}: the bound along the path.", figure))
    return tuple(drawn)


def _near_the_ends(display: PathDisplay, small: float = 0.2) -> Curve:
    """Return the part of the curve where minima and ends are, if this is a small one; else the whole curve."""
    places = [minimum.empirical_risk for minimum in display.minima] + [end.empirical_risk for end in display.ends]
    length = np.ptp(display.curve.risk)
    width = max(np.ptp(places), 0.01 * length)
    if width >= small * length:
        return display.curve
    low, high = min(places) - width, max(places) + 2.0 * width
    risk, bound = frontier_curve(display.problem, (low, high))
    shown = (low <= risk) & (risk <= high)
    return Curve(risk[shown], bound[shown])


def _names(names: Sequence[str], looks: Looks, most: int = 2) -> str:
    """Return the names of those who ended in one point, the known ones first.

    >>> _names(["a", "b", "c", "d", "e"], Looks(["d"]))
    'd, a and 3 more'
    """
    ordered = sorted(names, key=lambda name: looks.named.index(name) if name in looks.named else len(looks.named))
    more = f" and {len(names) - most} more" if len(names) > most + 1 else ""
    return ", ".join(ordered[: most if more else most + 1]) + more


def shares(parts: Mapping[str, pd.DataFrame], methods: Sequence[str], looks: Looks) -> Picture:
    """Return optima found by a few methods on each class of problems, with the interval of the share."""
    figure, axis = new_axes(7.4, 0.9 + 0.34 * len(parts) * len(methods))
    labels, place = [], 0.0
    for title, rows in parts.items():
        axis.text(0.0, place - 0.1, title, fontsize=9.0, fontweight="bold", va="center")
        place += 0.9
        for method in methods:
            of_method = rows[rows["method"] == method]
            found, count = int(of_method["found"].sum()), len(of_method)
            if not count:
                continue
            low, high = verdict.interval(found, count)
            axis.barh(place, 100 * found / count, height=0.62, color=looks[method]["color"], alpha=0.85)
            axis.hlines(place, 100 * low, 100 * high, color="#555555", lw=1.2)
            axis.text(102.0, place, f"{found} of {count}", va="center", fontsize=8.5)
            labels.append((place, method))
            place += 0.8
        place += 0.5
    axis.set_yticks([place for place, _ in labels], [name for _, name in labels])
    axis.set(xlim=(0, 115), ylim=(place - 0.5, -0.7), xlabel="optima found [%], with the 95 % interval")
    axis.set_xticks(range(0, 101, 20))
    axis.grid(False, axis="y")
    return draw("paper-found", "Optima found by the paper's methods on each class of problems.", figure)


def starts_needed(each: pd.DataFrame, methods: Sequence[str], looks: Looks) -> Picture:
    """Return the share of problems whose optimum one of n starts finds, on average over which starts these are."""
    from matplotlib.ticker import MaxNLocator
    from scipy.special import comb

    figure, axis = new_axes(6.0, 3.4)
    ends = []
    for method in methods:
        counts = each[each["method"] == method].groupby("problem")["found"].agg(["size", "sum"])
        if counts.empty:
            continue
        steps = np.arange(1, int(counts["size"].min()) + 1)
        # Without replacement: the chance that all n of them are among those that missed.
        misses = counts["size"] - counts["sum"]
        chance = [100 * float((1 - comb(misses, n) / comb(counts["size"], n)).mean()) for n in steps]
        axis.plot(steps, chance, ms=4, **looks[method])
        ends.append(Named(float(steps[-1]), chance[-1], method, looks[method]["color"]))
    axis.set(xlabel="number of random starts", ylabel="problems solved [%]", ylim=(0, 103))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    settle(figure, right=0.84)
    name_ends(axis, ends)
    return draw("paper-starts", "Problems solved against the number of random starts.", figure)
