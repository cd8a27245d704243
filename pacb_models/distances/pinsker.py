r"""Pinsker's distance :math:`\phi = 2 (l - \hat l)^2`, the quadratic minorant of the binary kl."""

from typing import final

from ..numerics.rounding import Constant, ceil_log, ceil_sqrt
from .squared import Quadratic


@final
class Pinsker(Quadratic):
    r""":math:`r = L + \sqrt{b/2}`; the companion paper's constant is :math:`2\sqrt m`."""

    name = "pinsker"
    scale = 2.0

    def moment(self, m: int, power: float | None, constant: str) -> Constant:
        if power is None and constant == "paper":
            value = ceil_sqrt(4 * m)
            return Constant(value, ceil_log(value))
        return super().moment(m, power, constant)
