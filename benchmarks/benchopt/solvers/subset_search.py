"""The paper's Algorithm 1, on all ordered supports."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """The paper's Algorithm 1, on all ordered supports."""

    name = "subset-search"
