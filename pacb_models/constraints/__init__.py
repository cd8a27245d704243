"""Constraints on the posterior: what they say, and the set of posteriors that keep them.

.. math:: Q = \\{q : \\textstyle\\sum_i q_i = 1,\\; lo \\le q \\le up,\\; A q \\le b\\}

with caps and floors, averages :math:`a \\cdot q \\le b`, and limits on the number or total size of the classifiers that
have weight. **The bound stays valid whatever the constraints**, which may depend on the sample: it holds for all
posteriors at once. **A constraint itself is about empirical averages** and says nothing of true ones.
"""

from .kinds import Average, Constraint, Support, Weights, average, support, weights
from .posteriors import Posteriors

__all__ = ["Average", "Constraint", "Posteriors", "Support", "Weights", "average", "support", "weights"]
