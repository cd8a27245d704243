r"""The lifted model as SCIP reads it, in the forms in which SCIP recognises what is convex.

* Norms: :math:`\sum_i p_i w_i^\alpha \le t^\alpha`, for order two a second-order cone; with its square ``X`` and
  :math:`\sqrt X` SCIP stalls.
* KL: :math:`\sum_i p_i w_i \ln w_i \le D`; with :math:`q \ln(q/p)` SCIP does not see that it is convex.
* A square root ``s`` of ``x`` is a variable with :math:`s^2 \ge x`.
* A limit on the support: a binary for every weight, and for order two the cone in perspective form as well.

All but the distance is convex; SCIP branches on ``L``, ``r``, ``s`` and ``t`` until the rest is settled. A form that is
not an equality is a relaxation: what SCIP proves of it holds for the bound.

**Units.** SCIP's constraints hold to :math:`10^{-6}`, its coefficients below :math:`10^{-9}` are zero and its numbers
end at :math:`10^{20}`. So ``t`` is counted in units of its value ``T`` at the start and each weight in units of
:math:`T p_i^{1-1/\alpha}`, in which the cone is :math:`\sum_i z_i^\alpha \le \tau^\alpha`, and each constraint is
multiplied by what the bound changes with it. No optimum has a larger size than :func:`largest_size`.
"""

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..algebra import Expression, SquaredValues, Squares, object_array, over_vectors
from ..problem import RiskAndSize
from .lifted import box, values_at, write

#: Empirical risks below this are counted as this much: kl has no derivative at zero. The bound does not become smaller.
LEAST_RISK = 1e-9
#: No weight is counted in smaller units: SCIP would take its coefficient in the sum of the weights for zero.
LEAST_UNIT = 1e-6
#: Numbers of a model beyond this are out of reach of SCIP's tolerances.
LARGEST_NUMBER = 1e9


class Forms(Squares):
    """What SCIP's model and its start have in common."""

    largest: float

    def __init__(self, problem: RiskAndSize, start: np.ndarray) -> None:
        super().__init__(problem, start)
        self.largest = largest_size(problem, self.bound)

    def norm(self, ratios: Any, order: float) -> Expression:
        t = self.variable("t", max(self.size, 1.0), 1.0, self.largest)
        self.at_least("divergence", self.power(t / self.size, order), self.shares(ratios, order))
        return self.problem.counted(t)

    def shares(self, ratios: Any, order: float) -> Expression:
        r""":math:`\sum_i p_i (w_i/T)^\alpha`."""
        return self.mean(self.power(ratios / self.size, order))

    def power(self, x: Any, order: float) -> Expression:
        """Return a power, elementwise."""
        return x**order

    def empirical_risk(self) -> Expression:
        """Return an inequality: the least empirical risk that is counted need not be reached."""
        risks = np.maximum(self.problem.risks, LEAST_RISK)
        # Two classifiers err together less often than each does.
        least = float(risks.min()) if self.problem.risk_matrix is None else LEAST_RISK
        L = self.variable("L", max(self.L, LEAST_RISK), least, float(risks.max()))
        self.at_least("empirical_risk", L, self.problem.express_risk(self))
        return L


class Start(Forms, SquaredValues):
    """The values of SCIP's variables at a posterior."""


class ScipModel(Forms):
    """A model of PySCIPOpt's, and the values of its variables at the start."""

    def __init__(self, problem: RiskAndSize, start: np.ndarray) -> None:
        import pyscipopt

        super().__init__(problem, start)
        self.scip, self.quicksum = pyscipopt.Model(), pyscipopt.quicksum
        self.log, self.generic = over_vectors(pyscipopt.log), pyscipopt.scip.buildGenExprObj
        # The coefficients of an entropy do not grow with the unit; with 1e-6 SCIP's linear programs fail.
        self.units = np.maximum(self.prior, 1e-2)
        if problem.order > 1.0:
            self.units = np.maximum(self.size * self.prior ** (1.0 - 1.0 / problem.order), LEAST_UNIT)
        floors, caps = box(problem)
        bounds = zip((floors / self.units).tolist(), (np.minimum(caps, 1.0) / self.units).tolist())
        self.weights = object_array(self.scip.addVar(f"z{i}", lb=lb, ub=ub) for i, (lb, ub) in enumerate(bounds))
        self.ratios = self.weights * (self.units / self.prior)
        self.start = dict(zip((each.name for each in self.weights), (start / self.units).tolist()))
        self.numbers = values_at(problem, start, Start)
        #: One for each weight that may be positive; none without a limit on the support.
        self.switches: list[Any] = []
        bound = write(self)
        if bound.degree() > 1:
            # The size of pairs of an order is a square, and SCIP's objectives are linear.
            least, bound = bound, self.variable("bound", self.bound)
            self.scip.addCons(bound - least >= 0.0)
        self.scip.setObjective(bound, "minimize")

    def mean(self, terms: Any) -> Expression:
        return self.quicksum(p * term for p, term in zip(self.prior.tolist(), terms))

    def mean_entropy(self, ratios: Any) -> Expression:
        if ratios is not self.ratios:
            return super().mean_entropy(ratios)
        terms = self.log(self.weights) + np.log(self.units / self.prior)
        return self.quicksum(self.units * self.weights * terms)

    def shares(self, ratios: Any, order: float) -> Expression:
        if ratios is not self.ratios:
            return super().shares(ratios, order)
        factors = self.prior * (self.units / (self.prior * self.size)) ** order
        return self.quicksum(factors * self.power(self.weights, order))

    def power(self, x: Any, order: float) -> Expression:
        # PySCIPOpt makes a product of a whole power, in which SCIP does not see the power; squares make a cone.
        return x**order if order == 2.0 else over_vectors(lambda each: self.generic(each) ** order)(x)

    def average(self, values: np.ndarray) -> Expression:
        return self.quicksum((values * self.units * self.weights)[values != 0.0])

    def quadratic(self, matrix: np.ndarray) -> Expression:
        terms = matrix * np.multiply.outer(self.units, self.units) * np.multiply.outer(self.weights, self.weights)
        return self.quicksum(terms[matrix != 0.0])

    def support(self, costs: np.ndarray, total: float) -> None:
        """Limit each weight to its cap times a binary: SCIP sees that it is semicontinuous."""
        self.switches = [self.scip.addVar(f"on{i}", vtype="B") for i in range(self.problem.size)]
        for weight, on in zip(self.weights, self.switches):
            self.scip.addCons(weight <= weight.getUbOriginal() * on)
            self.start[on.name] = float(self.start[weight.name] > 0.0)
        self.scip.addCons(self.quicksum(cost * on for cost, on in zip(costs.tolist(), self.switches)) <= total)

    def norm(self, ratios: Any, order: float) -> Expression:
        found = super().norm(ratios, order)
        if self.switches and order == 2.0 and self.problem.risk_matrix is None:
            self._write_perspective(found / self.size, self.largest / self.size)
        return found

    def _write_perspective(self, tau: Any, most: float) -> None:
        r"""Write the cone once more, in perspective: :math:`\sum_i s_i \le \tau`, :math:`z_i^2 \le s_i \tau_i` with
        :math:`\tau_i \le \tau` and :math:`\tau_i` zero where the weight is. It says nothing new of binaries, and much
        of the fractions that a relaxation puts in their place."""
        factors, shares = self.prior * (self.units / (self.prior * self.size)) ** 2, []
        for i, (factor, weight, on) in enumerate(zip(factors.tolist(), self.weights, self.switches)):
            own, share = (self.scip.addVar(name, lb=0.0, ub=most) for name in (f"tau{i}", f"s{i}_share"))
            shares.append(share)
            for row in (factor * weight * weight <= own * share, own <= most * on, own - tau <= 0.0):
                self.scip.addCons(row)
            held = self.start[on.name]
            self.start |= {own.name: held, share.name: factor * self.start[weight.name] ** 2 * held}
        self.scip.addCons(self.quicksum(shares) - tau <= 0.0)

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Expression:
        """Return a variable in units of its value at the start where that is large."""
        if (lower, upper) == (0.0, 1.0):
            # Logarithms of a risk and of its complement have to be finite.
            lower, upper = LEAST_RISK, 1.0 - LEAST_RISK
        unit = max(1.0, value)
        # A root has no value here, and is in units of one.
        self.start[name] = self.numbers.get(name, value) / unit
        ends = [None if end is None else end / unit for end in (lower, upper)]
        return unit * self.scip.addVar(name, lb=ends[0], ub=ends[1])

    def constrain(self, name: str, left: Any, right: Any, equality: bool, scale: float) -> None:
        factor, difference = max(scale / self.factors.objective, 1.0), left - right
        self.scip.addCons(difference == 0.0 if equality else factor * difference >= 0.0, name)


def out_of_reach(problem: RiskAndSize, start: np.ndarray) -> str | None:
    """Return None when the numbers of a model are in reach of SCIP's tolerances, else a clause that says why not."""
    order, size = problem.order, problem.divergence_function.size(start, problem.prior)
    if order <= 1.0:
        return None
    largest = largest_size(problem, problem.bound(start))
    if order * math.log(largest / size) > math.log(LARGEST_NUMBER):
        return f"sizes from {size:.1g} to {largest:.1g} are too far apart for SCIP at order {order:g}"
    own_units = math.log(size) + (1.0 - 1.0 / order) * math.log(problem.prior.min())
    if order * (math.log(LEAST_UNIT) - own_units) > math.log(LARGEST_NUMBER):
        return f"prior weights of {problem.prior.min():.1g} are too small for SCIP at order {order:g}"
    return None


def largest_size(problem: RiskAndSize, bound: float) -> float:
    """Return a size that no posterior with a bound as small as this one exceeds. The least risk of all has a larger
    bound with any larger size. No posterior has a larger size than all weight on the classifier with the least
    prior."""
    vertex = np.zeros(problem.size)
    vertex[int(problem.prior.argmin())] = 1.0
    low = problem.divergence_function.size(problem.prior, problem.prior)
    high = max(problem.divergence_function.size(vertex, problem.prior), low)
    least = float(problem.risks.min()) if problem.risk_matrix is None else 0.0

    def excess(size: float) -> float:
        return min(float(problem.bound_at(least, problem.counted(size))) - bound, 1.0)

    if excess(high) > 0.0 > excess(low):
        high = float(brentq(excess, low, high, rtol=1e-12))
    return high * (1.0 + 1e-9)
