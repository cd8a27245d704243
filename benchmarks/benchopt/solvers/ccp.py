"""The convex–concave procedure."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """The convex–concave procedure."""

    name = "ccp"
    parameters = {"variant": ["one-sided"]}
