"""CVXPY's disciplined nonlinear programming."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """CVXPY's disciplined nonlinear programming."""

    name = "dnlp"
