r"""The binary kl distance :math:`\phi = kl(\hat l, l)`; ``r`` is the upper root of :math:`kl(L, r) = b`."""

import math
from typing import final

import numpy as np

from ..algebra import Algebra, ExcessAlgebra, Expression
from ..numerics import paper_kl
from ..numerics.binary_kl import divergence_term, kl_inverse, logit_gap
from ..numerics.elementwise import Numbers, log_ratio
from ..numerics.exponential_means import log_kl_constant, log_kl_mean_below
from ..numerics.power_means import log_largest_deviance, log_power_mean
from ..numerics.rounding import Constant, ceil_exp, ceil_log, ceil_sqrt, from_logarithm
from .distance import Distance, Forward, Inverse

#: exp overflows beyond.
_LARGEST_RATE = 700.0


@final
class BinaryKL(Distance):
    r""":math:`\phi = kl(\hat l, l)`.

    With :math:`d = \mathrm{logit}\, r - \mathrm{logit}\, L` the implicit function theorem gives
    :math:`\partial r/\partial b = r(1-r)/(r-L)` and :math:`\partial r/\partial L = d\, \partial r/\partial b`.
    """

    name = "kl"
    additive = False
    below_one = True

    def invert(self, L: Numbers, budget: Numbers) -> Numbers:
        return kl_inverse(L, budget)

    def derivatives(self, L: Numbers, budget: Numbers) -> Inverse:
        r = kl_inverse(L, budget)
        if isinstance(r, np.ndarray):
            return _at_arrays(L, r)
        if not 0.0 < L < r < 1.0:
            return Inverse(*(each.item() for each in _at_arrays(np.array([L]), np.array([r]))))
        # r/L overflows for the smallest L; elsewhere the quotient keeps more digits than the difference of logarithms.
        d = math.log(r / L) if L > 1e-300 else math.log(r) - math.log(L)
        return _inside(float(L), r, d + math.log((1.0 - L) / (1.0 - r)))

    def reaches(self, L: np.ndarray, budget: np.ndarray, r: float | np.ndarray) -> np.ndarray:
        # Above L the distance increases, so that no root is needed. Its two terms cancel to first order in the excess,
        # and their rounding errors, of that order, move the root by no more than its own.
        excess, rest = r - L, 1.0 - L
        distance = L * np.log1p(excess / (L + 1e-300)) + rest * np.log1p(-excess / rest)
        return (excess <= 0.0) | (distance >= -budget)

    def rate(self, L: Numbers, budget: Numbers) -> Numbers:
        """Return the difference of the logits, which is finite where ``r`` rounds to one."""
        gap = logit_gap(L, budget)
        return gap if isinstance(gap, np.ndarray) and gap.ndim else float(gap)

    def balance(self, L: Numbers, budget: Numbers, rate: Numbers) -> Numbers:
        r"""Compare logits: with the rate ``d`` the root is where its logit exceeds that of ``L`` by ``d``, and the
        distance there is :math:`\ln(1 - L + L e^d) - L d`: it exceeds the budget exactly when ``d`` exceeds the rate of
        the root. Where ``d`` is small it is nearly quadratic."""
        if not isinstance(rate, np.ndarray):
            if rate <= _LARGEST_RATE:
                return 0.5 * log_ratio(math.log1p(L * math.expm1(rate)) - L * rate, budget)
            return float(self.balance(np.array([L]), np.array([budget]), np.array([rate]))[0])
        low = np.minimum(rate, _LARGEST_RATE)
        value = np.log1p(L * np.expm1(low)) - L * low
        beyond = (rate > _LARGEST_RATE) & (L > 0.0)
        if beyond.any():
            value = np.where(beyond, np.logaddexp(np.log1p(-L), np.log(L) + rate) - L * rate, value)
        return 0.5 * log_ratio(np.maximum(value, 0.0), budget)

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        r"""Differentiate, with :math:`l = \hat l + x`: :math:`\phi' = x/(l(1-l))`, :math:`\phi'' = (x^2 + \hat l(1-\hat
        l))/(l(1-l))^2`."""
        rest, true = 1.0 - empirical, empirical + excess
        variance = true * remainder
        return Forward(
            divergence_term(empirical, true, -excess) + divergence_term(rest, remainder, excess),
            excess / variance,
            (excess * excess + empirical * rest) / (variance * variance),
        )

    def express(self, algebra: Algebra, L: Expression, budget: Expression) -> Expression:
        """Write the bound as a variable, and kl as the constraint that ties it to ``L`` and the budget."""
        r = algebra.variable("r", algebra.bound, 0.0, 1.0)
        kl = algebra.relative_entropy(L, r) + algebra.relative_entropy(1.0 - L, 1.0 - r)
        algebra.reach("kl", kl, budget)
        algebra.at_least("upper_root", r, L, algebra.factors.empirical_risk)
        return r

    def express_excess(
        self, cones: ExcessAlgebra, empirical: Expression, excess: Expression, factor: Numbers
    ) -> Expression:
        r"""Write it with :math:`h(z) = z - \ln(1+z)` and the excess ``x`` it is :math:`\hat l\, h(x/\hat l) + (1-\hat
        l)\, h(-x/(1-\hat l))`: what is of first order in ``x`` cancels here, and not in a solver."""
        return cones.log_gap(factor, empirical, excess) + cones.log_gap(factor, 1.0 - empirical, -excess)

    def moment(self, m: int, power: float | None, constant: str) -> Constant:
        """Return :math:`\\xi(m)`: the exponential moment does not depend on ``l``, and one-sided it is no smaller."""
        if constant == "paper":
            value = ceil_sqrt(4 * m) if power is None else paper_kl.kl_constant(m)
            return Constant(value, ceil_log(value))
        if power is None:
            return from_logarithm(log_kl_constant(m))
        return from_logarithm(log_largest_deviance(m, power, constant == "one-sided"), power)

    def moment_at(self, m: int, l: float, power: float | None, constant: str) -> float:
        one_sided = constant == "one-sided"
        if power is None:
            return ceil_exp(log_kl_mean_below(m, m * l) if one_sided else log_kl_constant(m))
        if constant == "paper":
            return float(paper_kl.kl_mean(m, np.array([l]))[0])
        return ceil_exp(log_power_mean("deviance", m, m * l, power, "below" if one_sided else "both"))


def _inside(L: Numbers, r: Numbers, d: Numbers) -> Inverse:
    """Return the derivatives for 0 < L < r < 1; ``d`` is the difference of the logits."""
    variance, excess = r * (1.0 - r), r - L
    slope_b = variance / excess
    slope_L = d * slope_b
    kl_rr = (variance - excess * (1.0 - 2.0 * r)) / (variance * variance)
    LL = -slope_b * (1.0 / (L * (1.0 - L)) - 2.0 * slope_L / variance + kl_rr * slope_L * slope_L)
    Lb = -slope_b * slope_b * (-1.0 / variance + kl_rr * slope_L)
    return Inverse(r, slope_L, slope_b, LL, Lb, -kl_rr * slope_b * slope_b * slope_b)


def _at_arrays(L: np.ndarray, r: np.ndarray) -> Inverse:
    with np.errstate(all="ignore"):
        inside = _inside(L, r, np.log(r / L) + np.log((1.0 - L) / (1.0 - r)))
    # Vacuous and, in floating point, flat; no budget; no risk: the first that holds.
    cases = [r >= 1.0, r <= L, L <= 0.0]
    if not (cases[0] | cases[1] | cases[2]).any():
        return inside
    flat, steep = (r, 0.0, 0.0, 0.0, 0.0, 0.0), (r, 1.0, np.inf, 0.0, 0.0, -np.inf)
    limits = zip(flat, steep, (r, np.inf, inside.b, -np.inf, np.inf, -inside.b))
    return Inverse(*(np.select(cases, [*values], default) for values, default in zip(limits, inside)))
