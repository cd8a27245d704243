"""Pairwise Frank–Wolfe."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """Pairwise Frank–Wolfe."""

    name = "frank-wolfe"
