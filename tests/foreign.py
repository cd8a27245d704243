"""A third party's distance, which has values and derivatives but no algebraic model."""

from __future__ import annotations

import math

from pacb_models.distances import Distance, Inverse


class Doubled(Distance):
    """r = L + 2b, with the linear distance's constant: the linear bound of a quarter of the sample."""

    name = "doubled"

    def derivatives(self, L, budget):
        return Inverse(L + 2.0 * budget, 1.0, 2.0, 0.0, 0.0, 0.0)

    def log_constant(self, m, divergence, order, constant):
        return -math.log(4 * m)

    def constant(self, m, divergence, order, constant):
        return 1 / (4 * m)
