r"""What every distance offers.

A PAC-Bayesian bound says :math:`\phi(L, r) \le b`: the empirical risk ``L`` of the posterior and its true risk ``r``
differ, measured by :math:`\phi`, by no more than a *budget* ``b``. Turning that into an upper bound on the risk is the
inversion

.. math:: r(L, b) = \sup\{r \ge L : \phi(L, r) \le b\}.

How the budget depends on the posterior is the divergence's business. Ours are final; a new distance is a subclass of
:class:`Distance` with ``derivatives`` and ``log_constant``. Everything else is optional, and a solver that needs it
says so by its name: ``forward`` for direct bounds, ``express`` for algebraic models.
"""

from typing import NamedTuple

import numpy as np

from ..algebra import Algebra, ExcessAlgebra, Expression
from ..errors import UnsupportedProblemError
from ..immutable import per_object
from ..numerics.elementwise import Numbers
from ..numerics.rounding import Constant, ceil_exp


class Inverse(NamedTuple):
    """The inverse :math:`r(L, b)` with its first and second partial derivatives; numbers or arrays."""

    value: Numbers
    L: Numbers
    b: Numbers
    LL: Numbers
    Lb: Numbers
    bb: Numbers


class Forward(NamedTuple):
    """The distance itself with its first and second derivative in the true risk, elementwise."""

    value: np.ndarray
    slope: np.ndarray
    bend: np.ndarray


class Distance:
    """A distance between an empirical and a true risk, jointly convex in both."""

    #: Name used by :class:`~pacb_models.BoundProblem`.
    name: str
    #: True when ``r(L, b) = L + g(b)``.
    additive: bool = True
    #: True when the distance is finite for true risks below one only, as that of the binary kl.
    below_one: bool = False
    #: True when ``r`` is a linear function of ``L`` and ``b``, so that bounds with a convex budget are convex.
    affine: bool = False
    #: True when it has exponential moments only, so that the divergence must be that of Kullback and Leibler.
    exponential_only: bool = False

    # -- The inverse -------------------------------------------------------------------------------------------------

    def derivatives(self, L: Numbers, budget: Numbers) -> Inverse:
        """Return the inverse and its derivatives up to second order, at numbers or at arrays.

        A method that takes numbers only is called point by point.
        """
        raise NotImplementedError

    def invert(self, L: Numbers, budget: Numbers) -> Numbers:
        """Return the largest true risk compatible with empirical risk ``L`` and the budget."""
        return self.derivatives(L, budget).value

    def reaches(self, L: np.ndarray, budget: np.ndarray, r: float | np.ndarray) -> np.ndarray:
        """Return whether :math:`r(L, b) \\ge r`, elementwise. A distance that is easier to compute than its inverse
        says it without the inverse."""
        return np.asarray(self.invert(L, budget) >= r)

    def rate(self, L: Numbers, budget: Numbers) -> Numbers:
        r"""Return how much budget one unit of empirical risk is worth: :math:`r_L/r_b`."""
        r = self.derivatives(L, budget)
        return r.L / r.b

    def balance(self, L: Numbers, budget: Numbers, rate: Numbers) -> Numbers:
        r"""Return a number with the sign of :math:`d\,r_b - r_L`.

        It is negative where giving up ``d`` units of budget for one of empirical risk pays. Its zero is found in fewest
        steps when it is nearly :math:`\ln d` less that of the rate itself.
        """
        r = self.derivatives(L, budget)
        return rate * r.b - r.L

    def parameters(self, L: float, budget: float) -> dict[str, float]:
        """Return the parameters by which authors know the theorem, at a posterior: a part of the solution's details."""
        return {}

    # -- What direct bounds and models need --------------------------------------------------------------------------

    def forward(self, empirical: np.ndarray, excess: np.ndarray, remainder: np.ndarray) -> Forward:
        r"""Return the distance :math:`\phi(\hat l, l)` of true risks ``l`` above the empirical ones.

        Given are :math:`\hat l`, the excess :math:`x = l - \hat l > 0` and the remainder :math:`1 - l`, each to full
        relative accuracy.
        """
        raise NotImplementedError

    def express(self, algebra: Algebra, L: Expression, budget: Expression) -> Expression:
        """Return the bound as an expression of an algebraic model; see :class:`~pacb_models.algebra.Algebra`.

        Whatever else the inversion needs, variables and constraints, is added to the model through ``algebra``.
        """
        raise NotImplementedError

    def express_excess(
        self, cones: ExcessAlgebra, empirical: Expression, excess: Expression, factor: Numbers
    ) -> Expression:
        r"""Return an expression of :math:`k\,\phi(\hat l, \hat l + x)` in the excesses ``x``, for models of direct
        bounds.

        ``k`` is a factor; all are vectors, see :class:`~pacb_models.algebra.ExcessAlgebra`.
        """
        raise NotImplementedError

    # -- The moment constant -----------------------------------------------------------------------------------------

    def exponent(self, m: int) -> int:
        r"""Return the factor of :math:`\phi` in the exponential moment of a KL-divergence bound."""
        return m

    def moment(self, m: int, power: float | None, constant: str) -> Constant:
        r"""Return the supremum over all true risks ``l`` of :math:`E[\phi(k/m, l)^p]`, ``p`` the power, or of
        :math:`E[e^{n\phi(k/m, l)}]` where there is none; :math:`k \sim \mathrm{Binomial}(m, l)`.

        ``constant`` is "exact", "one-sided" (φ counts where the true risk is above the empirical one) or "paper".
        """
        raise NotImplementedError

    def moment_at(self, m: int, l: float, power: float | None, constant: str) -> float:
        """Return the moment at one true risk strictly between 0 and 1, for plots."""
        raise NotImplementedError

    def log_constant(self, m: int, divergence: str, order: float, constant: str) -> float:
        r"""Return the logarithm of the moment constant :math:`I_\phi(m)`; ``divergence`` is the divergence's
        ``moments``."""
        return _moment(self, m, conjugate(divergence, order), constant).log_value

    def constant(self, m: int, divergence: str, order: float, constant: str) -> float:
        r"""Return the moment constant :math:`I_\phi(m)` (infinite where it exceeds the floating-point range)."""
        if type(self).log_constant is Distance.log_constant:
            return _moment(self, m, conjugate(divergence, order), constant).value
        return ceil_exp(self.log_constant(m, divergence, order, constant))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@per_object
def _moment(distance: Distance, m: int, power: float | None, constant: str) -> Constant:
    if distance.exponential_only and power is not None:
        raise UnsupportedProblemError(f"the {distance.name} distance has moments for the KL divergence only.")
    return distance.moment(m, power, constant)


def conjugate(moments: str, order: float) -> float | None:
    r"""Return the power :math:`\alpha' = \alpha/(\alpha-1)` of a Rényi order's moments; None for exponential ones."""
    return {"kl": None, "chi2": 2.0}[moments] if moments != "renyi" else order / (order - 1.0)
