"""Spectral projected gradients in the metric of the prior."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """Spectral projected gradients in the metric of the prior."""

    name = "spg"
