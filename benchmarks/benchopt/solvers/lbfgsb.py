"""SciPy's L-BFGS-B on normalised weights."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """SciPy's L-BFGS-B on normalised weights."""

    name = "lbfgsb"
