"""SCIP, a global method that returns a lower bound."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """SCIP, a global method that returns a lower bound."""

    name = "scip"
