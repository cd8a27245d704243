r"""Nonlinear programming through CasADi, whose wheel brings an Ipopt of its own: nothing is compiled.

The lifted model (:mod:`pacb_models.models.lifted`) in CasADi's symbols, with objective and constraints multiplied by
the factors of :mod:`pacb_models.models.scaling`. CasADi derives sparse first and second derivatives and hands all of it
to one of its plugins.

Ipopt is the one to use. ``sqpmethod`` and ``sleqp`` are sequential quadratic programming, for comparison:
``sqpmethod`` has been seen to report "Solve_Succeeded" at a bound .2 above the minimum, which is why claims are
checked.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from pacb_models.errors import InputError
from pacb_models.models.algebra import Algebra
from pacb_models.models.lifted import values_at, write
from pacb_models.models.limits import box
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver
from pacb_models.validation import check_choice, check_count

from ..options import deadline_after
from .interior_point import NO_FILE, QUIET, SETTINGS, Run, Search, SolveFrom, Start, first_start, options_for

PLUGINS = ("ipopt", "sqpmethod", "sleqp")

#: What CasADi's plugins return, and Ipopt's code of the same meaning.
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
    # sleqp
    "optimal": 0,
    "infeasible": 2,
    "unbounded": 4,
    "deadpoint": 3,
    "iteration limit": -1,
    "time limit": -5,
}


#: How CasADi counts evaluations, which depends on the plugin.
CALLS = {
    "function_evaluations": ("n_call_nlp_f", "n_call_nlp_fg"),
    "gradient_evaluations": ("n_call_nlp_grad_f", "n_call_nlp_jac_fg"),
}

#: The smallest q/p with a steep divergence (KL), whose terms have no value at zero: some plugins evaluate at their
#: bounds.
SMALLEST_RATIO = 1e-30


class CasadiAlgebra(Algebra):
    """CasADi's symbols, with what it calls the limits of variables and constraints."""

    def __init__(self, problem: BoundProblem) -> None:
        import casadi

        super().__init__(problem, problem.prior)
        self.log, self.sqrt = casadi.log, casadi.sqrt
        self.ratios = casadi.SX.sym("w", problem.size)
        smallest = SMALLEST_RATIO if problem.divergence_function.steep else 0.0
        lower, upper = box(problem)
        self.variables: list[Any] = [self.ratios]
        self.constraints: list[Any] = []
        self.limits: dict[str, list[float]] = {
            "lbx": np.maximum(lower / problem.prior, smallest).tolist(),
            "ubx": (upper / problem.prior).tolist(),
            "lbg": [],
            "ubg": [],
        }

    def mean(self, terms: Any) -> Any:
        import casadi

        return casadi.dot(casadi.DM(self.prior), terms)

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Any:
        import casadi

        self.variables.append(casadi.SX.sym(name))
        self.limits["lbx"].append(-math.inf if lower is None else lower)
        self.limits["ubx"].append(math.inf if upper is None else upper)
        return self.variables[-1]

    def constrain(self, name: str, difference: Any, equality: bool, scale: float) -> None:
        self.constraints.append(scale * difference)
        self.limits["lbg"].append(0.0)
        self.limits["ubg"].append(0.0 if equality else math.inf)


class Model:
    """A nonlinear program in CasADi's form; its variables are the ratios and those of the lifted model."""

    def __init__(self, problem: BoundProblem) -> None:
        import casadi

        algebra = CasadiAlgebra(problem)
        objective = algebra.factors.objective * write(algebra)
        self.problem, self.limits = problem, algebra.limits
        x, g = casadi.vertcat(*algebra.variables), casadi.vertcat(*algebra.constraints)
        self.program = {"x": x, "f": objective, "g": g}

    def start(self, posterior: np.ndarray) -> np.ndarray:
        """The variables at a posterior."""
        return np.append(posterior / self.problem.prior, list(values_at(self.problem, posterior).values.values()))


class Casadi(Solver):
    """A nonlinear programming code of CasADi's, by default the Ipopt in its wheel."""

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
        plugin: str = "ipopt",
        start: object = None,
        starts: int = 1,
        seed: int = 0,
        time_limit: float | None = None,
        max_iterations: int = 3000,
        options: dict[str, Any] | None = None,
    ) -> Outcome:
        """Minimise the bound with one of CasADi's nonlinear solvers.

        Parameters
        ----------
        problem : BoundProblem
        plugin : {"ipopt", "sqpmethod", "sleqp"}
            ``sqpmethod`` keeps dense matrices and is for small H; ``sleqp`` is in CasADi's wheels for Linux.
        start, starts, seed, time_limit, max_iterations
            As for every solver; see :mod:`pacb_models.solvers.options`. Ipopt looks at the time between its iterations,
            the others at the end of a start.
        options : dict, optional
            The plugin's own options, for instance ``{"tol": 1e-10}`` for Ipopt; they override ours.

        Returns
        -------
        Outcome
            ``details`` lists, per start, the return code, status, bound, iterations and seconds, and
            ``function_evaluations`` and ``gradient_evaluations`` of all starts together.
        """
        check_choice("plugin", plugin, PLUGINS)
        if options is not None and not isinstance(options, dict):
            raise InputError(f"options is {options!r}; it must be a dict of the plugin's options.")
        search = Search(starts, seed, deadline_after(time_limit))
        limit = check_count("max_iterations", max_iterations, least=0)
        counts = dict.fromkeys(CALLS, 0)

        def prepare() -> SolveFrom:
            built = Model(problem)
            return lambda start, seconds: _solve(
                problem, built, plugin, start, _options(plugin, start, seconds, limit, options or {}), counts
            )

        outcome = search.run(problem, first_start(problem, start), prepare)
        outcome.message = outcome.message.replace("Ipopt", "CasADi's Ipopt" if plugin == "ipopt" else plugin)
        outcome.details.update(counts)
        return outcome


def _options(plugin: str, start: Start, seconds: float, limit: int, options: dict[str, Any]) -> dict[str, Any]:
    """The options that CasADi is given: its own, and those of the plugin."""
    quiet = {"print_time": False, "error_on_fail": False, "show_eval_warnings": False}
    if plugin == "ipopt":
        ours = SETTINGS | {"nlp_scaling_method": "none", "max_iter": limit}
        return quiet | {"ipopt": options_for(start, seconds, QUIET | NO_FILE | ours | options)}
    if plugin == "sqpmethod":
        qp = {"print_iter": False, "print_header": False, "error_on_fail": False}
        ours = {"qpsol": "qrqp", "qpsol_options": qp, "max_iter": limit, "tol_du": 1e-8, "tol_pr": 1e-10}
        return quiet | {"print_header": False, "print_iteration": False, "print_status": False} | ours | options
    return quiet | {"max_iter": limit, "print_level": 0} | options


def _solve(
    problem: BoundProblem,
    built: Model,
    plugin: str,
    start: Start,
    options: dict[str, Any],
    counts: dict[str, int],
) -> Run:
    import casadi

    started = time.perf_counter()
    try:
        solver = casadi.nlpsol("bound", plugin, built.program, options)
    except RuntimeError as refusal:
        reason = str(refusal).strip().rpartition("\n")[2]
        raise InputError(f"options or plugin {plugin!r} are refused by CasADi: {reason}") from None
    try:
        answer = solver(x0=built.start(start.posterior), **built.limits)
    except RuntimeError:
        # sleqp gives up where a function has no value.
        return Run(start.posterior, CODES["Invalid_Number_Detected"], None, time.perf_counter() - started)
    stats = solver.stats()
    for count, names in CALLS.items():
        counts[count] += sum(int(stats.get(name, 0)) for name in names)
    weights = np.asarray(answer["x"]).ravel()[: problem.size] * problem.prior
    code = CODES.get(stats["return_status"], -199)
    return Run(weights, code, stats.get("iter_count"), time.perf_counter() - started)


SOLVER = Casadi()
