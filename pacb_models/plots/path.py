r"""The bound along the whole frontier between empirical risk and divergence.

Every optimum of a bound :math:`F(L, D)` is on the path of posteriors with the least divergence for their empirical risk
(see the page on the mathematics): :math:`q_i \propto p_i (\mu - l_i)_+^{1/(\alpha-1)}`, or :math:`p_i e^{-\beta l_i}`
for the KL divergence. Drawn against ``L`` the path is one curve from the prior to the smallest risk, below which no
posterior lies: what a solver returned is a point on it, or above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import UnsupportedProblemError
from ..problem import BoundProblem
from ..registry import solve
from ..solution import LocalMinimum, Solution
from ..wording import at_most
from .display import Display, by_name
from .style import BLACK, GREY, VERMILION, Style, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Neighbouring points of the curve are no farther apart than this share of its width and height ...
_RESOLUTION = 1.0 / 150.0
#: ... as far as so many rounds of halving can bring it.
_ROUNDS = 40


class Curve(NamedTuple):
    """The path as empirical risks and bounds, from the prior to the smallest risk."""

    risk: np.ndarray
    bound: np.ndarray


def frontier_curve(problem: BoundProblem) -> Curve:
    """The bound along the path; points are added where neighbours are far apart."""
    small = problem.merged().problem
    excess = small.risks - small.risks.min()
    if not excess.any():
        return Curve(np.array([small.risks[0]]), np.array([small.bound(small.prior)]))

    def point(log_scale: float) -> tuple[float, float, float]:
        weights = _weights(small, excess, np.exp(log_scale))
        q = weights / weights.sum()
        risk = small.empirical_risk(q)
        return float(log_scale), risk, small.outer(risk, small.statistic(q))

    least, largest = np.log(excess[excess > 0.0].min()), np.log(excess.max())
    # Below the smallest positive excess nothing but the smallest risk has weight (with KL: below a fiftieth of it).
    start = least - np.log(50.0) if small.divergence_function.moments == "kl" else least
    points = [point(scale) for scale in np.linspace(largest + np.log(1e4), start, 60)]
    for _ in range(_ROUNDS):
        table = np.array(points)
        spans = np.maximum(np.ptp(table[:, 1:], axis=0), 1e-12)
        wide = np.flatnonzero((np.abs(np.diff(table[:, 1:], axis=0)) > _RESOLUTION * spans).any(axis=1))
        if not wide.size:
            break
        points = sorted(points + [point(0.5 * (table[k, 0] + table[k + 1, 0])) for k in wide], reverse=True)
    prior = (np.inf, small.empirical_risk(small.prior), small.bound(small.prior))
    table = np.array([prior, *points])
    return Curve(table[:, 1], table[:, 2])


def _weights(problem: BoundProblem, excess: np.ndarray, scale: float) -> np.ndarray:
    """Unnormalised weights of the path at a level ``scale`` above the smallest risk (KL: at the rate 1/scale)."""
    if problem.divergence_function.moments == "kl":
        return problem.prior * np.exp(-excess / scale)
    share = np.maximum(1.0 - excess / scale, 0.0)
    return problem.prior * share ** (1.0 / (problem.order - 1.0))


class PathDisplay(Display):
    """The bound along the frontier, its local minima, the ends of the path, and what solvers returned.

    Parameters
    ----------
    problem : BoundProblem
    curve : Curve
    minima : sequence of LocalMinimum
        The local minima, best first; the first is the certified global one.
    solutions : dict of str to Solution
        What solvers returned, by the names to show.

    Examples
    --------
    >>> import pacb_models as pm
    >>> from pacb_models.plots import PathDisplay
    >>> problem = pm.BoundProblem([0.0] + [0.5] * 60, m=30, delta=0.05, distance="squared")
    >>> display = PathDisplay.from_problem(problem, pm.solve(problem, "fixed-point"))
    >>> len(display.minima)
    2
    """

    def __init__(
        self,
        problem: BoundProblem,
        curve: Curve,
        minima: Sequence[LocalMinimum],
        solutions: Mapping[str, Solution],
    ) -> None:
        self.problem = problem
        self.curve = curve
        self.minima = list(minima)
        self.solutions = dict(solutions)

    @classmethod
    def from_problem(
        cls, problem: BoundProblem, solutions: Solution | Sequence[Solution] | Mapping[str, Solution] | None = None
    ) -> PathDisplay:
        """Compute the curve and the certified minima of a problem."""
        if not isinstance(problem, BoundProblem):
            raise UnsupportedProblemError(
                f"the path is that of a BoundProblem, not of a {type(problem).__name__}, whose bound is convex."
            )
        exact = solve(problem, "frontier")
        best = LocalMinimum(exact.bound, exact.empirical_risk, exact.divergence, exact.support_size)
        return cls(problem, frontier_curve(problem), [best, *exact.local_minima], by_name(solutions))

    def plot(self, ax: Axes | None = None) -> PathDisplay:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = new_axes(ax)
        with styled():
            ax.plot(self.curve.risk, self.curve.bound, color=BLACK, lw=1.6, label="least bound for each empirical risk")
            ax.plot(self.curve.risk[0], self.curve.bound[0], "|", color=GREY, ms=14, mew=2, label="prior")
            end = (self.curve.risk[-1], self.curve.bound[-1])
            ax.plot(*end, "_", color=GREY, ms=14, mew=2, label="all weight on the smallest risk")
            best, *others = self.minima
            ax.axhline(best.bound, color=VERMILION, lw=0.8, ls=":")
            label = f"minimum {at_most(best.bound)}"
            ax.plot(best.empirical_risk, best.bound, "*", color=VERMILION, ms=13, label=label)
            if others:
                ax.plot(
                    [other.empirical_risk for other in others],
                    [other.bound for other in others],
                    "o",
                    mfc="white",
                    mec=VERMILION,
                    ms=8,
                    label="other local minima",
                )
            style = Style(list(self.solutions))
            for name, solution in self.solutions.items():
                look = {**style[name], "linestyle": "none"}
                gap = solution.bound - best.bound
                label = f"{name}: {'the minimum' if gap <= 1e-7 else f'{gap:.2g} above'} ({solution.status})"
                ax.plot(solution.empirical_risk, solution.bound, ms=6, label=label, **look)
            ax.set(xlabel="empirical risk of the posterior", ylabel="bound", title=self.title())
            ax.legend(fontsize=8.0)
        return self

    def title(self) -> str:
        """What is seen, in one sentence."""
        missed = [name for name, solution in self.solutions.items() if solution.bound > self.minima[0].bound + 1e-7]
        count = len(self.minima)
        text = "The bound has one minimum" if count == 1 else f"The bound has {count} local minima"
        if self.solutions:
            found = (
                f"{next(iter(self.solutions))} finds it" if len(self.solutions) == 1 else "every solver finds the best"
            )
            text += f"; {found}" if not missed else f"; {', '.join(missed)} ended above the best"
        return text
