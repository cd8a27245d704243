"""Proofs, by ball arithmetic, that the chi-squared kl constants are not below the supremum and within 1e-12 of it.

Write F(l) = E[kl(k/m, l)^2]; F(l) = F(1-l), so 0 <= l <= 1/2 is enough. Let c be the best l.

* Near c, the second derivative is enclosed and negative, so F <= F(c) + abs(F'(c)) (half-width).
* Near 0, every term of the sum is bounded by an increasing function of l.
* Elsewhere Taylor's formula, with the second derivative enclosed on short intervals, keeps F below F(c).

The one-sided moment has the terms k < ml only. It is not symmetric, and smooth between multiples of 1/m, so that the
same is done on each of these intervals; near 1 a decreasing function of l bounds every term.
"""

import math
from functools import cache, partial

import pytest
from flint import arb, arb_series, ctx

from pacb_models.constants import moment_constant

pytestmark = pytest.mark.long


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


def moment(m: int, l: arb, last: int | None = None) -> tuple[arb, arb, arb]:
    """Enclosures of F, F' and F'' over the ball l; only of the terms up to k = last, if it is given."""
    variable = arb_series([l, 1])
    log_risk, log_rest = variable.log(), (1 - variable).log()
    total = arb_series([0])
    for k, entropy in enumerate(negative_entropies(m)[: None if last is None else last + 1]):
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


def assert_concave(moment, low: arb, high: arb) -> None:
    """F'' < 0 on the whole interval."""
    intervals = [(low, high)]
    while intervals:
        low, high = intervals.pop()
        if not moment(low.union(high))[2] < 0:
            assert high - low > 1e-9, "not concave"
            middle = ((low + high) / 2).mid()
            intervals += [(low, middle), (middle, high)]


def assert_below(moment, ceiling: arb, low: arb, high: arb) -> None:
    """F < ceiling on the whole interval."""
    intervals = [(low, high)]
    while intervals:
        low, high = intervals.pop()
        middle, radius = ((low + high) / 2).mid(), (high - low) / 2
        value, slope, _ = moment(middle)
        curvature = moment(low.union(high))[2]
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
    both = partial(moment, m)
    assert_below(both, peak, near_zero, low)
    if high < 0.5:
        assert_below(both, peak, high, arb(0.5))
    else:
        high = arb(0.5)
    assert_concave(both, low, high)

    supremum_at_most = peak + abs(slope) * (high - low)
    constant = arb(moment_constant("kl", m))
    assert constant >= supremum_at_most
    assert constant <= peak * (1 + arb(1e-12))


def bound_near_one(m: int, rest: arb) -> arb:
    """The one-sided F on 1 - rest <= l < 1, rest < e^-2, as bound_near_zero with k and m - k exchanged."""
    assert rest < arb(-2).exp()
    terms = (math.comb(m, k) * rest**k * (arb(k) / m * -rest.log() + 2 * rest) ** 2 for k in range(1, m + 1))
    return sum(terms, arb(0))


@pytest.mark.parametrize("m", [1, 2, 3, 5, 10, 30])
def test_one_sided_kl_constant_is_enclosed(m):
    start = 1 - (arb(-2) / m).exp()  # where D(0) = 2
    piece = int(float((start * m).floor().mid()))
    grid = [(start * (20 + i) / 20).mid() for i in range(-6, 12) if (start * (20 + i) / 20) < 1]
    inside = partial(moment, m)
    best = max(grid, key=lambda l: float(inside(l, int(float((l * m).mid())))[0].mid()))
    piece = int(float((best * m).mid()))
    for _ in range(6):
        _, slope, curvature = inside(best, piece)
        best = (best - slope / curvature).mid()
    peak, slope, _ = inside(best, piece)
    near_zero, rest = (arb(1e-3) / m).mid(), (arb(1e-3) / m).mid()
    # below near_zero only k = 0 counts, and (1-l)^m ln(1-l)^2 is at most ln(1-l)^2
    assert (1 - near_zero).log() ** 2 < peak
    assert bound_near_one(m, rest) < peak
    low, high = (best - best / 16).mid(), (best + min(best / 16, (1 - best) / 4, key=float)).mid()
    low, high = max(low, (arb(piece) / m).mid(), key=float), min(high, (arb(piece + 1) / m).mid(), key=float)
    for j in range(m):
        left, right = (
            max((arb(j) / m).mid(), near_zero, key=float),
            min((arb(j + 1) / m).mid(), (1 - rest).mid(), key=float),
        )
        this = partial(moment, m, last=j)
        if j != piece:
            assert_below(this, peak, left, right)
            continue
        if left < low:
            assert_below(this, peak, left, low)
        if high < right:
            assert_below(this, peak, high, right)
        assert_concave(this, low, high)
    constant = arb(moment_constant("kl", m, "one-sided"))
    assert constant >= peak + abs(slope) * (high - low)
    assert constant <= peak * (1 + arb(1e-12))
