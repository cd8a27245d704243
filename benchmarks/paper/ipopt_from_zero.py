"""Ipopt as the paper may have run it: its formulation, every option at its default, every variable started at zero.

The paper names no starting point; AMPL starts variables at zero unless it is told otherwise.
"""

from __future__ import annotations

import numpy as np

from pacb_models import BoundProblem
from pacb_models.models.pyomo_models import pyomo_model
from pacb_models.solvers.nonlinear.interior_point import QUIET, ending, set_options
from pacb_models.solvers.nonlinear.ipopt import cyipopt_missing
from pacb_models.solvers.nonlinear.native import pynumero_problem


def can_start_from_zero() -> bool:
    """Whether cyipopt and PyNumero's library are here (an ``ipopt`` program alone will not do)."""
    return cyipopt_missing() is None


def status_from_zero(problem: BoundProblem) -> str:
    """How Ipopt ends from there."""
    from pyomo.contrib.pynumero.interfaces.cyipopt_interface import CyIpoptNLP

    nlp = pynumero_problem(pyomo_model(problem, "substituted"))
    ipopt = CyIpoptNLP(nlp)
    try:
        set_options(ipopt, QUIET)
        _, info = ipopt.solve(np.zeros(nlp.n_primals()))
    finally:
        ipopt.close()
    return ending(info["status"]).status
