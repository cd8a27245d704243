"""Where methods start that end in the minimum next to their start, so that all of them have the same."""

from __future__ import annotations

import numpy as np

from pacb_models.problem import Problem

#: Concentrations of the Gibbs posteriors that are tried, in units of one over the spread of the risks.
TILTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def best_start(problem: Problem) -> np.ndarray:
    """The best of the prior and a few Gibbs posteriors; all have full support."""
    trials = [problem.prior, *(tilted(problem, tilt) for tilt in TILTS)]
    return min(trials, key=problem.bound)


def tilted(problem: Problem, tilt: float, noise: np.ndarray | float = 1.0) -> np.ndarray:
    """Weights proportional to prior × noise × exp(−tilt × risk), risks scaled to [0, 1], plus a little of the prior."""
    lowest = problem.risks.min()
    spread = float(problem.risks.max() - lowest) or 1.0
    weights = problem.prior * noise * np.exp(-tilt * (problem.risks - lowest) / spread)
    mixed = weights / weights.sum() + 1e-4 * problem.prior
    return mixed / mixed.sum()
