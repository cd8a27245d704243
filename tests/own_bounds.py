"""Third parties' distances, divergences and solvers: with derivatives, expressions and a frontier, or without some."""

import math

import numpy as np

from pacb_models.constants import log_moment_constant
from pacb_models.distances import Distance, Inverse
from pacb_models.distances.squared import Quadratic
from pacb_models.divergences import Budget, Divergence
from pacb_models.solver import Solver


class Relative(Distance):
    """φ(l, R) = (R − l)²/(2R) for R above l, which is at most kl, with kl's constant."""

    name = "relative"
    additive = False

    def derivatives(self, L, b):
        s = (b * (b + 2 * L)) ** 0.5
        return Inverse(L + b + s, 1 + b / s, 1 + (b + L) / s, -(b**2) / s**3, b * L / s**3, -(L**2) / s**3)

    def log_constant(self, m, divergence, order, constant):
        return log_moment_constant("kl", m, constant, divergence, order)

    def express(self, algebra, L, budget):
        r = algebra.variable("R", algebra.bound, 0.0)
        algebra.reach("relative", (r - L) ** 2 / (2.0 * r), budget)
        algebra.at_least("above", r, L)
        return r


class Doubled(Distance):
    """r = L + 2b, with the linear distance's constant: the linear bound of a quarter of the sample."""

    name = "doubled"

    def derivatives(self, L, budget):
        return Inverse(L + 2.0 * budget, 1.0, 2.0, 0.0, 0.0, 0.0)

    def log_constant(self, m, divergence, order, constant):
        return -math.log(4 * m)

    def constant(self, m, divergence, order, constant):
        return 1 / (4 * m)


class Sharp(Quadratic):
    """Another formula under a name of ours: φ(l, R) = 4 (R − l)²."""

    name, scale = "squared", 4.0


class Squares(Divergence):
    """T = s Σ q²/p, the statistic of χ² times a number, with the budget c√T; without an expression of it."""

    name, moments, order, scale = "squares", "chi2", 2.0, 1.0

    def size(self, q, p):
        return self.scale * float(np.dot(q, q / p))

    def gradient(self, q, p, size):
        return 2.0 * self.scale * q / p

    def curvature(self, q, p, size):
        return 2.0 * self.scale / p, 0.0

    def value(self, size):
        return max(size / self.scale - 1.0, 0.0)

    def coefficient(self, constant, log_constant, delta):
        return math.sqrt(constant / delta)

    def budget(self, size, coefficient, exponent):
        value = coefficient * size**0.5
        return Budget(value, 0.5 * value / size, -0.25 * value / size**2)

    def slope_inverse(self, slope):
        return 0.5 * np.maximum(slope, 0.0) / self.scale


class Mixed(Squares):
    """T = Σ p (w² + w³)/2 ≥ Σ p w²; its budget is √T · c, χ²'s with a larger statistic."""

    name = "mixed"

    def size(self, q, p):
        w = q / p
        return float(np.dot(p, 0.5 * (w**2 + w**3)))

    def gradient(self, q, p, size):
        w = q / p
        return w + 1.5 * w**2

    def curvature(self, q, p, size):
        return (1.0 + 3.0 * q / p) / p, 0.0

    def slope_inverse(self, slope):
        return (np.sqrt(1.0 + 6.0 * np.maximum(slope, 0.0)) - 1.0) / 3.0

    def express(self, algebra, ratios):
        D = algebra.lift("D", algebra.mean(0.5 * ratios**2 + 0.5 * ratios**3))
        return algebra.coefficient * algebra.sqrt(D)


class TangentChiSquared(Squares):
    """The budget c (T + 1)/2, which is at least c √T."""

    name = "tangent-chi2"

    def budget(self, size, coefficient, exponent):
        return Budget(0.5 * coefficient * (size + 1.0), 0.5 * coefficient, 0.0)


class Returns(Solver):
    """A solver that returns, or raises, what it is told to; a name and needs of its own may be given."""

    name, needs = "returns", ("problem.bound_at",)

    def __init__(self, answer, **about):
        self.answer = answer
        vars(self).update(about)

    def run(self, problem, **options):
        return self.answer(problem, **options)
