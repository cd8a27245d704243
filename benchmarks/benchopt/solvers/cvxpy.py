"""Convex bounds by Clarabel or SCS through CVXPY."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """Convex bounds by Clarabel or SCS through CVXPY."""

    name = "cvxpy"
    parameters = {"backend": ["CLARABEL"]}
