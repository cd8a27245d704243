r"""Nonlinear programming through CasADi, whose wheel brings an Ipopt of its own: nothing is compiled.

The lifted model (:mod:`pacb_models.models.lifted`) in CasADi's symbols, with objective and constraints multiplied by
the factors of :mod:`pacb_models.models.scaling`. CasADi derives sparse first and second derivatives and hands all of it
to Ipopt.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pacb_models.errors import InputError
from pacb_models.models.algebra import Algebra
from pacb_models.models.lifted import values_at, write
from pacb_models.models.limits import box
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver

from ..options import check_options, check_own
from .interior_point import NO_FILE, SETTINGS, Run, SolveFrom, minimise

#: How CasADi calls Ipopt's return codes.
CODES: dict[str, int] = {
    "Solve_Succeeded": 0,
    "Solved_To_Acceptable_Level": 1,
    "Infeasible_Problem_Detected": 2,
    "Search_Direction_Becomes_Too_Small": 3,
    "Diverging_Iterates": 4,
    "User_Requested_Stop": 5,
    "Feasible_Point_Found": 6,
    "Maximum_Iterations_Exceeded": -1,
    "Restoration_Failed": -2,
    "Error_In_Step_Computation": -3,
    "Maximum_CpuTime_Exceeded": -4,
    "Maximum_WallTime_Exceeded": -5,
    "Not_Enough_Degrees_Of_Freedom": -10,
    "Invalid_Problem_Definition": -11,
    "Invalid_Option": -12,
    "Invalid_Number_Detected": -13,
    "Unrecoverable_Exception": -100,
    "NonIpopt_Exception_Thrown": -101,
    "Insufficient_Memory": -102,
    "Internal_Error": -199,
}

#: How CasADi calls the numbers of evaluations.
CALLS = {"function_evaluations": "n_call_nlp_f", "gradient_evaluations": "n_call_nlp_grad_f"}


class CasadiAlgebra(Algebra):
    """CasADi's symbols, with what it calls the limits of variables and constraints."""

    def __init__(self, problem: BoundProblem) -> None:
        import casadi

        super().__init__(problem, problem.prior)
        self.casadi, self.log, self.sqrt = casadi, casadi.log, casadi.sqrt
        self.ratios = casadi.SX.sym("w", problem.size)
        lower, upper = box(problem)
        self.variables: list[Any] = [self.ratios]
        self.constraints: list[Any] = []
        self.limits: dict[str, list[float]] = {
            "lbx": (lower / problem.prior).tolist(),
            "ubx": (upper / problem.prior).tolist(),
            "lbg": [],
            "ubg": [],
        }

    def mean(self, terms: Any) -> Any:
        return self.casadi.dot(self.casadi.DM(self.prior), terms)

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Any:
        self.variables.append(self.casadi.SX.sym(name))
        self.limits["lbx"].append(-math.inf if lower is None else lower)
        self.limits["ubx"].append(math.inf if upper is None else upper)
        return self.variables[-1]

    def constrain(self, name: str, difference: Any, equality: bool, scale: float) -> None:
        self.constraints.append(scale * difference)
        self.limits["lbg"].append(0.0)
        self.limits["ubg"].append(0.0 if equality else math.inf)


class Casadi(Solver):
    """The Ipopt in CasADi's wheel, on CasADi's symbols.

    Options
    -------
    start, starts, seed, max_iterations, time_limit : the common options
        As for every solver; see :mod:`pacb_models.solvers.options`. Ipopt looks at the time between its iterations.
    options : dict, optional
        Ipopt's own options, for instance ``{"tol": 1e-10}``; they override ours.

    ``details`` has Ipopt's return codes, one per start, and ``function_evaluations`` and ``gradient_evaluations`` of
    all starts together.
    """

    name = "casadi"
    needs = ("model",)
    honours = ("average", "weights")
    requires = ("casadi",)
    install = "pip install 'pacb-models[solvers]', or pip install casadi"
    keeps_time_limit = True

    def run(
        self,
        problem: BoundProblem,
        *,
        start: object = None,
        starts: int = 1,
        seed: int = 0,
        time_limit: float | None = None,
        max_iterations: int = 3000,
        options: dict[str, Any] | None = None,
    ) -> Outcome:
        common = check_options(problem, start, starts, seed, max_iterations=max_iterations, time_limit=time_limit)
        ours = NO_FILE | SETTINGS | {"nlp_scaling_method": "none", "max_iter": common.max_iterations}
        counts = dict.fromkeys(CALLS, 0)
        outcome = minimise(problem, common, partial(_prepare, problem, ours | check_own(options, "Ipopt's"), counts))
        outcome.message = outcome.message.replace("Ipopt", "CasADi's Ipopt")
        outcome.details.update(counts)
        return outcome


def _prepare(problem: BoundProblem, settings: dict[str, Any], counts: dict[str, int]) -> SolveFrom:
    import casadi

    algebra = CasadiAlgebra(problem)
    objective = algebra.factors.objective * write(algebra)
    x, g = casadi.vertcat(*algebra.variables), casadi.vertcat(*algebra.constraints)
    quiet = {"print_time": False, "error_on_fail": False, "show_eval_warnings": False}

    def solve_from(q: np.ndarray, suited: dict[str, Any]) -> Run:
        options = quiet | {"ipopt": suited | settings}
        try:
            solver = casadi.nlpsol("bound", "ipopt", {"x": x, "f": objective, "g": g}, options)
        except RuntimeError as refusal:
            reason = str(refusal).strip().rpartition("\n")[2]
            raise InputError(f"options are refused by CasADi: {reason}") from None
        first = np.append(q / problem.prior, list(values_at(problem, q).values.values()))
        answer, stats = solver(x0=first, **algebra.limits), solver.stats()
        for count, name in CALLS.items():
            counts[count] += stats[name]
        weights = np.asarray(answer["x"]).ravel()[: problem.size] * problem.prior
        return Run(weights, CODES[stats["return_status"]], stats["iter_count"])

    return solve_from


SOLVER = Casadi()
