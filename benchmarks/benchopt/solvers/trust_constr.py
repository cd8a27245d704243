"""SciPy's trust-constr."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """SciPy's trust-constr."""

    name = "trust-constr"
