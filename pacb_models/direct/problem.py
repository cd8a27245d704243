r"""The direct bound: the largest true risk of a posterior over the confidence set itself.

With probability at least :math:`1-\delta` the true risks ``l`` are in the set

.. math:: C = \Big\{l : \sum_i p_i G(\hat l_i, l_i) \le I/\delta\Big\}

(Markov's inequality; :mod:`~pacb_models.direct.penalties` has ``G``), and then every posterior's true risk is at
most

.. math:: B^\circ(q) = \max_{l \in C} \sum_i q_i l_i.

A PAC-Bayesian bound with the same distance, divergence and constant is never smaller: change of measure and Jensen's
inequality bound :math:`\sum_i q_i l_i` at every ``l`` of the set. As a maximum of linear functions the direct
bound is convex, also where the bound that it tightens has several minima.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.confidence_sets import Root
from ..numerics.inner import dot
from ..problem import Judgement, Problem, relative
from ..validation import check_posterior
from .confidence_set import ConfidenceSet, WorstCase
from .penalties import Penalty, penalty_of

if TYPE_CHECKING:
    import cvxpy
    import pyomo.environ as pyo


class DirectProblem(Problem):
    """Minimise a bound without change of measure over the posteriors on a finite set of classifiers.

    It takes the arguments of :class:`~pacb_models.BoundProblem`. The bound is valid at the same confidence, never
    larger than that problem's at any posterior, and convex, so that every minimum is global.

    Examples
    --------
    >>> import pacb_models as pm
    >>> risks, q = [0.1, 0.2, 0.4], [0.6, 0.3, 0.1]
    >>> relaxed, direct = (kind(risks, m=500, distance="kl") for kind in (pm.BoundProblem, pm.DirectProblem))
    >>> direct.bound(q) < relaxed.bound(q)
    True
    """

    kind = "direct"
    form = "the direct bound of "

    constrainable = False
    vote_factor = 2.0

    @cached_property
    def penalty(self) -> Penalty:
        """What true risks above the empirical ones cost: the summand of the confidence set."""
        return penalty_of(self)

    @cached_property
    def log_radius(self) -> float:
        r""":math:`\ln(I/\delta)`, rounded up: what the penalties may add up to."""
        radius = self.log_constant - math.log(self.delta)
        radius += 2.0 * math.ulp(max(abs(self.log_constant), abs(radius)))
        return max(radius, self.penalty.at_rest)

    def worst_risks(self, posterior: ArrayLike) -> NDArray[np.float64]:
        """Return the true risks in the confidence set with the largest average; they are the gradient of the bound.

        Where a weight is zero, the largest risk that costs nothing: the empirical one, the slope towards that
        classifier.
        """
        return self.worst_case(check_posterior(posterior, self.size)).risks

    gradient = worst_risks

    def worst_case(self, q: NDArray[np.float64]) -> WorstCase:
        """Return the bound, rounded up, and the worst risks, of weights on the simplex that are not checked."""
        found = self.confidence_set.worst_case(q)
        # No bound is below the common risk; a last digit may be.
        return found._replace(bound=max(found.bound, self.common_risk.low))

    @cached_property
    def confidence_set(self) -> ConfidenceSet:
        """The true risks that are possible."""
        return ConfidenceSet(self.penalty, self.risks, self.prior, self.log_radius)

    @property
    def common_risk(self) -> Root:
        """The minimum of the bound, enclosed."""
        return self.confidence_set.common_risk

    def common_risk_is_possible(self, risk: float) -> bool:
        """Return whether all true risks can surely be that large at once, so that no posterior's bound is below it.

        Classifiers of a larger empirical risk may have that one.
        """
        every = self.confidence_set
        if not every.least < risk <= every.highest:
            return risk <= every.least
        total = every.total(risk)
        return total.value + total.error < 0.0

    def weights_at(self, true_risk: float) -> NDArray[np.float64]:
        r"""Return the posterior :math:`q_i \propto p_i\, \partial G(\hat l_i, t)/\partial t`, optimal where ``t`` is
        the minimum."""
        empirical, every = self.risks, self.confidence_set
        true_risk = min(max(true_risk, math.nextafter(every.least, math.inf)), every.highest)
        excess = true_risk - empirical
        inside = (excess > 0.0) | self.penalty.signed
        if not inside.any():
            return self.prior
        logarithms = self.penalty.logarithms(empirical[inside], excess[inside], np.array(1.0 - true_risk)).slope
        weights = np.zeros(self.size)
        weights[inside] = self.prior[inside] * np.exp(logarithms - logarithms.max())
        return weights / weights.sum()

    def bound(self, posterior: ArrayLike) -> float:
        """Return the bound at a posterior given in the order of ``risks``."""
        return self.worst_case(check_posterior(posterior, self.size)).bound

    def judge(self, q: NDArray[np.float64]) -> Judgement:
        r"""Return the residual :math:`\sum_i \max(q_i, \hat q_i)\,|l_i - \bar l|` with the worst risks ``l``, their
        average :math:`\bar l` and the weights :math:`\hat q_i \propto p_i G'(\hat l_i, \bar l)` that stationarity asks
        for.

        The worst risk of a classifier is a small power of its weight, so that single slopes say nothing of what is to
        be gained; weighted, they bound it: :math:`B^\circ(q) - \min B^\circ \le \sum_i (q_i - q^*_i)(l_i - \bar l)`.
        """
        bound, risks = self.worst_case(q)
        mean = dot(q, risks)
        wanted = self.weights_at(mean)
        residual = relative(dot(np.maximum(q, wanted), np.abs(risks - mean)), bound)
        divergence = self.divergence_function
        return Judgement(bound, residual, self.empirical_risk(q), divergence.value(divergence.size(q, self.prior)))

    def cvxpy_problem(self) -> cvxpy.Problem:
        """Return the minimisation as a CVXPY problem whose multipliers are the posterior; always convex."""
        from ..models.direct_bounds import build_direct

        return build_direct(self).problem

    def pyomo_model(self) -> pyo.ConcreteModel:
        """Return the minimisation as a Pyomo model whose multipliers are the posterior."""
        from ..models.direct_bounds import direct_pyomo_model

        return direct_pyomo_model(self)
