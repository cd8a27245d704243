"""Direct bounds in forty digits, from the definition of the confidence set; nothing is taken from the package.

A point that satisfies the conditions of the convex problem — feasible, and every weight proportional to its penalty's
slope — is its maximum. It is found by Newton's method from a point that the caller guesses.
"""

import math

from mpmath import exp, findroot, log, mpf

from .mp_reference import PHI, constant, numbers

PHI_SLOPE = {
    "linear": lambda a, l: mpf(1),
    "squared": lambda a, l: 2 * (l - a),
    "pinsker": lambda a, l: 4 * (l - a),
    "kl": lambda a, l: (1 - a) / (1 - l) - a / l,
    "ch": lambda a, l: 2 * (l - a) + mpf(8) / 9 * (l - a) ** 3 + mpf(32) / 45 * (l - a) ** 5,
    "relative": lambda a, l: (1 - a**2 / l**2) / 2,
}


class DirectReference:
    """The direct bound of a problem; the radius of its set is I(m)/δ, from its definition, unless it is given."""

    def __init__(self, problem, radius=None):
        self.problem = problem
        self.risks, self.prior = numbers(problem.risks), numbers(problem.prior)
        self.signed = (problem.distance, problem.divergence) == ("linear", "kl")
        self.distance, self.phi = problem.distance, PHI[problem.distance]
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
        if risk <= empirical and not self.signed:
            return mpf(0)
        phi, slope = self.phi(empirical, risk), PHI_SLOPE[self.distance](empirical, risk)
        if self.kl:
            return self.factor * slope * exp(self.factor * phi)
        return self.power * phi ** (self.power - 1) * slope

    def total(self, risks):
        return sum(p * self.penalty(a, l) for p, a, l in zip(self.prior, self.risks, risks))

    def bound(self, q, guess=None):
        """The largest average risk of a posterior; a classifier without weight stays at its empirical risk.

        A weight below 1e-40 counts as none: whatever its risk, it does not move the digits of interest, and its
        equation is singular.
        """
        q = [mpf(w) if isinstance(w, mpf) else mpf(float(w)) for w in q]
        if guess is None:
            total = math.fsum(float(w) for w in q)
            guess = self.problem.worst_risks([float(w) / total for w in q])
        guess = numbers(guess)
        held = [i for i, w in enumerate(q) if w > mpf(10) ** -40]
        true = list(self.risks)
        for i in held:
            true[i] = guess[i]
        price = -log(sum(self.prior[i] * self.slope(self.risks[i], true[i]) for i in held))
        for _ in range(20):
            slopes = [self.prior[i] * self.slope(self.risks[i], true[i]) for i in held]
            total = self.total(true)
            rows, excess = [log(s / q[i]) + price for s, i in zip(slopes, held)], log(total / self.radius)
            if max(map(abs, (*rows, excess))) < mpf(10) ** -35:
                break
            # The row of a classifier depends on its own risk and on the price alone: one difference quotient each.
            bends = []
            for i, s in zip(held, slopes):
                step = mpf(10) ** -20 * max(abs(true[i]), mpf(1))
                bends.append(log(self.prior[i] * self.slope(self.risks[i], true[i] + step) / s) / step)
            shares = [s / total / bend for s, bend in zip(slopes, bends)]
            change = (excess - sum(share * row for share, row in zip(shares, rows))) / sum(shares)
            for i, row, bend in zip(held, rows, bends):
                true[i] -= (row + change) / bend
            price += change
        assert max(map(abs, (*rows, excess))) < mpf(10) ** -20
        return sum((w * l for w, l in zip(q, true)), mpf(0))

    def common_risk(self, guess):
        """The root of the sum of penalties at one true risk."""
        start = mpf(float(guess))
        return findroot(lambda t: log(self.total([t] * len(self.risks)) / self.radius), start)
