r"""The direct bound of a given posterior, and the true risks at which it is attained.

.. math:: B^\circ(q) = \max_l \Big\{\sum_i q_i l_i : \sum_i p_i G(\hat l_i, l_i) \le I/\delta\Big\}
          = \min_{\lambda \ge 0}\ \lambda I/\delta + \sum_i \max_l\,[q_i l - \lambda p_i G(\hat l_i, l)].

At the maximum :math:`q_i = \lambda p_i G'(\hat l_i, l_i)`: for each λ every classifier's risk is the root of an
increasing function, and λ the root of the budget's equation. Any λ gives an upper bound of :math:`B^\circ`, so the
value that is returned is the right side, which errors in λ and in the risks change in second order only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .common_risk import ALMOST_ONE, Sample, common_risk, total_penalty
from .penalties import LEAST, LogPenalty, Penalty, Place

_EPSILON = 2.0**-52
_INNER, _OUTER = 200, 100
#: Logarithms that are off by less change the bound by their square.
_CLOSE = 1e-8
#: Coordinates and logarithms that are off by less are left to the common Newton step.
_NEAR = 0.3
_FLAT, _SHORT = 0.1, 4.0


class WorstCase(NamedTuple):
    """The largest average true risk of a posterior, rounded up, and the true risks that have it."""

    bound: float
    risks: np.ndarray


def worst_case(
    penalty: Penalty, risks: np.ndarray, prior: np.ndarray, log_radius: float, q: np.ndarray, start: float
) -> WorstCase:
    """The maximum over the confidence set at weights ``q`` on the simplex; ``start`` is about where worst risks are."""
    if penalty.distance.below_one and start >= 1.0:
        # No posterior's bound is below the common risk: every bound rounds to one.
        return WorstCase(1.0, np.ones_like(risks))
    signed = penalty.signed
    # The worst risk of a weight of zero is then minus infinity: as elsewhere, the smallest normal number stands for it.
    weights = np.maximum(q, np.finfo(float).tiny) if signed else q
    inside = weights > 0.0
    if penalty.distance.below_one:
        inside &= risks < 1.0
    if log_radius <= penalty.at_rest or not inside.any():
        return WorstCase(_rounded_up(float((q * risks).sum())), risks.copy())
    if inside.all():
        bound, excess = _Maximiser(penalty, risks, prior, weights, 0.0, log_radius).solve(start)
        worst = risks + excess
    else:
        resting = float(prior[~inside].sum()) * math.exp(penalty.at_rest)
        maximiser = _Maximiser(penalty, risks[inside], prior[inside], weights[inside], resting, log_radius)
        bound, excess = maximiser.solve(start)
        bound = _rounded_up(bound + float((q * risks).sum(where=~inside)))
        worst = risks.copy()
        worst[inside] += excess
    if penalty.distance.below_one:
        bound, worst = min(bound, 1.0), np.minimum(worst, 1.0)
    return WorstCase(bound, worst)


def _rounded_up(average: float) -> float:
    """Above what rounding takes from an average."""
    return average * (1.0 + 4.0 * _EPSILON)


class _Maximiser:
    """One maximisation over the classifiers that a posterior gives weight.

    ``resting`` is what the others take of the budget.
    """

    def __init__(
        self,
        penalty: Penalty,
        empirical: np.ndarray,
        prior: np.ndarray,
        weights: np.ndarray,
        resting: float,
        log_radius: float,
    ):
        self.penalty, self.empirical, self.prior, self.weights = penalty, empirical, prior, weights
        self.resting, self.log_radius = resting, log_radius
        self.log_ratio = np.log(weights) - np.log(prior)

    def solve(self, start: float) -> tuple[float, np.ndarray]:
        r"""The bound and the excesses, by Newton's method for all risks and :math:`v = \ln(1/\lambda)` together.

        Each risk is described by a coordinate ``z``, and :math:`\psi(z) = \ln G'` has to be
        :math:`\ln(q_i/p_i) + v`. At an optimal posterior the start is the solution.
        """
        price, z = self._start(start)
        low, high, step = -math.inf, math.inf, 0.0
        for _ in range(_OUTER):
            place, terms, lag, moves = self._look(z, price)
            if float(np.maximum(np.abs(lag * moves), np.abs(lag)).max()) > _NEAR:
                z = self._coordinates(self.log_ratio + price, z)
                place, terms, lag, moves = self._look(z, price)
            total = self._total(terms.value)
            gap = self.log_radius - total
            effects = self.prior * np.exp(terms.slope - total) * place.growth * moves
            slope = float(effects.sum())
            if slope > 0.0:
                step = (gap - float((effects * lag).sum())) / slope
                settled = bool((np.abs(lag) <= _CLOSE).all())
                if settled and abs(step) <= _CLOSE:
                    break
            else:
                step, settled = self._to_the_next_move(terms, price, gap), True
                if step == 0.0:
                    break
            if settled:
                low, high = (price, high) if step > 0.0 else (low, price)
            if 0.0 < slope < _FLAT:
                # Exponential penalties near one: the tangent is flat and leads too far.
                step = min(max(step, -_SHORT), _SHORT)
            if not low <= price + step <= high:
                step = 0.5 * (low + high) - price if math.isfinite(low + high) else 0.5 * step
            z = self.penalty.within(z + (lag + step) * moves)
            price += step
        else:
            # Not settled: every λ gives an upper bound, provided that each risk is where its maximum is.
            z, step = self._coordinates(self.log_ratio + price, z), 0.0
            place, terms, lag, moves = self._look(z, price)
            gap = self.log_radius - self._total(terms.value)
            if float(np.abs(lag).max()) > _NEAR:
                return math.inf, place.excess
        if not (self.penalty.signed or self.penalty.distance.below_one) and float(z.max()) >= self.penalty.most:
            # Out of reach.
            return math.inf, place.excess
        share = math.exp(self.log_radius - price)  # λ I/δ
        value = float((self.weights * (self.empirical + place.excess)).sum()) - share * math.expm1(-gap)
        error = 8.0 * abs(value) + 4.0 * share * max(1.0, abs(self.log_radius))
        return value + _EPSILON * error, place.excess + place.growth * moves * (lag + step)

    def _start(self, risk: float) -> tuple[float, np.ndarray]:
        """As if all worst risks were the same, which they are at the optimum."""
        sample = Sample.of(self.empirical, self.prior)
        if risk <= sample.least:
            risk = common_risk(self.penalty, sample, self.log_radius).high
        if self.penalty.distance.below_one:
            risk = min(risk, ALMOST_ONE)
        excess = risk - self.empirical
        total = total_penalty(self.penalty, sample, self.log_radius, risk)
        # The smallest slopes underflow: a power of the risk has a slope of about this.
        price = total.value + self.log_radius + (math.log(total.slope) if total.slope > 0.0 else -math.log(risk))
        if not self.penalty.signed:
            # A classifier above the common risk: its own worst risk is a little higher still.
            least = np.full_like(excess, 1e-2 * (risk - sample.least))
            if self.penalty.distance.below_one:
                least = np.minimum(least, 0.5 * (1.0 - self.empirical))
            excess = np.maximum(excess, least)
        return price, self.penalty.coordinate(self.empirical, excess)

    def _look(self, z: np.ndarray, price: float) -> tuple[Place, LogPenalty, np.ndarray, np.ndarray]:
        """The places, their penalties, how far each ln G' is from where it should be, and dz/dψ."""
        place = self.penalty.place(self.empirical, z)
        terms = self.penalty.logarithms(self.empirical, place.excess, place.remainder)
        lag = (self.log_ratio + price) - terms.slope
        moves = 1.0 / (terms.growth * place.growth)
        if not self.penalty.signed and (float(z.min()) <= LEAST or float(z.max()) >= self.penalty.most):
            # A slope that is positive from the start (no errors, exponential penalty): the risk stays where it is.
            # So does one that is as good as one.
            stuck = ((z <= LEAST) & (lag <= 0.0)) | ((z >= self.penalty.most) & (lag >= 0.0))
            lag, moves = np.where(stuck, 0.0, lag), np.where(stuck, 0.0, moves)
        return place, terms, lag, moves

    def _to_the_next_move(self, terms: LogPenalty, price: float, gap: float) -> float:
        """Every risk is at an end of its range: how much the price has to change for one to leave it.

        Zero when none can.
        """
        away = terms.slope - (self.log_ratio + price)
        if gap > 0.0:
            return float(away[away >= 0.0].min()) + _NEAR if (away >= 0.0).any() else 0.0
        return float(away[away <= 0.0].max()) - _NEAR if (away <= 0.0).any() else 0.0

    def _total(self, log_values: np.ndarray) -> float:
        shift = float(log_values.max())
        total = float((self.prior * np.exp(log_values - shift)).sum())
        if self.resting > 0.0:
            total += self.resting * math.exp(-shift)
        return shift + math.log(total)

    def _coordinates(self, target: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Where ln G' has its targets, by Newton's method with the bisections that it may need."""
        z = start.copy()
        low, high = np.full_like(z, -math.inf), np.full_like(z, math.inf)
        moved = np.full_like(z, math.inf)
        busy = np.arange(z.size)
        empirical, wanted = self.empirical, target
        for _ in range(_INNER):
            here = z[busy]
            place = self.penalty.place(empirical, here)
            terms = self.penalty.logarithms(empirical, place.excess, place.remainder)
            gap = wanted - terms.slope
            below = low[busy] = np.where(gap > 0.0, here, low[busy])
            above = high[busy] = np.where(gap > 0.0, high[busy], here)
            new = here + gap / (terms.growth * place.growth)
            bracketed = np.isfinite(below) & np.isfinite(above)
            # From above, the steps of Newton's method are all of the same length where ln G' is an exponential.
            outside = ~((new >= below) & (new <= above)) | (bracketed & (np.abs(new - here) > 0.5 * moved[busy]))
            if outside.any():
                far = here + np.copysign(2.0 + np.abs(here), gap)
                with np.errstate(invalid="ignore"):
                    new = np.where(outside, np.where(bracketed, 0.5 * (below + above), far), new)
            z[busy] = new = self.penalty.within(new)
            moved[busy] = np.abs(new - here)
            left = moved[busy] > _CLOSE
            if not left.any():
                break
            if not left.all():
                busy, empirical, wanted = busy[left], empirical[left], wanted[left]
        return z
