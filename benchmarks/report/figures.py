"""The report's figures, in colours and marks that are told apart without seeing colour."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pacb_models.plots.style import Style

from ..results import LEVELS
from ..runner import CORRECT_GAP
from . import analysis
from .posteriors import DataSetPosteriors
from .wording import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: Gaps below this are rounding; a logarithmic axis needs an end.
GAP_FLOOR = 1e-17


def _new(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _legend_below(figure: Figure, columns: int = 3) -> None:
    figure.legend(loc="outside lower center", ncols=columns, handlelength=2.8, columnspacing=1.2, fontsize=8.0)


def _log_axis(axis: Axis, show: Callable[[float], str]) -> None:
    """A logarithmic axis with plain labels: matplotlib's own, set as formulas, would take a third of all drawing."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    # Every axis has its letter; matplotlib does not declare it.
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]
    low, high = axis.get_view_interval()
    labels = FuncFormatter(lambda value, _: show(value))
    axis.set_major_formatter(labels)
    # Within a decade there may be no power of ten to label.
    axis.set_minor_formatter(labels if high < 10.0 * low else NullFormatter())


def profile(runs: pd.DataFrame, style: Style) -> Figure:
    """Dolan and Moré's performance profile of one kind of problem."""
    figure, axes = _new(4.4, 3.9)
    _draw_profile(axes, analysis.performance_profiles(runs), style)
    axes.set(xlabel="time relative to the fastest solver", ylabel="share of problems solved")
    _legend_below(figure)
    return figure


def level_profiles(runs: pd.DataFrame, style: Style) -> Figure:
    """A profile for each level of accuracy, side by side."""
    figure, panels = _panels(len(LEVELS), len(LEVELS), 3.0, 3.6)
    figure.set_layout_engine("constrained")
    for level, axes in zip(LEVELS, panels, strict=True):
        _draw_profile(axes, analysis.level_profiles(runs, level), style)
        axes.set_title(f"gap at most {level:.0e}", fontsize=9.0)
        axes.set(xlabel="time relative to the fastest")
    panels[0].set(ylabel="share of problems")
    _legend_once(figure, panels, columns=5)
    return figure


def pairwise_profiles(runs: pd.DataFrame, best: str, style: Style) -> Figure:
    """The profile of the best method and each other one, as if there were only the two."""
    others = [method for method in runs["method"].unique() if method != best]
    figure, panels = _panels(len(others), min(len(others), 4), 2.3, 2.0)
    for other, axes in zip(others, panels, strict=True):
        pair = runs[runs["method"].isin([best, other])]
        common = pair.groupby("problem")["method"].transform("nunique") == 2
        _draw_profile(axes, analysis.performance_profiles(pair[common]), style)
        axes.set_title(f"{best} and {other}", fontsize=8.0)
        axes.tick_params(labelsize=7.0)
    # Laid out by hand: matplotlib would take seconds to find places for so many axes.
    width, height = figure.get_size_inches()
    figure.subplots_adjust(
        left=0.35 / width, right=1 - 0.1 / width, bottom=0.3 / height, top=1 - 0.3 / height, wspace=0.25, hspace=0.45
    )
    return figure


def data_profile(runs: pd.DataFrame, style: Style) -> Figure | None:
    """Moré and Wild's data profile by gradient evaluations; None where no method counts them."""
    profiles = analysis.data_profiles(runs)
    if not profiles:
        return None
    figure, axes = _new(4.4, 3.9)
    _draw_profile(axes, profiles, style)
    axes.set(xlabel="gradient evaluations", ylabel="share of problems solved")
    _legend_below(figure)
    return figure


def _draw_profile(axes: Axes, profiles: dict[str, np.ndarray], style: Style) -> None:
    """Step curves: the share of each method's values up to what the axis says."""
    finite = [values[np.isfinite(values)] for values in profiles.values()]
    right = 1.2 * max([2.0, *(values[-1] for values in finite if len(values))])
    for position, (method, values) in enumerate(profiles.items()):
        reached = values[np.isfinite(values)]
        # From how often it is the fastest to how often it finds the optimum.
        steps = np.concatenate([[1.0], reached[reached > 1.0], [right]])
        shares = np.searchsorted(reached, steps, side="right") / max(len(values), 1)
        # Marks at other places on each curve, so that curves on top of each other can be told apart.
        every = (position % 5 / 40, 0.2)
        axes.step(steps, shares, where="post", label=method, markevery=every, **style[method])
    axes.set(xlim=(1.0, right), ylim=(-0.02, 1.04))
    _log_axis(axes.xaxis, "{:g}".format)
    # Hundreds of little marks take as long to draw as all the rest.
    axes.minorticks_off()


def _panels(count: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """So many axes in rows of a figure."""
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows))
    return figure, [figure.add_subplot(rows, columns, place) for place in range(1, count + 1)]


def _legend_once(figure: Figure, panels: Sequence[Axes], columns: int) -> None:
    """One legend for panels with the same curves."""
    handles = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, handlelength=2.8, fontsize=8.0
    )


def time_against_size(runs: pd.DataFrame, style: Style) -> Figure:
    """Mean time against H, with the fastest and slowest run at each size and the fitted exponents."""
    grown = analysis.growth(runs)
    fitted = analysis.exponents(grown).set_index("method")["exponent"]
    figure, axes = _new(4.4, 3.9)
    for method, rows in grown.groupby("method", sort=False):
        rows = rows.sort_values("H")
        label = f"{method} (H^{fitted[method]:.2f})" if method in fitted.index else method
        axes.plot(rows["H"], rows["seconds"], label=label, **style[method])
        axes.fill_between(rows["H"], rows["fastest"], rows["slowest"], color=style[method]["color"], alpha=0.12, lw=0)
    _size_axis(axes, grown["H"])
    _log_axis(axes.yaxis, lambda seconds: duration(seconds, digits=1))
    axes.set(ylabel="time (set-up and solving)")
    _legend_below(figure, columns=2 if len(fitted) else 3)
    return figure


def memory_against_size(runs: pd.DataFrame, style: Style) -> Figure | None:
    """Memory that solving added, against H; None where it was not measured."""
    grown = analysis.growth(runs)
    grown = grown[grown["memory"] > 0]
    if grown.empty:
        return None
    figure, axes = _new(4.4, 3.9)
    for method, rows in grown.groupby("method", sort=False):
        rows = rows.sort_values("H")
        axes.plot(rows["H"], rows["memory"] / 1e6, label=method, **style[method])
    _size_axis(axes, grown["H"])
    _log_axis(axes.yaxis, "{:g}".format)
    axes.set(ylabel="MB added while solving")
    _legend_below(figure)
    return figure


def _size_axis(axes: Axes, sizes: pd.Series) -> None:
    _log_axis(axes.xaxis, "{:g}".format)
    axes.set(xlabel="number of classifiers H")
    axes.set_xticks(sorted(sizes.unique()))
    axes.set_xticks([], minor=True)


def gap_distributions(runs: pd.DataFrame, style: Style) -> Figure:
    """Every run's distance from the certified optimum, one line of marks per method."""
    methods = list(runs["method"].unique())
    figure, axes = _new(5.0, 1.2 + 0.34 * len(methods))
    # Some height within each line shows how many marks there are; the same every time.
    random = np.random.default_rng(0)
    for line, method in enumerate(methods):
        rows = runs[(runs["method"] == method) & runs["gap"].notna()]
        heights = line + random.uniform(-0.28, 0.28, len(rows))
        sizes = rows["gap"].abs().clip(lower=GAP_FLOOR)
        colour, marker = style[method]["color"], style[method]["marker"]
        for claimed, face in ((True, colour), (False, "none")):
            chosen = (rows["success"] == claimed).to_numpy()
            look = {"marker": marker, "facecolors": face, "edgecolors": colour, "linewidths": 0.8}
            axes.scatter(sizes[chosen], heights[chosen], s=16, **look)
    axes.axvline(CORRECT_GAP, color="#444444", lw=1.0, ls="--")
    place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
    axes.annotate("1e-7", (CORRECT_GAP, 1.0), xytext=(3, -2), **place)
    axes.set_yticks(range(len(methods)), methods)
    _log_axis(axes.xaxis, "{:.0e}".format)
    axes.set(ylim=(len(methods) - 0.4, -0.6), xlim=(GAP_FLOOR / 2, 2.0))
    axes.set_xlabel("distance from the certified optimum\n(filled: claimed optimal, open: not claimed)")
    axes.grid(False, axis="y")
    return figure


def weights_against_risk(each: DataSetPosteriors, style: Style) -> Figure:
    """The weight of a classifier against its risk, for each distance; the prior is flat."""
    figure, axes = _new(4.4, 3.1)
    size = each.posteriors[0].problem.size
    axes.axhline(1.0 / size, color="#999999", lw=1.0, label="prior")
    for posterior in each.posteriors:
        risks, weights, _ = posterior.by_risk()
        axes.plot(risks, weights, label=posterior.kind, markevery=0.08, **style[posterior.kind])
    axes.set(xlabel="validation risk", ylabel="weight of one classifier", ylim=(0.0, None))
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
    _legend_below(figure, columns=4)
    return figure


def cumulative_weights(each: DataSetPosteriors, style: Style) -> Figure:
    """The posterior mass of classifiers up to a risk, for each distance and the prior."""
    figure, axes = _new(4.4, 3.1)
    ordered = np.sort(each.posteriors[0].problem.risks)
    shares = np.arange(1, len(ordered) + 1) / len(ordered)
    axes.step(ordered, shares, where="post", color="#999999", lw=1.0, label="prior")
    for posterior in each.posteriors:
        risks, _, mass = posterior.by_risk()
        axes.step(risks, mass, where="post", label=posterior.kind, markevery=0.08, **style[posterior.kind])
    axes.set(xlabel="validation risk", ylabel="mass of classifiers up to that risk", ylim=(-0.02, 1.04))
    _legend_below(figure, columns=4)
    return figure


def settle(figure: Figure) -> Figure:
    """Lay the figure out once for all formats: that takes longer than writing it."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    return figure


def as_svg(figure: Figure) -> bytes:
    """The figure as SVG, without a date."""
    return _saved(figure, "svg", {"Date": None})


def as_pdf(figure: Figure) -> bytes:
    """The figure as PDF, without a date."""
    return _saved(figure, "pdf", {"CreationDate": None})


def _saved(figure: Figure, file_format: str, metadata: dict[str, None]) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=file_format, metadata=metadata)
    return buffer.getvalue()
