"""Bound minimisations as algebraic models: CVXPY for the convex ones, Pyomo for all, and how to scale them."""
