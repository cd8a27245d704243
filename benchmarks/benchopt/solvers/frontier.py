"""The global minimum along the frontier between empirical risk and divergence, certified."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """The global minimum along the frontier between empirical risk and divergence, certified."""

    name = "frontier"
