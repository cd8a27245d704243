"""Solvers of other packages, by the name they are registered under."""

from benchmark_utils.registered import RegisteredSolver

from pacb_models.registry import solver_names


class Solver(RegisteredSolver):
    """``-s "other[registered=theirs]"`` runs what another package registers."""

    name = "other"
    parameters = {"registered": solver_names()}
