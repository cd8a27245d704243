r"""The Gibbs path of the Kullback–Leibler divergence: :math:`q_i \propto p_i e^{-\beta l_i}`, :math:`\beta \ge 0`.

With ``n`` the exponent of the bound, :math:`b = (KL + \ln(I/\delta))/n`, the exchange rate is :math:`d = \beta/n` and
the elasticity :math:`e = n v`, ``v`` the variance of the risks under ``q``.

*Range of the variance.* :math:`\mathrm d \ln v/\mathrm d\beta = -E(l - L)^3/v \le L - l_{\min}`, since no risk lies
further below the mean. The mean falls along the path, so from :math:`\beta_0` to :math:`\beta_1` the variance stays
between

.. math:: v_1\, e^{-(L_0 - l_{\min})(\beta_1 - \beta_0)} \quad\text{and}\quad
          v_0\, e^{(L_0 - l_{\min})(\beta_1 - \beta_0)} .

*Ends.* Before :math:`d^2 = 2\ln(I/\delta)/n` the bound falls, as :math:`\Phi \le d^2/4 < b`. An additive distance turns
before :math:`\Phi(d)` reaches the largest budget, that of all mass on the smallest risk. With kl the path is followed
to where every other weight has fallen by :math:`e^{-700}`; when the bound still falls there, the limit :math:`\beta =
\infty` is a minimum (so it is when there are zero risks and the next risk exceeds :math:`1/n`).
"""

from __future__ import annotations

import math

import numpy as np

from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome

from .minima import NEGLIGIBLE, Candidate, outcome, prior_is_optimal
from .stationarity import STATIONARITY, BinaryKL, Linear, Numbers, Point, Squared, Stationarity
from .sweep import SHORTEST, find_turns, solve_turn

#: Logarithms of prior weights: an array, or one number for equal weights.
Logarithms = np.ndarray | float
#: Largest number of exponentials formed at once.
_BATCH = 1 << 16
#: Elements handled at a time, so that temporary arrays stay in the cache.
_BLOCK = 16_384
#: The logarithm of a mass in whose units all weights are in the range of floating point.
_SMALLEST_MASS = -600.0
#: Exponent beyond which a weight does not count.
_VANISHED = 700.0
#: A set of this size is not worth a smaller one.
_FEW_ITEMS = 256
#: How much steeper than the least steep the steepest path is for which a smaller set is made.
_STEEPEST = 1e9
#: Points of the first cut of the path.
_FIRST_POINTS = 16
#: ... of a large set, whose points are dear.
_FEW_POINTS = 6
#: Items whose weight, relative to that of the smallest risk, never exceeds exp(-60) are left out of the sums.
_LEFT_OUT = 60.0


def minimise(problem: BoundProblem) -> Outcome:
    """The global minimum of a bound with the Kullback–Leibler divergence, and every other local one."""
    path = GibbsPath(problem)
    if path.spread <= NEGLIGIBLE:
        return prior_is_optimal(problem)
    stationarity = STATIONARITY[problem.distance]
    if isinstance(stationarity, Linear):
        # L + KL/n is convex: its minimum is where d = 1.
        return outcome(problem, path, [path.candidate(path.evaluate_one(math.log(path.n)))], [], 1)
    low, high = path.limits(stationarity)
    with np.errstate(all="ignore"):
        path.leave_out(low)
        points = _FIRST_POINTS if path.y.size <= _BATCH else _FEW_POINTS
        turns = find_turns(path, stationarity, np.linspace(math.log(low), math.log(high), points))
        candidates, evaluations = [], turns.evaluations
        for bracket in turns.upward:
            point, count = solve_turn(path, stationarity, bracket)
            evaluations += count
            candidates.append(path.candidate(point))
        if turns.last_excess < 0.0:
            candidates.append(path.end())
        return outcome(problem, path, candidates, turns.open, evaluations)


class GibbsPath:
    r"""The path in the coordinate :math:`z = \ln\beta`."""

    def __init__(self, problem: BoundProblem):
        self.problem = problem
        self.floor = float(problem.risks.min())
        self.all_y = self.y = problem.risks - self.floor
        # Weights are formed from logarithms: the smallest risk may have a prior weight next to underflow.
        self.all_log_p: Logarithms = -math.log(problem.size) if problem.uniform_prior else np.log(problem.prior)
        self.log_p = self.all_log_p
        #: Smaller sets, each with the β from which on it is enough; see :meth:`leave_out`.
        self.levels: list[tuple[float, np.ndarray, Logarithms]] = []
        self.spread = float(self.y.max())
        self.n, self.constant = float(problem.exponent), problem.coefficient
        self.lowest = self.y <= NEGLIGIBLE
        self.log_lowest_mass = math.log(float(problem.prior[self.lowest].sum()))

    def limits(self, stationarity: Stationarity) -> tuple[float, float]:
        """β below which the bound falls, and β above which it rises or the posterior no longer moves."""
        n = self.n
        low = math.sqrt(2.0 * n * self.constant)
        largest = (self.constant - self.log_lowest_mass) / n
        if isinstance(stationarity, BinaryKL):
            high = _VANISHED / float(self.y[~self.lowest].min())
        elif isinstance(stationarity, Squared):
            high = 2.0 * n * math.sqrt(stationarity.scale * largest)
        else:
            # R(y) >= y: at y = b the rate 2 √y R'(y) belongs to a budget that is not smaller.
            high = 2.0 * n * math.sqrt(largest) * (1.0 + largest * (4.0 / 9.0 + largest * (16.0 / 45.0)))
        return low, max(1.001 * high, 2.0 * low)

    def leave_out(self, smallest: float) -> None:
        """Forget the items whose weight is nil for every β from ``smallest`` on; of large sets make smaller ones for
        larger β, so that the points far along the path cost next to nothing.
        """
        reach = _LEFT_OUT - self.log_lowest_mass
        y, log_p, beta = self.y, self.log_p, smallest
        while True:
            kept = y <= reach / beta
            count = int(np.count_nonzero(kept))
            if 2 * count < y.size:
                y, log_p = y[kept], log_p if isinstance(log_p, float) else log_p[kept]
                if beta == smallest:
                    self.y, self.log_p = y, log_p
                else:
                    self.levels.append((beta, y, log_p))
            if y.size <= _FEW_ITEMS or beta > _STEEPEST * smallest:
                return
            beta *= 2.0

    def items(self, beta: float) -> tuple[np.ndarray, Logarithms]:
        """The risks and logarithms of prior weights that count from β on."""
        for least, y, log_p in reversed(self.levels):
            if beta >= least:
                return y, log_p
        return self.y, self.log_p

    def evaluate(self, z: np.ndarray) -> Point:
        y, log_p = self.items(math.exp(float(z.min())))
        if z.size * y.size > _BATCH:
            columns = zip(*(self.evaluate_one(one)[:-1] for one in z.tolist()), strict=True)
            return Point(*(np.array(values) for values in columns))
        beta = np.exp(z)
        weights = np.multiply.outer(-beta, y)
        weights += log_p
        largest = weights.max(axis=1)
        weights -= largest[:, None]
        np.exp(weights, out=weights)
        total = weights.sum(axis=1)
        mean = (weights * y).sum(axis=1) / total
        weights *= (y - mean[:, None]) ** 2
        return self._point(z, beta, largest + np.log(total), mean, weights.sum(axis=1) / total)

    def evaluate_one(self, z: float) -> Point:
        beta = math.exp(z)
        y, log_p = self.items(beta)
        if y.size > _BATCH and self.log_lowest_mass > _SMALLEST_MASS:
            return self._point(z, beta, *self._long_sums(beta, y, log_p))
        weights = y * -beta
        weights += log_p
        largest = float(weights.max())
        weights -= largest
        np.exp(weights, out=weights)
        total = float(weights.sum())
        mean = _inner(weights, y) / total
        deviation = y - mean
        deviation *= deviation
        return self._point(z, beta, largest + math.log(total), mean, _inner(weights, deviation) / total)

    def _long_sums(self, beta: float, y: np.ndarray, log_p: Logarithms) -> tuple[float, float, float]:
        """The logarithm of the total weight, mean and variance, block by block, so that nothing leaves the cache.

        Weights are in units of the mass at the smallest risk: none overflows, and their sum is at least one.
        """
        total = first = second = 0.0
        for i in range(0, y.size, _BLOCK):
            part = y[i : i + _BLOCK]
            weights = part * -beta
            weights += (log_p if isinstance(log_p, float) else log_p[i : i + _BLOCK]) - self.log_lowest_mass
            np.exp(weights, out=weights)
            total += float(weights.sum())
            weights *= part
            first += float(weights.sum())
            weights *= part
            second += float(weights.sum())
        mean = first / total
        variance = second / total - mean * mean
        if variance < 1e-3 * mean * mean:
            # Too much has cancelled.
            variance = 0.0
            for i in range(0, y.size, _BLOCK):
                part = y[i : i + _BLOCK]
                logarithms = (log_p if isinstance(log_p, float) else log_p[i : i + _BLOCK]) - self.log_lowest_mass
                variance += float((np.exp(logarithms - beta * part) * (part - mean) ** 2).sum())
            variance /= total
        return self.log_lowest_mass + math.log(total), mean, variance

    def _point(self, z: Numbers, beta: Numbers, log_total: Numbers, mean: Numbers, variance: Numbers) -> Point:
        divergence = -beta * mean - log_total
        d = beta / self.n
        return Point(z, self.floor + mean, (divergence + self.constant) / self.n, d, self.n * variance, d)

    def elasticity_range(self, start: Point, end: Point) -> tuple[np.ndarray, np.ndarray]:
        growth = np.exp((start.L - self.floor) * (end.d - start.d) * self.n)
        return end.e / growth, start.e * growth

    def cut(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        pieces = 4 if self.y.size <= 4096 else 2
        return start[:, None] + (end - start)[:, None] * np.arange(1, pieces) / pieces

    def is_atom(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return end - start <= SHORTEST

    def candidate(self, point: Point) -> Candidate:
        """A point as a local minimum."""
        return Candidate(point.L, point.b, max(point.b * self.n - self.constant, 0.0), point.z)

    def end(self) -> Candidate:
        """The limit of the path, all mass on the smallest risk, as a local minimum."""
        return Candidate(self.floor, (self.constant - self.log_lowest_mass) / self.n, -self.log_lowest_mass, None)

    def posterior(self, place: float | None) -> np.ndarray:
        """The weights at a coordinate; None is the end of the path."""
        if place is None:
            weights = np.where(self.lowest, self.problem.prior, 0.0)
        else:
            weights = self.all_y * -math.exp(place)
            weights += self.all_log_p
            weights -= weights.max()
            np.exp(weights, out=weights)
        weights /= weights.sum()
        return weights

    def support_size(self, place: float | None) -> int:
        return int(np.count_nonzero(self.posterior(place)))


def _inner(a: np.ndarray, b: np.ndarray) -> float:
    """The sum of products; long ones pairwise, which is more accurate than BLAS and does not start its threads."""
    return float(np.dot(a, b)) if a.size <= 4096 else float((a * b).sum())
