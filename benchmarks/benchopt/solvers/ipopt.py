"""Ipopt on a Pyomo model."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """Ipopt on a Pyomo model."""

    name = "ipopt"
    parameters = {"formulation": ["lifted"]}
