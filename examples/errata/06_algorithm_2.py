"""Algorithm 2: after the break it uses the mean and the root of the support that has just failed."""

import numpy as np

import pacb_models as pm

risks, m, delta = np.array([0.1, 0.2, 0.5]), 100, 0.05
H = risks.size


def weights(support):
    """The printed weights for the first classifiers, with the factor 1/H."""
    first = risks[:support]
    return (1 + (first.mean() - first) / np.sqrt(H / (support * 4 * m * delta) - first.var())) / H


failed = weights(3)
assert failed.min() < 0  # so the algorithm stops, and keeps two classifiers
returned = failed[:2]
optimum = pm.solve(pm.BoundProblem(risks, m=m, delta=delta, distance="linear")).posterior

print("returned by Algorithm 2 ", returned.round(4), "with the sum", returned.sum().round(4))
print("the optimum             ", optimum.round(4))
