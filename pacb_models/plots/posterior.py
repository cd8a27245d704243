"""The weights of posteriors against the risks of the classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..problem import Problem
from ..solution import Solution
from .display import Display, named_solutions
from .palette import Palette
from .style import GREY, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class PosteriorDisplay(Display):
    """How solutions weigh the classifiers: weight over prior against risk, or the mass up to each risk.

    Parameters
    ----------
    problem : Problem
    solutions : dict of str to Solution
    cumulative : bool
        Draw the posterior mass of the classifiers whose risk is at most the abscissa.

    Examples
    --------
    >>> import pacb_models as pm
    >>> from pacb_models.plots import PosteriorDisplay
    >>> problem = pm.BoundProblem([0.1, 0.2, 0.4], m=500)
    >>> display = PosteriorDisplay.from_solutions(problem, [pm.solve(problem), pm.solve(problem, "fixed-point")])
    >>> sorted(display.solutions)
    ['fixed-point', 'frontier']
    """

    problem: Problem
    solutions: Mapping[str, Solution]
    cumulative: bool = False

    @classmethod
    def from_solutions(
        cls,
        problem: Problem,
        solutions: Solution | Sequence[Solution] | Mapping[str, Solution],
        cumulative: bool = False,
    ) -> PosteriorDisplay:
        """A display of one or several solutions of a problem."""
        named = named_solutions(solutions)
        for name, solution in named.items():
            if solution.posterior is None or solution.posterior.size != problem.size:
                raise InputError(f"solution {name!r} has no posterior over the problem's {problem.size} classifiers.")
        return cls(problem, named, cumulative)

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(self.problem.risks, kind="stable")
        risks, prior = self.problem.risks[order], self.problem.prior[order]
        palette = Palette(self.solutions)
        if self.cumulative:
            # No mass is below the smallest risk.
            risks = np.concatenate([risks[:1], risks])
            ax.step(risks, _masses(prior), where="post", color=GREY, lw=1.2, label="prior")
        else:
            ax.axhline(1.0, color=GREY, lw=1.2, label="prior")
        for name, solution in self.solutions.items():
            assert solution.posterior is not None  # checked when the display was made
            weights, style = solution.posterior[order], {**palette[name], "label": literal(name)}
            if self.cumulative:
                ax.step(risks, _masses(weights), where="post", **{**style, "marker": ""})
            else:
                ax.plot(risks, weights / prior, markevery=max(1, len(risks) // 40), **style)
        label = "posterior mass up to this risk" if self.cumulative else "weight / prior weight"
        ax.set(xlabel="empirical risk of the classifier", ylabel=label)

    def title(self) -> str:
        sizes = sorted({solution.support_size for solution in self.solutions.values()})
        used = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        return f"{used} of {self.problem.size} classifiers have weight"


def _masses(weights: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(weights)])
