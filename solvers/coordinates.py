"""The bound as a function of variables that SciPy's minimisers can move freely, or within simple bounds."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pacb_models.direct import DirectProblem
from pacb_models.numerics.inner import one_thread
from pacb_models.problem import Problem, RiskAndSize
from pacb_models.solution import Outcome
from pacb_models.solving.judging import onto_simplex

from .options import Iterative
from .oracle import Oracle, TimeUp, is_steep


class Coordinates:
    """Variables that stand for a posterior, in units of a scale. Minimisers ask for values off the simplex, where a
    bound need not exist: ``weights`` are normalised first, which changes nothing on the simplex."""

    def __init__(self, oracle: Oracle, scale: np.ndarray | float):
        self.oracle, self.prior, self.scale = oracle, oracle.problem.prior, scale
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    #: The variables of a posterior.
    point: Callable[[np.ndarray], np.ndarray]
    #: The weights that variables stand for, but for a factor.
    weights: Callable[[np.ndarray], np.ndarray]
    #: The derivatives of the bound with respect to the variables.
    gradient: Callable[[np.ndarray], np.ndarray]

    def posterior(self, x: np.ndarray) -> np.ndarray:
        """Return the weights on the simplex that the variables stand for; for the same variables the same array. Where
        a minimiser has lost its numbers, they stand for the best that was seen, and nothing is gained."""
        if not np.isfinite(x).all():
            return self.oracle.best_posterior
        if self._last is None or not np.array_equal(x, self._last[0]):
            q, _ = onto_simplex(self.weights(x))
            self._last = x.copy(), self.prior if q is None else q
        return self._last[1]

    def value(self, x: np.ndarray) -> float:
        """Return the bound."""
        return self.oracle.value(self.posterior(x))


class Powers(Coordinates):
    r"""Variables :math:`x_i \ge 0` with :math:`q_i \propto p_i (x_i/s_i)^k`. Where slopes grow as the power
    :math:`\alpha-1` of :math:`q_i/p_i`, with :math:`k = 2/\alpha` they bend everywhere alike, and with :math:`s_i =
    \sqrt{p_i}` for all classifiers alike. For :math:`k > 1` a weight of zero has no slope."""

    def __init__(self, oracle: Oracle, scale: np.ndarray | float, power: float = 1.0):
        super().__init__(oracle, scale)
        self.power = power

    def point(self, posterior: np.ndarray) -> np.ndarray:
        return self.scale * (posterior / self.prior) ** (1.0 / self.power)

    def weights(self, x: np.ndarray) -> np.ndarray:
        return self.prior * (np.maximum(x, 0.0) / self.scale) ** self.power

    def gradient(self, x: np.ndarray) -> np.ndarray:
        bases = np.maximum(x, 0.0) / self.scale
        growth = self.prior * self.power * bases ** (self.power - 1.0) / self.scale
        return growth * self.oracle.slopes(self.posterior(x)) / (self.weights(x).sum() or 1.0)


class Logits(Coordinates):
    r"""Variables :math:`x_i`, free, with :math:`q_i \propto p_i e^{x_i/s_i}`. For the KL divergence, whose slope is
    infinite at weight zero: no method that moves along the bounds copes with that, and no optimum has a weight of zero.
    With :math:`s_i = \sqrt{p_i}` the divergence's part of the Hessian at the prior is a multiple of the unit matrix,
    with which quasi-Newton methods begin."""

    def point(self, posterior: np.ndarray) -> np.ndarray:
        return self.scale * np.log(np.maximum(posterior, np.finfo(float).tiny) / self.prior)

    def weights(self, x: np.ndarray) -> np.ndarray:
        exponents = x / self.scale
        return self.prior * np.exp(exponents - exponents.max())

    def gradient(self, x: np.ndarray) -> np.ndarray:
        q = self.posterior(x)
        return q * self.oracle.slopes(q) / self.scale


def suitable_order(problem: Problem) -> float:
    r"""Return the order in whose coordinates slopes change evenly: the divergence's own, but for direct bounds. Their
    slope is the excess at which :math:`\phi^{\alpha'}` has the slope :math:`q_i/p_i`. Where φ is nearly a square, it
    grows as that ratio's power :math:`1/(2\alpha'-1)`. A bound of another form is taken for a smooth function of the
    weights, as that of order two, unless it is steep at weight zero."""
    if not isinstance(problem, RiskAndSize | DirectProblem):
        return 1.0 if is_steep(problem) else 2.0
    order = problem.order
    if isinstance(problem, RiskAndSize) or problem.distance_function.affine or order <= 1.0:
        return order
    return 1.0 + (order - 1.0) / (order + 1.0)


class _Stationary(Exception):
    """The point of an iteration is stationary to the tolerance."""


def by_scipy(
    coordinates: Coordinates,
    start: np.ndarray,
    options: Iterative,
    method: str,
    settings: dict[str, Any],
    again: bool = False,
    better: Callable[[np.ndarray], np.ndarray | None] | None = None,
    **conditions: Any,
) -> Outcome:
    """Minimise by ``scipy.optimize.minimize`` until the KKT residual is small enough or nothing better is found. Where
    its line search gives up, what it has learnt of the bend may be to blame: with ``again`` it begins anew from there,
    or from a ``better`` posterior, as long as that gains anything. ``conditions`` are SciPy's bounds and
    constraints."""
    from scipy.optimize import minimize

    oracle, iterations, most = coordinates.oracle, 0, options.max_iterations

    def stationary(x: np.ndarray) -> bool:
        return oracle.stationary(coordinates.posterior(x), options.tolerance)

    # Until SciPy 1.16 SLSQP hands its callback the bare point, and knows no StopIteration.
    def after_iteration(x: np.ndarray, *_: Any) -> None:
        nonlocal iterations
        iterations += 1
        oracle.trace.add(oracle.best)
        if stationary(x):
            raise _Stationary(x)

    call = partial(minimize, coordinates.value, method=method, callback=after_iteration, **conditions)
    # The matrices are small, where several BLAS threads cost much more than they gain.
    with warnings.catch_warnings(), one_thread():
        # trust-constr warns of a singular start, SLSQP of clipped values; neither changes the result.
        warnings.simplefilter("ignore")
        try:
            x = coordinates.point(start)
            bound, before = coordinates.value(x), np.inf
            oracle.trace.add(bound)
            while bound < before and iterations < most and not stationary(x):
                before = bound
                x = call(x, jac=coordinates.gradient, options=settings | {"maxiter": most - iterations}).x
                if not again:
                    break
                moved = None if better is None or stationary(x) else better(coordinates.posterior(x))
                x = x if moved is None else coordinates.point(moved)
                bound = coordinates.value(x)
        except TimeUp:
            return oracle.outcome("time_limit", iterations)
        except _Stationary as found:
            (x,) = found.args
    if stationary(x):
        return oracle.outcome("optimal", iterations, coordinates.posterior(x))
    if iterations >= most:
        return oracle.outcome("iteration_limit", iterations)
    return oracle.found_nothing_better(coordinates.posterior(x), iterations)
