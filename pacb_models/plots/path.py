r"""The bound along the whole frontier between empirical risk and divergence.

Every optimum of a bound :math:`F(L, D)` is on the path of posteriors with the least divergence for their empirical risk
(see the page on the mathematics): :math:`q_i \propto p_i (\mu - l_i)_+^{1/(\alpha-1)}`, or :math:`p_i e^{-\beta l_i}`
for the KL divergence. Drawn against ``L`` the path is one curve from the prior to the smallest risk, below which no
posterior lies: what a solver returned is a point on it, or above it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import UnsupportedProblemError
from ..problem import BoundProblem
from ..solution import LocalMinimum, Solution
from ..solving.running import solve
from ..wording import at_most
from .display import Axes, Display, Solutions, named_solutions
from .palette import Palette
from .style import BLACK, GREY, VERMILION, literal

#: A gap to the minimum that counts as none.
_SAME = 1e-7
#: The name of a point that is none of those which have one.
NOWHERE = "no minimum"


class Curve(NamedTuple):
    """The path as empirical risks and bounds, from the prior to the smallest risk."""

    risk: np.ndarray
    bound: np.ndarray


class End(NamedTuple):
    """The solvers that ended in one point, and which point it is."""

    names: list[str]
    empirical_risk: float
    bound: float
    place: str


def frontier_curve(problem: BoundProblem, between: tuple[float, float] | None = None) -> Curve:
    """Return the bound along the path; points are added where neighbours are far apart.

    ``between`` two empirical risks neighbours are as near as if this were all of the curve.
    """
    small = problem.merged().problem
    path = small.divergence_function.frontier(small.risks, small.prior, uniform=False)
    prior = small.empirical_risk(small.prior), small.bound(small.prior)
    if not path.spread:
        return Curve(*(np.array([value]) for value in prior))

    def point(z: float) -> tuple[float, float, float]:
        q = path.posterior(z)
        risk = small.empirical_risk(q)
        return z, risk, small.bound_at(risk, small.divergence_size(q))

    points = [point(z) for z in np.linspace(-math.log(1e4 * path.spread), path.last, 60).tolist()]
    for low, high in ((-np.inf, np.inf), *([] if between is None else [between])):
        # As far as so many rounds of halving can bring it.
        for _ in range(40):
            table = np.array(points)
            inside = (low <= table[:, 1]) & (table[:, 1] <= high)
            spans = np.maximum(np.ptp(table[inside, 1:], axis=0), 1e-12)
            far = (np.abs(np.diff(table[:, 1:], axis=0)) > spans / 150.0).any(axis=1)
            wide = np.flatnonzero(far & (inside[1:] | inside[:-1]))
            if not wide.size:
                break
            points = sorted(points + [point(float(0.5 * (table[k, 0] + table[k + 1, 0]))) for k in wide])
    return Curve(*np.array([prior, *(each[1:] for each in [*points, point(math.inf)])]).T)


def place_of(minima: Sequence[LocalMinimum], curve: Curve, bound: float, risk: float) -> str:
    """Return which point of the path has this bound and, where it is known, this empirical risk."""
    if not math.isfinite(bound):
        return "no posterior"
    width = max(curve.risk[0] - curve.risk[-1], 1e-12)

    def same(other_bound: float, other_risk: float) -> bool:
        return abs(bound - other_bound) <= 1e-6 and not abs(risk - other_risk) > 0.02 * width

    matching = [k for k, minimum in enumerate(minima) if same(minimum.bound, minimum.empirical_risk)]
    nearest = min(matching, key=lambda k: abs(bound - minima[k].bound), default=None)
    if nearest == 0:
        return "the minimum" if bound - minima[0].bound <= _SAME else "next to the minimum"
    if nearest is not None:
        return f"local minimum {nearest + 1} of {len(minima)}"
    for place, words in ((0, "the prior"), (-1, "all weight on the smallest risk")):
        if same(curve.bound[place], curve.risk[place]):
            return words
    return NOWHERE


@dataclass(eq=False, repr=False)
class PathDisplay(Display):
    """The bound along the frontier, its local minima, the ends of the path, and what solvers returned.

    Parameters
    ----------
    problem, curve : BoundProblem, Curve
    minima : sequence of LocalMinimum
        The local minima, best first; the first is the certified global one.
    solutions : dict of str to Solution
        What solvers returned, by the names to show; anything with a ``bound`` and an ``empirical_risk`` will do.

    Examples
    --------
    >>> import pacb_models as pm
    >>> from pacb_models.plots import PathDisplay
    >>> problem = pm.BoundProblem([0.0] + [0.5] * 60, m=30, delta=0.05, distance="squared")
    >>> display = PathDisplay.from_problem(problem, pm.solve(problem, "fixed-point"))
    >>> [end] = display.ends
    >>> end.names, end.place
    (['fixed-point'], 'local minimum 2 of 2')
    """

    problem: BoundProblem
    curve: Curve
    minima: Sequence[LocalMinimum]
    solutions: Mapping[str, Any]

    @classmethod
    def from_problem(
        cls, problem: BoundProblem, solutions: Solutions | None = None, exact: Solution | None = None
    ) -> PathDisplay:
        """Compute the curve and, unless ``exact`` is the solution of frontier, the certified minima of a problem."""
        if not isinstance(problem, BoundProblem):
            only = "only a BoundProblem has a path that holds all local minima"
            raise UnsupportedProblemError(f"problem is a {type(problem).__name__}; {only}.")
        if problem.posteriors is not None:
            raise UnsupportedProblemError("problem has constraints; the path is drawn for the whole simplex only.")
        exact = exact or solve(problem, "frontier")
        best = LocalMinimum(exact.bound, exact.empirical_risk, exact.divergence, exact.support_size)
        minima = [best, *sorted(exact.local_minima)]
        return cls(problem, frontier_curve(problem), minima, named_solutions(solutions, least=0))

    @property
    def ends(self) -> list[End]:
        """Where the solvers ended, those in the same point together."""
        found: dict[tuple[str, str], End] = {}
        for name, point in self.solutions.items():
            place = place_of(self.minima, self.curve, point.bound, point.empirical_risk)
            # Points without a name are the same when they look the same.
            shape = f"{point.bound:.4g} {point.empirical_risk:.2g}" if place == NOWHERE else ""
            end = found.setdefault((place, shape), End([], point.empirical_risk, point.bound, place))
            end.names.append(name)
        return list(found.values())

    def _draw(self, ax: Axes) -> None:
        ax.plot(self.curve.risk, self.curve.bound, color=BLACK, lw=1.6)
        best, *others = self.minima
        ax.axhline(best.bound, color=VERMILION, lw=0.8, ls=":")
        ax.plot(best.empirical_risk, best.bound, "*", color=VERMILION, ms=13)
        for other in others:
            ax.plot(other.empirical_risk, other.bound, "o", color=VERMILION, ms=5)
        for place, text in ((0, "prior"), (-1, "all weight on the smallest risk")):
            risk, bound = float(self.curve.risk[place]), float(self.curve.bound[place])
            ax.plot(risk, bound, "_", color=GREY, ms=14, mew=2)
            near = [end for end in self.ends if abs(end.empirical_risk - risk) <= 0.04 * np.ptp(self.curve.risk)]
            if not near and place_of(self.minima, self.curve, bound, risk).endswith(text):
                self._write(ax, risk, bound, text, above=True, color=GREY)
        palette = Palette(self.solutions)
        for end in self.ends:
            # Hollow and larger than what it may lie on.
            style = {**palette[end.names[0]], "linestyle": "none", "markerfacecolor": "none"}
            ax.plot(end.empirical_risk, end.bound, ms=14.0, mew=1.6, **style)
            if math.isfinite(end.bound):
                self._write(ax, end.empirical_risk, end.bound, self._label(end), end.place == NOWHERE, style["color"])
            else:
                ax.text(0.5, 0.97, self._label(end), transform=ax.transAxes, ha="center", va="top", fontsize=8.0)
        if not any(end.place == "the minimum" for end in self.ends):
            self._write(ax, best.empirical_risk, best.bound, f"the minimum, {at_most(best.bound)}", color=VERMILION)
        low, high = ax.get_ylim()
        # Room for what is written below the lowest point.
        ax.set(xlabel="empirical risk of the posterior", ylabel="bound", ylim=(low - 0.3 * (high - low), high))

    def _write(self, ax: Axes, risk: float, bound: float, text: str, above: bool = False, color: str = BLACK) -> None:
        """Write words at a point: below it, where no posterior is, and towards the middle of the picture."""
        share = (risk - self.curve.risk[-1]) / max(self.curve.risk[0] - self.curve.risk[-1], 1e-12)
        side, shift = ("left", -8) if share < 0.3 else ("right", 8) if share > 0.7 else ("center", 0)
        place: dict[str, Any] = {"xytext": (shift, 8 if above else -11), "textcoords": "offset points"}
        ax.annotate(text, (risk, bound), ha=side, va="bottom" if above else "top", fontsize=8.0, color=color, **place)

    def _label(self, end: End) -> str:
        gap = end.bound - self.minima[0].bound
        above = f", {gap:.2g} above" if _SAME < gap < math.inf else ""
        at = f" {at_most(end.bound)}" if end.place == "the minimum" else ""
        # Characters in a line.
        names = textwrap.fill(literal(", ".join(end.names)), 30)
        return f"{names}:\n{end.place}{at}{above}"

    def title(self) -> str:
        missed = [name for name, point in self.solutions.items() if not point.bound <= self.minima[0].bound + _SAME]
        count, asked = len(self.minima), len(self.solutions)
        text, best = ("one minimum", "it") if count == 1 else (f"{count} local minima", "the best")
        if not asked:
            return f"The bound has {text}"
        if missed and asked > 1:
            return f"The bound has {text}; {len(missed)} of {asked} solvers did not find {best}"
        who = literal(next(iter(self.solutions))) if asked == 1 else "every solver"
        return f"The bound has {text}; {who} {'did not find' if missed else 'finds'} {best}"
