r"""Catoni's distance :math:`\phi_\beta = -\ln(1 - l\,(1 - e^{-\beta})) - \beta \hat l` (Catoni, 2007, theorem 1.2.6).

Its exponential moment is one for every true risk, since :math:`E\,e^{-\beta k} = (1 - l + l e^{-\beta})^m`. So its
constant is one. :math:`\beta > 0` has to be fixed before seeing the sample.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from ..algebra import Algebra, Expression
from ..numerics.elementwise import Numbers, functions_of, log_ratio
from ..numerics.rounding import Constant
from ..validation import check_positive
from .distance import Distance, Inverse


@final
@dataclass(frozen=True, repr=False)
class Catoni(Distance):
    r""":math:`r = (1 - e^{-\beta L - b}) / (1 - e^{-\beta})`: the minimum is the Gibbs posterior at the inverse
    temperature :math:`\beta m`.

    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.2], m=100, distance=pm.distances.Catoni(0.5), divergence="kl")
    >>> round(pm.solve(problem).bound, 4)
    0.2113
    """

    beta: float

    name = "catoni"
    additive = False
    exponential_only = True

    def __post_init__(self) -> None:
        check_positive("beta", self.beta)
        object.__setattr__(self, "beta", float(self.beta))

    @property
    def largest(self) -> float:
        """One over the largest bound."""
        return float(-np.expm1(-self.beta))

    def derivatives(self, L: Numbers, budget: Numbers) -> Inverse:
        lib = functions_of(budget)
        exponent, beta = -self.beta * L - budget, self.beta
        slope = lib.exp(exponent) / self.largest
        steep = beta * slope
        return Inverse(-lib.expm1(exponent) / self.largest, steep, slope, -beta * steep, -steep, -slope)

    def rate(self, L: Numbers, budget: Numbers) -> Numbers:
        return np.full_like(budget, self.beta) if isinstance(budget, np.ndarray) else self.beta

    def balance(self, L: Numbers, budget: Numbers, rate: Numbers) -> Numbers:
        return log_ratio(rate, np.float64(self.beta) if isinstance(rate, np.ndarray) else self.beta)

    def express(self, algebra: Algebra, L: Expression, budget: Expression) -> Expression:
        r"""Write the bound as a variable, with the constraint :math:`-\ln(1 - r\,(1 - e^{-\beta})) \ge \beta L + b`."""
        r = algebra.variable("r", algebra.bound, 0.0, 1.0 / self.largest)
        algebra.reach("catoni", -algebra.log(1.0 - self.largest * r), self.beta * L + budget)
        return r

    def moment(self, m: int, power: float | None, constant: str) -> Constant:
        return Constant(1.0, 0.0)

    def moment_at(self, m: int, l: float, power: float | None, constant: str) -> float:
        return self.moment(m, power, constant).value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.beta:g})"
