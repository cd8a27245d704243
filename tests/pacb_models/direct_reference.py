"""Direct bounds in forty digits, from the definition of the confidence set; nothing is taken from the package.

A point that satisfies the conditions of the convex problem — feasible, and every weight proportional to its penalty's
slope — is its maximum. It is found by Newton's method from a point that the caller guesses.
"""

from __future__ import annotations

from mpmath import exp, findroot, log, mp, mpf

from .mp_reference import PHI, constant, numbers


class DirectReference:
    """The direct bound of a problem; the radius of its set is I(m)/δ, from its definition, unless it is given."""

    def __init__(self, problem, radius=None):
        self.risks, self.prior = numbers(problem.risks), numbers(problem.prior)
        self.signed = (problem.distance, problem.divergence) == ("linear", "kl")
        self.phi = PHI[problem.distance]
        self.kl = problem.divergence == "kl"
        self.power = mpf(problem.order) / (mpf(problem.order) - 1) if not self.kl else None
        self.factor = 2 * problem.m - 1 if problem.distance == "ch" else problem.m
        if radius is None:
            moment = constant(problem.distance, problem.m, problem.divergence, problem.order, problem.constant)
            radius = moment / mpf(problem.delta)
        self.radius = radius

    def penalty(self, empirical, risk):
        if risk <= empirical and not self.signed:
            return mpf(1) if self.kl else mpf(0)
        phi = self.phi(empirical, risk)
        return exp(self.factor * phi) if self.kl else phi**self.power

    def slope(self, empirical, risk):
        return mp.diff(lambda l: self.penalty(empirical, l), risk, h=mpf(10) ** -25)

    def total(self, risks):
        return sum(p * self.penalty(a, l) for p, a, l in zip(self.prior, self.risks, risks))

    def bound(self, q, guess):
        """The largest average risk, at a posterior whose weights are all positive."""
        q = numbers(q)
        size = len(q)
        guess = numbers(guess)
        price = log(sum(q) / sum(p * self.slope(a, l) for p, a, l in zip(self.prior, self.risks, guess)))

        def conditions(*unknown):
            *risks, log_price = unknown
            rows = [log(p * self.slope(a, l) / w) + log_price for p, a, l, w in zip(self.prior, self.risks, risks, q)]
            return [*rows, log(self.total(risks) / self.radius)]

        found = findroot(conditions, (*guess, price), tol=mpf(10) ** -50, maxsteps=20, verify=False)
        assert max(abs(row) for row in conditions(*found)) < mpf(10) ** -20
        return sum(w * found[i] for i, w in enumerate(q[:size]))

    def common_risk(self, guess):
        """The root of the sum of penalties at one true risk."""
        start = mpf(float(guess))
        return findroot(lambda t: log(self.total([t] * len(self.risks)) / self.radius), start)
