"""Minimise PAC-Bayesian bounds over a finite set of classifiers.

>>> import pacb_models as pm
>>> problem = pm.BoundProblem([0.12, 0.15, 0.31], m=549, delta=0.05, distance="kl")
>>> solution = pm.solve(problem)
>>> problem.bound(solution.posterior) == solution.bound
True
"""

import lazy_loader

__version__ = "0.4.0"

# The public names and their modules are those of __init__.pyi. A module is imported when a name of it is first used:
# nobody waits for NumPy or scikit-learn who does not need them, and ``pacb`` can be interrupted while they load.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
