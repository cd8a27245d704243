"""The minima of a bound by brute force: a fine scan of the path in doubles, each minimum refined in fifty digits.

Nothing here is taken from the solver: posteriors come from the defining formulas of the paths, bounds from the
definitions, and minima from comparing bounds, never from a stationarity equation.
"""

from itertools import pairwise

import numpy as np
from mpmath import exp, mp, mpf
from scipy.signal import find_peaks

import pacb_models as pm

from ..pacb_models.mp_reference import golden_section, invert, numbers, statistic

DIGITS = 50


def parameters(problem: pm.BoundProblem, count: int) -> np.ndarray:
    """Path parameters from near the prior to the end: β for KL, μ minus the smallest risk for the others."""
    y = problem.risks - problem.risks.min()
    levels = np.unique(y[y > 0])
    if problem.divergence == "kl":
        return np.geomspace(1e-3, 600 / levels[0], count)
    edges = np.append(levels, 1e3)
    each = count // levels.size
    fractions = np.unique(np.concatenate((np.geomspace(1e-10, 1, each // 2), np.linspace(0, 1, each // 2))))
    return np.unique(np.concatenate([a + (b - a) * fractions for a, b in pairwise(edges)]))[::-1]


def posteriors(problem: pm.BoundProblem, values: np.ndarray) -> np.ndarray:
    """One posterior of the path per parameter."""
    y = problem.risks - problem.risks.min()
    if problem.divergence == "kl":
        q = problem.prior * np.exp(-values[:, None] * y)
    else:
        ramp = np.maximum(values[:, None] - y, 0) / values[:, None]
        q = problem.prior * ramp ** (1 / (problem.order - 1))
    return q / q.sum(axis=1, keepdims=True)


def bounds(problem: pm.BoundProblem, q: np.ndarray) -> np.ndarray:
    """The bound at each row."""
    L, p, c = q @ problem.risks, problem.prior, problem.coefficient
    if problem.divergence == "kl":
        with np.errstate(divide="ignore", invalid="ignore"):
            budget = (np.where(q > 0, q * np.log(q / p), 0).sum(axis=1) + c) / problem.exponent
    else:
        budget = c * (p * (q / p) ** problem.order).sum(axis=1) ** (1 / problem.order)
    if problem.distance == "kl":
        return pm.kl_inverse(np.clip(L, 0, 1), budget)
    if problem.distance == "relative":
        return L + budget + np.sqrt(budget**2 + 2 * budget * L)
    if problem.distance == "ch":
        # The real root of y³ + (15/8) y² + (135/16) y = (135/16) b, by Cardano's formula with y = x - 5/8.
        p, q = 135 / 16 - 75 / 64, 2 * (5 / 8) ** 3 - (5 / 8) * (135 / 16) - 135 / 16 * budget
        root = np.sqrt(q**2 / 4 + p**3 / 27)
        return L + np.sqrt(np.maximum(np.cbrt(-q / 2 + root) + np.cbrt(-q / 2 - root) - 5 / 8, 0))
    return L + {"linear": budget, "squared": np.sqrt(budget), "pinsker": np.sqrt(budget / 2)}[problem.distance]


class Reference:
    """Fifty-digit evaluation of one problem; its constant is taken as given."""

    def __init__(self, problem: pm.BoundProblem):
        mp.dps = DIGITS
        self.problem = problem
        self.risks, self.prior = numbers(problem.risks), numbers(problem.prior)
        self.y = [l - min(self.risks) for l in self.risks]

    def posterior(self, value: mpf) -> list[mpf]:
        """The path's posterior; an infinite β is the end of the Gibbs path."""
        if self.problem.divergence == "kl":
            weights = [p * exp(-value * y) if y else p for p, y in zip(self.prior, self.y)]
        else:
            power = 1 / (mpf(self.problem.order) - 1)
            weights = [p * (value - y) ** power if y < value else mpf(0) for p, y in zip(self.prior, self.y)]
        total = sum(weights)
        return [w / total for w in weights]

    def bound(self, q: list[mpf]) -> mpf:
        """The bound at a posterior."""
        L = sum(w * l for w, l in zip(q, self.risks))
        c = mpf(self.problem.coefficient)
        size = statistic(q, self.prior, self.problem.divergence, self.problem.order)
        gibbs = self.problem.divergence == "kl"
        budget = (size + c) / self.problem.exponent if gibbs else c * size ** (1 / mpf(self.problem.order))
        return invert(self.problem.distance, L, budget)

    def refine(self, low: float, middle: float, high: float) -> tuple[mpf, mpf]:
        """The parameter and the bound at the minimum between ``low`` and ``high``, by golden section."""

        def depth(value: mpf) -> mpf:
            return -self.bound(self.posterior(value))

        found = golden_section(depth, mpf(low), mpf(high), 75)
        deepest, parameter = max(found, (depth(mpf(middle)), mpf(middle)))
        return parameter, -deepest

    def end(self) -> mpf:
        """The bound at the end of the path: the prior restricted to the smallest risk."""
        mass = sum(p for p, y in zip(self.prior, self.y) if y == 0)
        return self.bound([p / mass if y == 0 else mpf(0) for p, y in zip(self.prior, self.y)])


def best(problem: pm.BoundProblem, count: int) -> tuple[mpf, mpf]:
    """(bound, parameter) of the minimum when there is one only, with every bound of the scan in fifty digits."""
    reference = Reference(problem)
    values = parameters(problem, count)
    found = [reference.bound(reference.posterior(mpf(value))) for value in values]
    i = min(range(len(found)), key=found.__getitem__)
    parameter, bound = reference.refine(values[max(i - 1, 0)], values[i], values[min(i + 1, len(values) - 1)])
    return bound, parameter


def scan(problem: pm.BoundProblem, count: int = 20_000, prominence: float = 1e-10) -> list[tuple[mpf, mpf | None]]:
    """(bound, parameter) of every minimum that is at least so deep, best first; the parameter is None at the end."""
    values = parameters(problem, count)
    found = bounds(problem, posteriors(problem, values))
    reference = Reference(problem)
    minima = []
    for i in _valleys(found, prominence):
        if i == len(found) - 1:
            minima.append((reference.end(), None))
        else:
            parameter, bound = reference.refine(values[max(i - 2, 0)], values[i], values[min(i + 2, len(found) - 1)])
            minima.append((bound, parameter))
    return sorted(minima, key=lambda pair: pair[0])


def _valleys(values: np.ndarray, prominence: float) -> np.ndarray:
    """Indices of the minima of a sequence that rises by the prominence on either side (or ends)."""
    return find_peaks(np.concatenate(([-np.inf], -values, [-np.inf])), prominence=prominence)[0] - 1


def right_side(q: np.ndarray, risks: np.ndarray, problem: pm.BoundProblem) -> np.ndarray:
    """The paper's fixed-point equation on a support with its weights and risks, for a uniform prior."""
    H, I, delta, squares = problem.size, problem.constant_value, problem.delta, np.sum(q**2)
    if problem.distance == "linear":  # of the appendix; I = 1/(4m)
        return 1 / q.size + np.sqrt(delta * H * squares / I) * (risks.mean() - risks) / H
    if problem.distance == "squared":
        return 1 / q.size + 2 * squares**0.75 / (H * I / delta) ** 0.25 * (risks.mean() - risks)
    # That of the kl distance is normalised by Z.
    L, budget = q @ risks, np.sqrt(H * squares * I / delta)
    r = pm.kl_inverse(L, budget)
    raw = squares * (1 + (risks - L) / budget * np.log((1 - r) * L / (r * (1 - L))))
    return raw / raw.sum()
