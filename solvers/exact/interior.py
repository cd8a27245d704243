r"""The minimiser of :math:`V(q) + \beta\,q^T A q` over a set of posteriors, by a primal–dual interior-point method.

``V`` is the size of the pairs. With slacks ``w`` of floors, caps and rows and their multipliers ``u``

.. math:: \nabla V(q) + 2\beta A q = \theta 1 + C^T u, \quad \textstyle\sum_i q_i = 1, \quad w = Cq + c,
          \quad u_j w_j = \mu v_j,

Newton's method follows the solutions of decreasing μ, with the predictor and corrector of Mehrotra (SIAM J. Optim.,
1992). A constraint of classifier ``i`` has the share :math:`v_i = p_i`: posteriors far from the prior in a weight that
hardly counts are then no farther from the path. At large orders, where the weights of a dual method leave zero like a
high root, nothing here is steep.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from pacb_models.constraints import Posteriors
from pacb_models.numerics.elementwise import Array
from pacb_models.tandem import TandemProblem

#: The duality gap and the residual that are asked for, relative to the objective.
OPTIMAL = 1e-14
#: Iterations; the largest share of the way to a bound; how often a step is halved with the corrector, and without.
MOST, SHARE, HALVINGS = 100, 0.995, (2, 20)
#: The centre that a step without the corrector aims at, and the least that any does, relative to the present one.
CENTRE, LEAST = 0.3, 1e-6
#: Added to the equations of sum and rows, relative to their diagonal: rows may be dependent.
REGULAR = 1e-14


class PrimalDual(NamedTuple):
    """Weights, slacks, their multipliers and θ."""

    q: Array
    w: Array
    u: Array
    theta: float


class Residuals(NamedTuple):
    """What the conditions lack at an iterate, with what their derivatives need."""

    size: float
    #: Slopes of the size, and of the pairs' size along it.
    slopes: Array
    objective: float
    dual: Array
    total: float
    slack: Array
    norm: float


class Interior:
    """Minimisers over the posteriors of a problem; classifiers whose floor is their cap stay where they are."""

    def __init__(self, problem: TandemProblem) -> None:
        posteriors = problem.posteriors or Posteriors(problem.size, ())
        self.divergence, self.prior = problem.divergence_function, problem.prior
        self.on = np.flatnonzero(posteriors.upper > posteriors.lower)
        self.fixed = np.where(posteriors.upper > posteriors.lower, 0.0, posteriors.lower)
        self.p, self.pairs = problem.prior[self.on], problem.tandem_risks
        self.A = np.ascontiguousarray(problem.tandem_risks[np.ix_(self.on, self.on)])
        self.lower, self.upper = posteriors.lower[self.on], posteriors.upper[self.on]
        self.start = problem.prior
        if posteriors.violation(problem.prior) > 0.0:
            # Equal shares of what floors leave: from weights of 1e-9, as a prior may have, steps are too short.
            room = posteriors.upper - posteriors.lower
            share = (1.0 - float(posteriors.lower.sum())) / (float(room.sum()) or 1.0)
            self.start = posteriors.nearest(posteriors.lower + share * room)
        #: A row whose values all keep its limit may have no slack, and the multiplier no end.
        self.broken = posteriors.matrix.max(axis=1, initial=0.0) > 0.0
        matrix = posteriors.matrix[self.broken]
        self.capped, self.rows = np.flatnonzero(self.upper < 1.0), matrix[:, self.on]
        self.more, self.sum = matrix @ self.fixed, 1.0 - float(self.fixed.sum())
        self.shares = np.concatenate((self.p, self.p[self.capped], np.ones(len(self.rows))))

    def at(self, beta: float) -> tuple[Array, float, Array]:
        """Return the weights, θ and the multipliers of the rows."""
        multipliers = np.zeros(self.broken.size)
        if not self.on.size:
            return self.fixed, 0.0, multipliers
        here = self._first(beta)
        for _ in range(MOST):
            gap = float(here.u @ here.w)
            found = self._residuals(here, beta, 0.0)
            off = float(np.abs(found.dual) @ here.q)
            if max(gap, off) <= OPTIMAL * abs(found.objective) and abs(found.total) <= 10.0 * OPTIMAL:
                break
            try:
                following = self._step(here, found, beta, gap / float(self.shares.sum()))
            except np.linalg.LinAlgError:
                # Rounding of the pairs' risks, times a large β, is above the curvature of the size.
                following = None
            if following is None:
                break
            here = following
        multipliers[self.broken] = here.u[self.on.size + self.capped.size :]
        return self._whole(here.q), here.theta, multipliers

    def _whole(self, q: Array) -> Array:
        whole = self.fixed.copy()
        whole[self.on] = q
        return whole

    def _products(self, q: Array) -> Array:
        return np.concatenate((q, -q[self.capped], -(self.rows @ q)))

    def _transposed(self, u: Array) -> Array:
        found = u[: self.on.size] - u[self.on.size + self.capped.size :] @ self.rows
        found[self.capped] -= u[self.on.size : self.on.size + self.capped.size]
        return found

    def _offsets(self) -> Array:
        return np.concatenate((-self.lower, self.upper[self.capped], -self.more))

    def _first(self, beta: float) -> PrimalDual:
        room = self.upper - self.lower
        q = np.clip(self.start[self.on], self.lower + 0.01 * np.minimum(room, self.p), self.upper - 0.01 * room)
        w = self._products(q) + self._offsets()
        w[self.on.size + self.capped.size :] = np.maximum(w[self.on.size + self.capped.size :], 0.1)
        blank = PrimalDual(q, w, np.zeros(w.size), 0.0)
        theta = float(q @ self._residuals(blank, beta, 0.0).dual)
        return PrimalDual(q, w, max(0.1 * abs(theta), 0.01) * self.shares / w, theta)

    def _residuals(self, here: PrimalDual, beta: float, centre: float, counts: Array | None = None) -> Residuals:
        """Return what is lacking; a slope counts as much as its weight, or as ``counts`` says. By the prior, a weight
        that falls to nothing would count until its multiplier has followed, and hold up all steps."""
        q = self._whole(here.q)
        size = self.divergence.size(q, self.prior)
        pairs, half = self.divergence.pairs(size), self.pairs @ q
        slopes = self.divergence.prices(here.q / self.p, size)
        dual = pairs.slope * slopes + 2.0 * beta * half[self.on] - here.theta - self._transposed(here.u)
        total = float(here.q.sum()) - self.sum
        slack = here.w - self._products(here.q) - self._offsets()
        central = here.u * here.w - centre * self.shares
        weighted = (here.q if counts is None else counts) @ (dual * dual)
        parts = (weighted, (total * here.theta) ** 2, slack @ slack, central @ (central / self.shares))
        return Residuals(
            size, slopes, float(pairs.value) + beta * float(q @ half), dual, total, slack, float(sum(parts)) ** 0.5
        )

    def _step(self, here: PrimalDual, found: Residuals, beta: float, mu: float) -> PrimalDual | None:
        """Return the next iterate; None where no step leaves smaller residuals."""
        _, w, u, _ = here
        newton = self._factorised(here, found, beta)
        flat = newton(np.zeros(w.size))
        ahead = (w + _longest(w, flat.w) * flat.w) @ (u + _longest(u, flat.u) * flat.u)
        sigma = max((float(ahead) / (mu * float(self.shares.sum()))) ** 3, LEAST)
        aims = (sigma, sigma * mu * self.shares - flat.w * flat.u), (CENTRE, CENTRE * mu * self.shares)
        for (centre, aim), halvings in zip(aims, HALVINGS):
            before = self._residuals(here, beta, centre * mu).norm
            move = newton(aim)
            share = min(1.0, SHARE * min(_longest(w, move.w), _longest(u, move.u)))
            for _ in range(halvings):
                ahead_ = PrimalDual(*(old + share * new for old, new in zip(here, move)))
                if self._residuals(ahead_, beta, centre * mu, here.q).norm <= (1.0 - 0.01 * share) * before:
                    return ahead_
                share *= 0.5
        return None

    def _factorised(self, here: PrimalDual, found: Residuals, beta: float) -> Any:
        """Return Newton's equations, as a function of the products of slacks and multipliers that are aimed at."""
        q, w, u, _ = here
        n, split, ratios = self.on.size, self.on.size + self.capped.size, u / w
        pairs = self.divergence.pairs(found.size)
        diagonal, multiple = self.divergence.curvature(q, self.p, found.size)
        diagonal = pairs.slope * diagonal + ratios[:n]
        diagonal[self.capped] += ratios[n:split]
        scale = 1.0 / np.sqrt(diagonal)
        hessian = self.A * (2.0 * beta * np.multiply.outer(scale, scale))
        tilt = scale * found.slopes
        if pairs.bend + multiple:
            hessian += (pairs.bend + pairs.slope * multiple) * np.multiply.outer(tilt, tilt)
        hessian[np.diag_indices_from(hessian)] += 1.0
        factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
        # The sum of the weights and the rows, whose own entries may be much larger than all others.
        border = np.vstack((scale, -self.rows * scale))
        along = cho_solve(factor, border.T, check_finite=False)
        corner = border @ along
        corner += np.diag(np.append(0.0, 1.0 / ratios[split:]) + REGULAR * corner.diagonal())

        def newton(aim: Array) -> PrimalDual:
            lack = (aim - u * w) / u
            boxed = np.append((ratios * (lack + found.slack))[:split], np.zeros(len(self.rows)))
            step = cho_solve(factor, scale * (self._transposed(boxed) - found.dual), check_finite=False)
            level = np.append(-found.total, (lack + found.slack)[split:]) - border @ step
            moved = np.linalg.solve(corner, level)
            dq = scale * (step + along @ moved)
            dw = self._products(dq) - found.slack
            return PrimalDual(dq, dw, np.append((ratios * (lack - dw))[:split], moved[1:]), float(moved[0]))

        return newton


def _longest(values: Array, step: Array) -> float:
    """Return the largest share of a step, at most one, that leaves no value below zero."""
    falls = step < 0.0
    return min(float((values[falls] / -step[falls]).min(initial=1.0)), 1.0)
