"""Ipopt with hand-written derivatives."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """Ipopt with hand-written derivatives."""

    name = "cyipopt"
