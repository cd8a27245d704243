"""The paper's fixed-point scheme."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """The paper's fixed-point scheme."""

    name = "fixed-point"
