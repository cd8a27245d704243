"""Moment constants against 50-digit sums, extended-precision scans, closed forms and integrals."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacb_models.constants import CONSTANTS, DISTANCES, log_moment_constant, moment_constant, moment_curve
from pacb_models.errors import InputError
from pacb_models.numerics.maximum import largest_value

from ..drawn import PAIRS
from .mp_reference import PHI, expectation, golden_section
from .mp_reference import constant as exact_constant

RELATIVE = 1e-12  # what is promised
extended = np.longdouble


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


def assert_rounded_up(value, reference, relative=RELATIVE):
    """value is not below the reference, and above it by no more than is promised."""
    value = mpmath.mpf(value)
    assert value >= reference
    assert value <= reference * (1 + mpmath.mpf(relative))


# --- references ------------------------------------------------------------------------------------------------------


def largest(mean, low, high, steps=22):
    """The maximum over low <= l <= high of a function with one peak there."""
    return max(golden_section(mean, mpmath.mpf(low), mpmath.mpf(high), steps)[0], mean(mpmath.mpf(high)))


def extended_log_mean(log_phi, m, l, low, high):
    """ln E[exp(log_phi(k/m - l, kl))] in extended precision: probabilities as products of ratios that sum to one."""
    l = extended(l)
    k = np.arange(low, high + 1).astype(extended)
    log_ratios = np.log((m - k[:-1]) / k[1:] * (l / (1 - l)))
    log_probability = np.concatenate([[extended(0)], np.cumsum(log_ratios)])
    log_probability -= log_probability.max()
    log_probability -= np.log(np.exp(log_probability).sum())
    a = k / m
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(a > 0, a * np.log(a / l), 0) + np.where(a < 1, (1 - a) * (np.log1p(-a) - np.log1p(-l)), 0)
        terms = log_probability + log_phi(a - l, np.maximum(divergence, 0))
    largest = terms.max()
    return largest + np.log(np.exp(terms - largest).sum())


def extended_largest(function, grid, best_peaks=3, steps=18):
    """The maximum over the grid's range: golden sections around the best peaks of the grid."""
    values = np.array([function(x) for x in grid])
    last = len(grid) - 1
    peaks = [i for i in range(last + 1) if values[i] >= max(values[max(i - 1, 0)], values[min(i + 1, last)])]
    peaks = sorted(peaks, key=values.__getitem__)[-best_peaks:]
    brackets = [(grid[max(i - 1, 0)], grid[min(i + 1, last)]) for i in peaks]
    return max(values.max(), *(golden_section(function, *map(extended, ends), steps)[0] for ends in brackets))


def phi_ch(x):
    square = x * x  # powers take far longer
    return square + 2 * square * square / 9 + 16 * square * square * square / 135


# --- chi-squared -----------------------------------------------------------------------------------------------------


@given(m=st.integers(1, 10**9))
def test_linear_and_squared_are_the_closed_forms_rounded_up(m):
    squared = Fraction(3 * m - 2, 16 * m**3) if m > 1 else Fraction(1, 12)
    for distance, exact in (("linear", Fraction(1, 4 * m)), ("squared", squared)):
        value = moment_constant(distance, m)
        assert Fraction(math.nextafter(value, 0)) < exact <= Fraction(value)


SMALL = [
    *(("chi2", distance, (1, 2, 3, 7, 20), 1e-15) for distance in ("linear", "squared")),
    ("chi2", "kl", (1, 2, 3, 4, 5, 6, 7, 50), RELATIVE),
    *(("kl", distance, (1, 2, 3, 10, 100), RELATIVE) for distance in ("squared", "pinsker")),
    ("kl", "ch", (1, 2, 3, 5, 20, 60), RELATIVE),
]


@pytest.mark.parametrize(("divergence", "distance", "sizes", "relative"), SMALL)
def test_constants_of_small_samples_are_suprema_of_the_moments(divergence, distance, sizes, relative):
    for m in sizes:
        supremum = exact_constant(distance, m, divergence, 2.0, "exact")
        assert_rounded_up(moment_constant(distance, m, divergence=divergence), supremum, relative)


@pytest.mark.long
@pytest.mark.parametrize("m", [9, 137, 1000, 10**4, 10**5, 10**7, 10**9])
def test_kl_constant_against_fifty_digits(m):
    """Beyond k = 150 the terms at a mean below 3 are less than 1e-100 of the sum."""

    def mean(l):
        return expectation(m, l, lambda a, k: PHI["kl"](a, l) ** 2, min(m, 150))

    assert_rounded_up(moment_constant("kl", m), largest(mean, mpmath.mpf(2) / m, mpmath.mpf(3) / m))


@pytest.mark.parametrize("m", [8, 30, 300, 10**4, 10**8])
def test_kl_curve_has_no_higher_peak(m):
    means = np.unique(
        np.concatenate([np.geomspace(1e-6, 0.5, 60), np.linspace(0.5, 15, 150), np.geomspace(15, 10**9, 300)])
    )
    means = means[means < m / 2]
    curve = moment_curve("kl", m, np.append(means / m, 0.5))
    assert curve.max() <= moment_constant("kl", m)
    rises = np.flatnonzero(np.diff(curve) > 1e-13 * curve[1:])
    assert rises.max() < np.argmax(curve) + 1, "the curve rises again after its peak"


def test_figures_printed_in_the_paper():
    sizes = [50, 100, 200, 500, 1000, 1020, 1028]
    figures = [0.0074799, 0.0037092, 0.0018470, 0.0007369, 0.0003682, 0.0003609, 0.0003580]
    # one unit of the last printed digit
    assert moment_constant("kl", sizes, "paper") == pytest.approx(figures, abs=1e-7)
    assert moment_constant("kl", [1029, 10**6], "paper").tolist() == [0.00037, 0.00037]
    assert moment_constant("linear", 50, "paper") == moment_constant("linear", 50)
    assert moment_constant("squared", 10, "paper") == pytest.approx(109 / 16000, rel=1e-15)


# --- Rényi -----------------------------------------------------------------------------------------------------------


@given(m=st.integers(1, 10**9), distance=st.sampled_from(DISTANCES["renyi"]))
@settings(max_examples=25)
def test_order_two_gives_the_numbers_of_chi_squared(m, distance):
    assert moment_constant(distance, m, divergence="renyi", order=2) == moment_constant(distance, m)
    assert log_moment_constant(distance, m, divergence="renyi", order=2.0) == log_moment_constant(distance, m)


def renyi_reference(distance, m, power, low=0, high=None, grid=None, steps=18):
    high = m if high is None else high
    exponent = 2 * power if distance == "squared" else power

    def log_phi(x, kl):
        return exponent * np.log(kl if distance == "kl" else np.abs(x))

    return extended_largest(lambda l: extended_log_mean(log_phi, m, l, low, high), grid, steps=steps)


@pytest.mark.long
@pytest.mark.parametrize("order", [1.05, 1.25, 4 / 3, 1.5, 1.9, 2.5, 3.0, 20.0])
@pytest.mark.parametrize("distance", DISTANCES["renyi"])
def test_renyi_constants_against_scans_of_every_true_risk(distance, order):
    power = order / (order - 1)
    for m in (1, 2, 3, 4, 6, 9, 14):
        smallest = max(math.exp(-3 * power / m - 3), 1e-200) if distance == "kl" else 0.1 * m / (m + power) / 4
        grid = np.concatenate([np.geomspace(smallest, 0.05, 40)[:-1], np.linspace(0.05, 0.5, 81)])
        reference = renyi_reference(distance, m, power, grid=np.unique(grid[grid <= 0.5]))
        error = float(log_moment_constant(distance, m, divergence="renyi", order=order) - reference)
        assert 0 <= error <= RELATIVE


@pytest.mark.long
@pytest.mark.parametrize(("m", "spread"), [(10**4, 20), (10**6, 16)])
@pytest.mark.parametrize(("distance", "order"), [("linear", 3.0), ("linear", 1.25), ("squared", 3.0), ("squared", 1.5)])
def test_renyi_deviation_constants_for_large_samples(distance, order, m, spread):
    """One lattice period beside 1/2, every k within many standard deviations."""
    reach = int(spread * math.sqrt(m) / 2) + 1
    grid = 0.5 - np.linspace(1, 0, 9) / m
    reference = renyi_reference(distance, m, order / (order - 1), m // 2 - reach, m // 2 + reach, grid)
    error = float(log_moment_constant(distance, m, divergence="renyi", order=order) - reference)
    assert 0 <= error <= RELATIVE


@pytest.mark.long
def test_renyi_deviation_constant_at_a_billion():
    """Ripples are below 1e-11 there: a few phases of the lattice hold the supremum to 1e-12."""
    m, power = 10**9, 1.5
    reach = int(10.5 * math.sqrt(m) / 2)
    grid = [(extended(m) / 2 - phase) / m for phase in (0.45, 0.5)]
    reference = renyi_reference("linear", m, power, m // 2 - reach, m // 2 + reach, grid, steps=2)
    assert 0 <= float(log_moment_constant("linear", m, divergence="renyi", order=3.0) - reference) <= RELATIVE


@pytest.mark.parametrize("m", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("order", [1.1, 1.5, 3.0, 30.0])
def test_renyi_kl_constants_for_large_samples(order, m):
    power = order / (order - 1)
    grid = np.linspace(0.5 * power, power + 3 * math.sqrt(power), 33) / m
    reference = renyi_reference("kl", m, power, 0, min(m, 300), grid)
    error = float(log_moment_constant("kl", m, divergence="renyi", order=order) - reference)
    assert 0 <= error <= RELATIVE


def test_renyi_orders_near_one_stay_finite_in_the_logarithm():
    """I^(1/alpha') tends to the largest distance there is with a positive probability: 1 for linear and squared."""
    for m in (1, 3, 10**5):
        order = 1 + 1e-4
        power = order / (order - 1)
        for distance in ("linear", "squared"):
            root = math.exp(log_moment_constant(distance, m, divergence="renyi", order=order) / power)
            assert 0 < root < 1
        ceiling = math.exp(log_moment_constant("kl", m, divergence="kl"))  # x^p e^-x <= (p/e)^p for every term
        log_kl = log_moment_constant("kl", m, divergence="renyi", order=order)
        assert log_kl <= power * (math.log(power / m) - 1) + math.log(ceiling) + 1e-9
        assert moment_constant("linear", m, divergence="renyi", order=order) > 0  # also where it underflows


@pytest.mark.parametrize("power", [40.0, 201.0, 590.0, 700.0])
def test_one_observation_and_a_large_power(power):
    """E = (1-l) f(1-l) + l f(l): one of the two terms is negligible at the supremum."""
    order = power / (power - 1)
    p = mpmath.mpf(order / (order - 1))
    exact = {
        "linear": mpmath.log(1 / (1 + p)) + p * mpmath.log(p / (1 + p)),
        "squared": mpmath.log(1 / (1 + 2 * p)) + 2 * p * mpmath.log(2 * p / (1 + 2 * p)),
        "kl": p * (mpmath.log(p) - 1),
    }
    for distance, expected in exact.items():
        error = log_moment_constant(distance, 1, divergence="renyi", order=order) - expected
        assert 0 <= error <= (mpmath.log(2) + 1e-9 if distance == "kl" and power > 600 else 4e-12)


# --- Kullback-Leibler ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 1000, 5756, 5757, 10**9])
def test_kl_linear(m):
    exact = m * (1 / (mpmath.e - 1) + mpmath.log(1 - 1 / mpmath.e))
    assert_rounded_up(log_moment_constant("linear", m, divergence="kl"), exact, 1e-15)
    if m > 5756:  # beyond the largest float
        assert moment_constant("linear", m, divergence="kl") == math.inf
    else:
        assert_rounded_up(moment_constant("linear", m, divergence="kl"), mpmath.exp(exact))
    assert moment_constant("linear", m, "paper", "kl") == moment_constant("linear", m, divergence="kl")


@pytest.mark.parametrize("m", [*range(1, 40), 138, 1000, 10**4, 10**6])
def test_xi_is_one_plus_ramanujans_sum(m):
    """xi(m) = 1 + sum of m!/((m-j)! m^j) for j >= 1."""
    total, term, j = mpmath.mpf(1), mpmath.mpf(1), 0
    while term > mpmath.mpf(10) ** -45:
        term = term * (m - j) / m
        total += term
        j += 1
    assert_rounded_up(moment_constant("kl", m, divergence="kl"), total)


def test_xi_at_a_billion_is_its_expansion():
    n = mpmath.mpf(10) ** 9
    half = mpmath.pi / (2 * n)
    expansion = (n + mpmath.mpf(1) / 12 + 1 / (288 * n)) * mpmath.sqrt(half) + mpmath.mpf(2) / 3 - 4 / (135 * n)
    assert_rounded_up(moment_constant("kl", 10**9, divergence="kl"), expansion)


@pytest.mark.parametrize("m", [1, 50, 10**4, 10**6, 10**9])
@pytest.mark.parametrize(("distance", "factor"), [("squared", 1), ("pinsker", 2)])
def test_quadratic_exponentials_against_a_gaussian_integral(distance, factor, m):
    """exp(cmx^2) is the mean of exp(gx sqrt(2cm)) over a standard Gaussian g; at l = 1/2 the mean over k is a cosh."""
    scale = mpmath.mpf(m) ** 0.25

    def integrand(u):
        g = u * scale
        return mpmath.exp(m * mpmath.log(mpmath.cosh(g * mpmath.sqrt(mpmath.mpf(factor) / (2 * m)))) - g * g / 2)

    with mpmath.workdps(30):
        steps = [0, 0.01, 0.05, 0.2, 0.5, 1, 1.5, 2, 3, 4, 6, 9, 20]
        integral = 2 * scale * mpmath.quad(integrand, steps) / mpmath.sqrt(2 * mpmath.pi)
        assert_rounded_up(moment_constant(distance, m, divergence="kl"), integral)


@pytest.mark.long
@pytest.mark.parametrize("m", [10**4, 30000])
def test_ch_against_extended_precision(m):
    """Probabilities as normalised products of ratios, over every k within 5 m^(3/4) of m/2."""
    reach = min(int(5 * m**0.75), m // 2 - 1)

    def log_phi(x, kl):
        return (2 * m - 1) * phi_ch(x)

    def log_mean(l):
        return extended_log_mean(log_phi, m, l, m // 2 - reach, m // 2 + reach)

    reference = extended_largest(log_mean, 0.5 - np.linspace(1, 0, 9) * m**-0.25, best_peaks=1)
    assert 0 <= float(log_moment_constant("ch", m, divergence="kl") - reference) <= RELATIVE


@pytest.mark.long
def test_ch_at_a_billion_is_an_integral():
    """The summand varies over 5e6 integers: sum and integral agree to thousands of digits."""
    m = mpmath.mpf(10) ** 9
    scale = m**0.75

    def mean(e):
        l = mpmath.mpf(0.5) - e * m**-0.25
        log_l, log_rest = mpmath.log(l), mpmath.log(1 - l)

        def integrand(u):
            k = m * l + u * scale
            ways = mpmath.loggamma(m + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(m - k + 1)
            return mpmath.exp(ways + k * log_l + (m - k) * log_rest + (2 * m - 1) * phi_ch(k / m - l))

        return scale * mpmath.quad(integrand, [-3, -1, 0, 1, 2, 3, 5])

    with mpmath.workdps(30):
        top, step = mpmath.mpf("0.56"), mpmath.mpf("0.02")
        for _ in range(3):  # to the top of the parabola through three points
            low, middle, high = mean(top - step), mean(top), mean(top + step)
            top, step = top - step / 2 * (high - low) / (high - 2 * middle + low), step / 50
        assert_rounded_up(moment_constant("ch", 10**9, divergence="kl"), mean(top))


def test_which_constants_of_the_companion_are_upper_bounds():
    sizes = np.concatenate([np.arange(1, 40), [100, 1000, 10**6]])

    def too_small(distance):
        paper, exact = (moment_constant(distance, sizes, constant, "kl") for constant in ("paper", "exact"))
        return sizes[paper < exact * (1 - RELATIVE)].tolist()

    assert too_small("pinsker") == []
    assert too_small("kl") == []  # equal at m = 1; Maurer's proof is for m >= 8
    assert too_small("ch") == [1]


def test_paper_kl_formulas():
    for m in (1, 7, 10**6):
        assert moment_constant("squared", m, "paper", "kl") == moment_constant("pinsker", m, "exact", "kl")
    assert moment_constant("kl", 100, "paper", "kl") == 20.0
    assert moment_constant("pinsker", 9, "paper", "kl") == 6.0
    assert Fraction(moment_constant("kl", 2, "paper", "kl")) ** 2 >= 8
    assert moment_constant("ch", 1000, "paper", "kl") == pytest.approx(933.4, rel=1e-15)


# --- one-sided: of small samples in test_verify.py, by the checker ---------------------------------------------------


def one_sided_log_phi(distance, m, divergence, power):
    """ln of the moment's integrand, for the deviation x = k/m - l: nothing where k/m is not below l."""
    phi = {"linear": lambda x: -x, "squared": lambda x: x * x, "pinsker": lambda x: 2 * x * x, "ch": phi_ch}[distance]

    def log_phi(x, kl):
        if divergence == "kl":
            return np.where(x < 0, ((2 * m - 1) if distance == "ch" else m) * phi(x), 0.0)
        return np.where(x < 0, power * np.log(np.where(x < 0, phi(x), 1.0)), -np.inf)

    return log_phi


@pytest.mark.long
@pytest.mark.parametrize(
    ("divergence", "distance", "order", "m", "spread"),
    [
        *(("renyi", distance, order, 2000, 20) for distance in ("linear", "squared") for order in (2.0, 3.0, 20.0)),
        *(("kl", distance, 2.0, 2000, 20) for distance in ("squared", "pinsker", "ch")),
        ("renyi", "linear", 2.0, 10**6, 16),
    ],
)
def test_one_sided_constants_of_large_samples(divergence, distance, order, m, spread):
    """Every k within many standard deviations: the top on the means j + 1/2, where there are no ripples, then a scan of
    several of their periods."""
    reach = min(int(spread * (m**0.75 if divergence == "kl" else math.sqrt(m)) / 2) + 1, m // 2)
    log_phi = one_sided_log_phi(distance, m, divergence, order / (order - 1))

    def log_mean(mean):
        return extended_log_mean(log_phi, m, extended(mean) / m, m // 2 - reach, m // 2 + reach)

    units = (m**-0.5, m**-0.25) if divergence == "kl" else (m**-0.5,)
    places = [int(m / 2 + e * unit * m) for unit in units for e in (0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8)]
    places = sorted({min(place, m - 1) for place in places})
    best = max(range(len(places)), key=lambda i: log_mean(places[i] + 0.5))
    low, high = places[max(best - 1, 0)] - 1, places[min(best + 1, len(places) - 1)] + 1
    while high - low > 3:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, right) if log_mean(left + 0.5) >= log_mean(right + 0.5) else (left, high)
    grid = np.linspace((low + high) / 2 - 1, (low + high) / 2 + 2, 16)
    reference = extended_largest(log_mean, grid, best_peaks=2, steps=20)
    error = float(log_moment_constant(distance, m, "one-sided", divergence, order) - reference)
    assert 0 <= error <= RELATIVE


@pytest.mark.long
@pytest.mark.parametrize("m", [6, 10**6, 10**9])
@pytest.mark.parametrize("power", [2, 3, 8])
def test_one_sided_kl_constants_against_fifty_digits(m, power):
    """Only k below the mean count, which is a little above the power."""

    def mean(l):
        return expectation(m, l, lambda a, k: PHI["kl"](a, l) ** power if a < l else mpmath.mpf(0), min(m, 40))

    means = [power * mpmath.mpf(c) / 100 for c in range(60, 180, 4)]
    risks = [c / m for c in means if c < m] + [1 - mpmath.exp(-c / m) for c in means if m < 60]
    best = max(risks, key=mean)
    reference = largest(mean, best * mpmath.mpf("0.95"), min(best * mpmath.mpf("1.05"), mpmath.mpf("0.9999")))
    order = power / (power - 1)
    assert_rounded_up(moment_constant("kl", m, "one-sided", "renyi", order), reference, 2e-12)


@settings(max_examples=15)
@given(m=st.integers(1, 10**9), data=st.data())
def test_one_sided_constants_are_never_larger(m, data):
    divergence = data.draw(st.sampled_from(sorted(DISTANCES)))
    distance, order = data.draw(st.sampled_from(DISTANCES[divergence])), data.draw(st.floats(1.05, 30))
    one, both = (log_moment_constant(distance, m, constant, divergence, order) for constant in ("one-sided", "exact"))
    assert one <= both + 2e-13 + 1e-14 * order / (order - 1)
    if divergence == "kl" and distance in ("linear", "kl"):
        assert one == both


# --- curves ----------------------------------------------------------------------------------------------------------


def moment_by_definition(distance, m, l, divergence, power, constant):
    phi = PHI["kl" if distance == "relative" else distance]  # whose constant it has
    cut = constant == "one-sided" and (divergence, distance) != ("kl", "linear")
    n, l = 2 * m - 1 if distance == "ch" else m, mpmath.mpf(l)

    def term(a, k):
        size = mpmath.mpf(0) if cut and a >= l else phi(a, l)
        return mpmath.exp(n * size) if divergence == "kl" else abs(size) ** mpmath.mpf(power)

    return expectation(m, l, term)


@pytest.mark.long
@pytest.mark.parametrize("constant", ["exact", "one-sided"])
@pytest.mark.parametrize(("divergence", "distance"), PAIRS)
def test_curves_follow_the_definition(divergence, distance, constant):
    """Also at risks whose complement rounds to one."""
    order = 3.0 if divergence == "renyi" else 2.0
    for m, l in itertools.product((1, 2, 9, 140), (1e-30, 1e-17, 1e-9, 0.013, 0.2, 0.4999, 0.5, 0.83)):
        value = moment_curve(distance, m, l, constant, divergence, order)
        expected = moment_by_definition(distance, m, l, divergence, order / (order - 1), constant)
        assert value == pytest.approx(float(expected), rel=1e-12, abs=0.0)


@pytest.mark.long
@pytest.mark.parametrize(("divergence", "distance"), PAIRS)
@settings(max_examples=10)
@given(m=st.integers(1, 3000), l=st.floats(0, 1))
def test_curves_stay_below_the_constant(divergence, distance, m, l):
    for constant in ("exact", "one-sided"):
        curve = moment_curve(distance, m, l, constant, divergence, 1.7)
        # a curve is right to rounding error, a constant rounded up
        assert 0 <= curve <= moment_constant(distance, m, constant, divergence, 1.7) * (1 + 1e-14)


@pytest.mark.long
@pytest.mark.parametrize("distance", ["squared", "pinsker", "ch"])
def test_exponential_curves_of_large_samples(distance):
    m, l = 10**6, 0.47
    factor = {"squared": 1, "pinsker": 2}

    def log_phi(x, kl):
        return (2 * m - 1) * phi_ch(x) if distance == "ch" else factor[distance] * m * x * x

    expected = extended_log_mean(log_phi, m, l, 300_000, 700_000)
    assert moment_curve(distance, m, l, divergence="kl") == pytest.approx(float(np.exp(expected)), rel=1e-11)


def test_curves_end_where_the_risk_is_certain():
    assert moment_curve("kl", 10, [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert moment_curve("pinsker", 10, [0.0, 1.0], divergence="kl").tolist() == [1.0, 1.0]
    assert moment_curve("kl", 10, np.zeros((2, 3))).shape == (2, 3)
    assert type(moment_curve("kl", 10, 0.5)) is float
    assert moment_curve("kl", 1, 1e-100, divergence="renyi", order=1.001) == math.inf  # beyond the largest float


# --- the parts -------------------------------------------------------------------------------------------------------


def counted(function, limit=1000):
    """The function, which may be asked so many times."""
    asked = itertools.count(1)

    def ask(x):
        assert next(asked) <= limit, "the search does not end"
        return function(x)

    return ask


def test_the_search_ends_where_numbers_are_further_apart_than_its_tolerance():
    """A step of 1e-8 from half of 10^9 leads nowhere; the search once took it for ever."""
    middle = 5e8 + 0.3
    for function in (lambda x: -abs(x - middle), lambda x: -((x - middle) ** 2), lambda x: round(math.sin(7 * x), 3)):
        grid = np.linspace(middle - 1, middle + 1, 25)
        best = max(function(x) for x in np.linspace(middle - 1, middle + 1, 2001))
        assert largest_value(counted(function), grid.tolist()) >= best - 1e-6


@given(values=st.lists(st.floats(-1, 1), min_size=50, max_size=50), scale=st.floats(1e-3, 1e9))
def test_the_search_ends_whatever_the_function(values, scale):
    """Noise in place of a smooth function: nothing is promised but an end, and the best of the values seen."""
    seen = []

    def noise(x):
        seen.append(values[hash(x) % len(values)])
        return seen[-1]

    assert largest_value(counted(noise), np.linspace(scale, 1.01 * scale, 30).tolist()) == max(seen)


@pytest.mark.parametrize("power", [1.0358, 1.2, 3.7])
def test_one_sided_constants_of_the_largest_samples_are_found(power):
    """They are close to the moment of the Gaussian limit at l = 1/2."""
    m, order = 10**9, power / (power - 1)
    gaussian = power * math.log(0.5 / math.sqrt(m)) + (power / 2 - 1) * math.log(2) - 0.5 * math.log(math.pi)
    gaussian += math.lgamma((power + 1) / 2)
    assert log_moment_constant("linear", m, "one-sided", "renyi", order) == pytest.approx(gaussian, abs=1e-4)


# --- calling ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("divergence", "distance"), PAIRS)
def test_arrays_repeat_the_scalars(divergence, distance):
    sizes = np.array([[1, 20], [333, 10**6]])
    for constant in CONSTANTS if divergence != "renyi" else ("exact", "one-sided"):
        values = moment_constant(distance, sizes, constant, divergence, 1.5)
        expected = [[moment_constant(distance, int(m), constant, divergence, 1.5) for m in row] for row in sizes]
        assert values.tolist() == expected
        logarithms = log_moment_constant(distance, sizes, constant, divergence, 1.5)
        finite = np.isfinite(values)
        np.testing.assert_allclose(logarithms[finite], np.log(values[finite]), rtol=1e-15, atol=1e-15)
        assert np.all(logarithms[finite] >= np.log(values[finite]) - 3e-15)
    assert type(moment_constant(distance, np.int64(20), divergence=divergence)) is float


COMBINATIONS = "chi2: linear, squared, kl; renyi: linear, squared, kl; kl: linear, squared, kl, pinsker, ch, relative"
ABSENT = f"distance is 'pinsker', which divergence 'renyi' does not have; the combinations are {COMBINATIONS}."
NO_SIZE = "a sample size must be a whole number from 1 to 1000000000."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("kl", 10, "rough"), "constant is 'rough'; it must be one of 'exact', 'one-sided', 'paper'."),
        (("pinsker", 10, "exact", "renyi"), ABSENT),
        (("kl", 0), f"m is 0; {NO_SIZE}"),
        (("kl", [5, 2.0]), f"m[1] is 2.0; {NO_SIZE}"),
        (("kl", [[5, 6], [7]]), f"m[0] is [5, 6]; {NO_SIZE}"),
        (("kl", [[5, 6], [7, False]]), f"m[1, 1] is False; {NO_SIZE}"),
        (("kl", 10, "exact", "renyi", 1.0), "order is 1.0; a Rényi order must be a finite number above 1."),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence):
    for function in (moment_constant, log_moment_constant):
        with pytest.raises(InputError) as caught:
            function(*arguments)
        assert str(caught.value) == sentence
