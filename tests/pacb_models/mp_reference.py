"""The bounds in forty-digit arithmetic, written from the formulas of the paper and its companion, not from the package.

Everything is a plain sum over k = 0, …, m, so only small samples are within reach.
"""

from functools import cache

import numpy as np
from mpmath import binomial, exp, expm1, log, mp, mpf, sqrt
from scipy.optimize import minimize_scalar
from scipy.special import rel_entr
from scipy.stats import binom

mp.dps = 40


def numbers(values) -> list[mpf]:
    return [mpf(float(value)) for value in values]


def binary_kl(a: mpf, b: mpf) -> mpf:
    first = a * log(a / b) if a > 0 else mpf(0)
    second = (1 - a) * log((1 - a) / (1 - b)) if a < 1 else mpf(0)
    return first + second


def sixth_degree(x: mpf) -> mpf:
    return x**2 + mpf(2) / 9 * x**4 + mpf(16) / 135 * x**6


class Formulas(dict):
    """The distances by their names; one that is missing is asked for."""

    def __missing__(self, name: str):
        raise AssertionError(
            f"the distance {name!r} has no formula in PHI; add it to tests/pacb_models/mp_reference.py."
        )


PHI = Formulas()
PHI |= {
    "linear": lambda a, l: l - a,
    "squared": lambda a, l: (l - a) ** 2,
    "pinsker": lambda a, l: 2 * (l - a) ** 2,
    "kl": binary_kl,
    "ch": lambda a, l: sixth_degree(l - a),
    "relative": lambda a, l: (l - a) ** 2 / (2 * l),
}


def expectation(m: int, l: mpf, term, last: int | None = None) -> mpf:
    """E term(k/m, k) for k binomial with m trials of probability l; without those above the last."""
    counts = range((m if last is None else last) + 1)
    return sum(binomial(m, k) * l**k * (1 - l) ** (m - k) * term(mpf(k) / m, k) for k in counts)


def golden_section(function, low, high, steps: int) -> tuple:
    """The largest value, and where it is, of a function with one peak between two numbers of any precision."""
    ratio = 0.6180339887498949
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    # The top of the parabola through three points is as close to the peak as another twenty steps.
    middle = (left + right) / 2
    at_middle = function(middle)
    bend = at_left - 2 * at_middle + at_right
    top = middle + (right - left) / 4 * (at_left - at_right) / bend if bend else middle
    top = min(max(top, low), high)
    return max((at_left, left), (at_middle, middle), (at_right, right), (function(top), top))


def _double_phi(distance: str, a: np.ndarray, l: np.ndarray) -> np.ndarray:
    if distance == "kl":
        return rel_entr(a, l) + rel_entr(1 - a, 1 - l)
    if distance == "ch":
        square = (l - a) ** 2
        return square + 2 / 9 * square**2 + 16 / 135 * square**3
    return PHI[distance](a, l)


def supremum(m: int, distance: str, in_doubles, exactly) -> mpf:
    """The supremum over l of E term(phi): located in double precision, evaluated in forty digits.

    The slope is zero there, so that an error of 1e-9 in the place is one of 1e-17 or so in the value.
    """
    k = np.arange(m + 1)

    def curve(l: np.ndarray) -> np.ndarray:
        l = np.atleast_1d(l)[:, None]
        return (binom.pmf(k, m, l) * in_doubles(_double_phi(distance, k / m, l))).sum(axis=1)

    grid = np.unique(np.concatenate((np.linspace(0.001, 0.999, 999), np.geomspace(1e-4, 0.5, 200))))
    best = int(np.argmax(curve(grid)))
    interval = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    found = minimize_scalar(lambda l: -curve(l)[0], bounds=interval, method="bounded", options={"xatol": 1e-12})
    place = mpf(float(found.x))
    return expectation(m, place, lambda a, k: exactly(PHI[distance](a, place)))


@cache
def constant(distance: str, m: int, divergence: str, order: float, which: str) -> mpf:
    """The moment constant I(m)."""
    if divergence == "kl":
        return _kl_divergence_constant(distance, m, which)
    if which == "paper":
        return _papers_constant(distance, m)
    power = mpf(order) / (mpf(order) - 1)
    return supremum(m, distance, lambda phi: np.abs(phi) ** float(power), lambda phi: abs(phi) ** power)


def _papers_constant(distance: str, m: int) -> mpf:
    if distance == "linear":
        return mpf(1) / (4 * m)
    if distance == "squared":
        return mpf(12 * m - 11) / (16 * mpf(m) ** 3)
    if m > 1028:
        return mpf("0.00037")
    # The two boundary terms unsquared, l on a grid of step 0.001: this is what the printed table holds.
    k, l = np.arange(m + 1), np.arange(1, 1000)[:, None] / 1000
    powers = np.where((k == 0) | (k == m), 1.0, 2.0)
    sums = (binom.pmf(k, m, l) * _double_phi("kl", k / m, l) ** powers).sum(axis=1)
    place = mpf(int(np.argmax(sums)) + 1) / 1000
    return expectation(m, place, lambda a, k: binary_kl(a, place) ** (1 if k in (0, m) else 2))


def _kl_divergence_constant(distance: str, m: int, which: str) -> mpf:
    if distance == "relative":
        # It is below the binary kl, and has its constant.
        return _kl_divergence_constant("kl", m, which)
    if which == "paper":
        if distance in ("pinsker", "kl"):
            return 2 * sqrt(mpf(m))
        if distance == "ch":
            return mpf("0.9334") * m
        if distance == "squared":
            half = mpf(1) / 2
            return expectation(m, half, lambda a, k: exp(2 * m * (a - half) ** 2))
    factor = 2 * m - 1 if distance == "ch" else m
    return supremum(m, distance, lambda phi: np.exp(factor * phi), lambda phi: exp(factor * phi))


def invert(distance: str, L: mpf, budget: mpf) -> mpf:
    """The largest r >= L with phi(L, r) <= budget."""
    if distance == "linear":
        return L + budget
    if distance == "squared":
        return L + sqrt(budget)
    if distance == "pinsker":
        return L + sqrt(budget / 2)
    if distance == "relative":
        return L + budget + sqrt(budget**2 + 2 * budget * L)
    if distance == "ch":
        # y³ + (15/8) y² + (135/16) y = (135/16) budget is convex in y: Newton's method falls to the root.
        y = budget
        for _ in range(200):
            excess = y**3 + mpf(15) / 8 * y**2 + mpf(135) / 16 * (y - budget)
            step = excess / (3 * y**2 + mpf(15) / 4 * y + mpf(135) / 16)
            y -= step
            if step < mpf(10) ** (2 - mp.dps) * y:
                break
        return L + sqrt(y)
    if distance != "kl":
        width = budget + 1
        while PHI[distance](L, L + width) < budget:
            width *= 2
        low, high = L, L + width
        for _ in range(140):
            middle = (low + high) / 2
            low, high = (middle, high) if PHI[distance](L, middle) <= budget else (low, middle)
        return low
    if L >= 1:
        # Weights that are doubles, such as 0.8 and 0.2, may sum to a little more than one.
        return mpf(1)
    # Newton's method in s = -ln(1 - r), in which the left side is convex, from the right of the root.
    s = -log(1 - L) + budget / (1 - L) + 2 * sqrt(budget / (1 - L)) + 1
    for _ in range(200):
        r = -expm1(-s)
        excess = (L * log(L / r) if L > 0 else 0) + (1 - L) * (log(1 - L) + s) - budget
        step = excess * r / (r - L)
        s -= step
        if step < mpf(10) ** (2 - mp.dps) * s:
            break
    return -expm1(-s)


def statistic(q: list[mpf], p: list[mpf], divergence: str, order: float) -> mpf:
    if divergence == "kl":
        return sum((w * log(w / v) for w, v in zip(q, p) if w > 0), mpf(0))
    return sum(v * (w / v) ** mpf(order) for w, v in zip(q, p) if w > 0)


def budget(D: mpf, I: mpf, m: int, delta: float, distance: str, divergence: str, order: float) -> mpf:
    if divergence == "kl":
        # The companion paper's constant may be below δ, and counts as δ then.
        return (D + max(log(I / mpf(delta)), 0)) / (2 * m - 1 if distance == "ch" else m)
    alpha = mpf(order)
    return D ** (1 / alpha) * (I / mpf(delta)) ** (1 - 1 / alpha)


class Reference:
    """A bound as a function of forty-digit weights."""

    def __init__(self, risks, prior, m, delta, distance, divergence, which, order=2.0):
        self.risks, self.prior = numbers(risks), numbers(prior)
        self.m, self.delta, self.distance, self.divergence = m, delta, distance, divergence
        self.order = 2.0 if divergence == "chi2" else order
        self.constant = constant(distance, m, divergence, self.order, which)

    def __call__(self, q: list[mpf]) -> mpf:
        L = sum(w * l for w, l in zip(q, self.risks))
        D = statistic(q, self.prior, self.divergence, self.order)
        allowed = budget(D, self.constant, self.m, self.delta, self.distance, self.divergence, self.order)
        return invert(self.distance, L, allowed)

    def partial(self, q: list[mpf], i: int) -> mpf:
        """Central difference in weight i, the others fixed."""
        step = mpf(10) ** -13 * min(q[i], 1) if q[i] > 0 else mpf(10) ** -13
        return (self(_moved(q, i, step)) - self(_moved(q, i, -step))) / (2 * step)

    def hessian(self, q: list[mpf]) -> np.ndarray:
        """Second differences in all pairs of weights."""
        step = mpf(10) ** -8
        size = len(q)
        entries = np.empty((size, size))
        for i in range(size):
            for j in range(i + 1):
                plus, minus = _moved(q, i, step), _moved(q, i, -step)
                difference = (
                    self(_moved(plus, j, step))
                    - self(_moved(plus, j, -step))
                    - self(_moved(minus, j, step))
                    + self(_moved(minus, j, -step))
                )
                entries[i, j] = entries[j, i] = float(difference / (4 * step**2))
        return entries


def _moved(q: list[mpf], i: int, step: mpf) -> list[mpf]:
    return [w + step if j == i else w for j, w in enumerate(q)]
