"""The Ipopt inside CasADi's wheel."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """The Ipopt inside CasADi's wheel."""

    name = "casadi"
