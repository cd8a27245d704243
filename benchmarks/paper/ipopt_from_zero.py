"""Ipopt as the paper may have run it: its formulation, every option at its default, every variable started at zero.

The paper names no starting point; AMPL starts variables at zero unless it is told otherwise.
"""

from __future__ import annotations

import numpy as np

from pacb_models import BoundProblem
from pacb_models.algebraic.pyomo_models import pyomo_model
from pacb_models.native import find_asl_library, pynumero_problem, use_environment_folders
from solvers.cyipopt_nlp import set_options
from solvers.interior_point import QUIET, ending


def available() -> bool:
    """Whether cyipopt and PyNumero's library are here (an ``ipopt`` program alone will not do)."""
    from importlib.util import find_spec

    use_environment_folders()
    return find_spec("cyipopt") is not None and find_asl_library() is not None


def status_from_zero(problem: BoundProblem) -> str:
    """How Ipopt ends from there."""
    from pyomo.contrib.pynumero.interfaces.cyipopt_interface import CyIpoptNLP

    nlp = pynumero_problem(pyomo_model(problem, "direct"))
    ipopt = CyIpoptNLP(nlp)
    try:
        set_options(ipopt, QUIET)
        _, info = ipopt.solve(np.zeros(nlp.n_primals()))
    finally:
        ipopt.close()
    return ending(info["status"]).status
