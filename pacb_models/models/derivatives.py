r"""The bound with its derivatives, for optimisers and automatic differentiation of other packages.

With :math:`B(q) = F(L, T)` and :math:`g = \nabla T` the Hessian is :math:`F_T \nabla^2 T + U C U^T`, :math:`U = [l, g]`
and ``C`` the second derivatives of ``F``; :math:`\nabla^2 T` is a diagonal plus a multiple of :math:`g g^T`. So its
product with a vector costs a few passes over the weights; for votes :math:`2 F_L A` is added, one pass over ``A``.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import optimality
from ..errors import InputError
from ..problem import RiskAndSize
from ..validation import real_numbers


def value_and_gradient(problem: RiskAndSize, q: ArrayLike) -> tuple[float, NDArray[np.float64]]:
    """Evaluate the bound and its derivatives with respect to the weights.

    The weights need not sum to one, as those of an optimiser on its way do not: the formula is evaluated as it stands.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="linear")
    >>> value, gradient = problem.value_and_gradient([0.5, 0.5])
    >>> round(value, 4), gradient.round(4).tolist()
    (0.4236, [0.3236, 0.5236])
    """
    weights = _checked(problem, "q", q)
    value = problem.bound_at(problem.empirical_risk(weights), problem.divergence_size(weights))
    return float(value), optimality.gradient(problem, weights)


def hessian_product(problem: RiskAndSize, q: ArrayLike, direction: ArrayLike) -> NDArray[np.float64]:
    """Multiply the Hessian of the bound at some weights with a vector.

    Where the bound has none, as that of kl at an empirical risk of zero, the result is not finite.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.3], m=100, distance="linear")
    >>> problem.hessian_product([0.5, 0.5], [1.0, -1.0]).round(4).tolist()
    [0.4472, -0.4472]
    """
    weights, v = _checked(problem, "q", q), _checked(problem, "direction", direction, signed=True)
    divergence, risks, matrix = problem.divergence_function, problem.risk_gradient(weights), problem.risk_matrix
    size = divergence.size(weights, problem.prior)
    outer = problem.derivatives_at(problem.empirical_risk(weights), size)
    slopes = divergence.gradient(weights, problem.prior, size)
    diagonal, square = divergence.curvature(weights, problem.prior, size)
    along_L, along_T = float(risks @ v), float(slopes @ v)
    risk_part = outer.LL * along_L + outer.LT * along_T
    size_part = outer.LT * along_L + (outer.TT + outer.T * square) * along_T
    bend = 0.0 if matrix is None else 2.0 * outer.L * (matrix @ v)
    return np.asarray(outer.T * diagonal * v + risk_part * risks + size_part * slopes + bend)


def _checked(problem: RiskAndSize, name: str, values: ArrayLike, signed: bool = False) -> NDArray[np.float64]:
    array = real_numbers(name, values, "a sequence of numbers")
    if array.shape != (problem.size,) or not np.isfinite(array).all() or not (signed or (array >= 0.0).all()):
        raise InputError(name, array, f"it must be {problem.size} finite numbers{'' if signed else ', none negative'}")
    return array
