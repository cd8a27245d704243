"""SciPy's SLSQP."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """SciPy's SLSQP."""

    name = "slsqp"
