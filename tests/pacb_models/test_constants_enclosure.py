"""A proof, by ball arithmetic, that the chi-squared kl constant is not below the supremum and within 1e-12 of it.

Write F(l) = E[kl(k/m, l)^2]; F(l) = F(1-l), so 0 <= l <= 1/2 is enough. Let c be the best l.

* Near c, the second derivative is enclosed and negative, so F <= F(c) + abs(F'(c)) (half-width).
* Near 0, every term of the sum is bounded by an increasing function of l.
* Elsewhere Taylor's formula, with the second derivative enclosed on short intervals, keeps F below F(c).
"""

import math
from functools import cache

import pytest
from flint import arb, arb_series, ctx

from pacb_models.constants import moment_constant


@pytest.fixture(autouse=True)
def precision():
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = 110, 3
    yield
    ctx.prec, ctx.cap = before


@cache
def negative_entropies(m: int) -> list[arb]:
    def part(k):
        return arb(k) / m * (arb(k) / m).log() if k else arb(0)

    return [part(k) + part(m - k) for k in range(m + 1)]


def moment(m: int, l: arb) -> tuple[arb, arb, arb]:
    """Enclosures of F, F' and F'' over the ball l."""
    variable = arb_series([l, 1])
    log_risk, log_rest = variable.log(), (1 - variable).log()
    total = arb_series([0])
    for k, entropy in enumerate(negative_entropies(m)):
        share = arb(k) / m
        kl = entropy - share * log_risk - (1 - share) * log_rest
        total += math.comb(m, k) * (k * log_risk + (m - k) * log_rest).exp() * kl * kl
    return total[0], total[1], 2 * total[2]


def bound_near_zero(m: int, end: arb) -> arb:
    """F on 0 < l <= end < e^-2: kl(k/m, l) <= (k/m) ln(1/l) + 2l, and l^k ((k/m) ln(1/l) + 2l)^2 increases in l."""
    assert end < arb(-2).exp()
    terms = (math.comb(m, k) * end**k * (arb(k) / m * -end.log() + 2 * end) ** 2 for k in range(1, m + 1))
    return (1 - end).log() ** 2 + sum(terms, arb(0))


def best_risk(m: int) -> arb:
    """The best l as an exact point: 1/2, or Newton's method from the best point of a grid."""
    grid = [arb(0.5)] + [arb(mean) / m for mean in (0.16, *(2 + 0.05 * i for i in range(16))) if mean < m / 2]
    point = max(grid, key=lambda l: float(moment(m, l)[0].mid()))
    if point != arb(0.5):
        for _ in range(6):
            _, slope, curvature = moment(m, point)
            point = (point - slope / curvature).mid()
    return point


def assert_concave(m: int, low: arb, high: arb) -> None:
    """F'' < 0 on the whole interval."""
    intervals = [(low, high)]
    while intervals:
        low, high = intervals.pop()
        if not moment(m, low.union(high))[2] < 0:
            assert high - low > 1e-9, "not concave"
            middle = ((low + high) / 2).mid()
            intervals += [(low, middle), (middle, high)]


def assert_below(m: int, ceiling: arb, low: arb, high: arb) -> None:
    """F < ceiling on the whole interval."""
    intervals = [(low, high)]
    while intervals:
        low, high = intervals.pop()
        middle, radius = ((low + high) / 2).mid(), (high - low) / 2
        value, slope, _ = moment(m, middle)
        curvature = moment(m, low.union(high))[2]
        if not value + abs(slope) * radius + abs(curvature) * radius * radius / 2 < ceiling:
            assert radius > 1e-9, "not below"
            intervals += [(low, middle), (middle, high)]


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6, 7, 10, 20, 50, 100])
def test_kl_constant_is_enclosed(m):
    best = best_risk(m)
    peak, slope, _ = moment(m, best)
    near_zero = (arb(1e-3) / m).mid()
    low, high = (best * 15 / 16).mid(), (best * 17 / 16).mid()
    assert bound_near_zero(m, near_zero) < peak
    assert_below(m, peak, near_zero, low)
    if high < 0.5:
        assert_below(m, peak, high, arb(0.5))
    else:
        high = arb(0.5)
    assert_concave(m, low, high)

    supremum_at_most = peak + abs(slope) * (high - low)
    constant = arb(moment_constant("kl", m))
    assert constant >= supremum_at_most
    assert constant <= peak * (1 + arb(1e-12))
