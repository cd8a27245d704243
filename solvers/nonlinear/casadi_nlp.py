r"""Nonlinear programming through CasADi, whose wheel brings an Ipopt of its own: nothing is compiled.

The lifted problem of :mod:`pacb_models.algebraic.pyomo_models` in CasADi's symbols, in the variables :math:`w_i =
q_i/p_i`, with objective and constraints multiplied by the factors of :mod:`pacb_models.algebraic.scaling`; CasADi
derives sparse first and second derivatives and hands all of it to one of its plugins.

Ipopt is the one to use. ``sqpmethod`` and ``sleqp`` are sequential quadratic programming, for comparison:
``sqpmethod`` has been seen to report "Solve_Succeeded" at a bound .2 above the minimum, which is why claims are
checked.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from pacb_models.algebraic.scaling import scaling
from pacb_models.constants import DISTANCES
from pacb_models.distances import Squared
from pacb_models.errors import InputError
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver
from pacb_models.validation import check_choice, check_count

from ..limits import deadline_after
from .interior_point import QUIET, SETTINGS, Run, Search, SolveFrom, Start, first_start, options_for

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

#: The smallest q/p with the KL divergence, whose terms have no value at zero: some plugins evaluate at their bounds.
SMALLEST_RATIO = 1e-30


class Model(NamedTuple):
    """A nonlinear program in CasADi's form, with the point of its variables that belongs to a posterior."""

    program: dict[str, Any]
    #: Bounds of variables and constraints, as CasADi names them.
    limits: dict[str, Any]
    start: Any


def model(problem: BoundProblem) -> Model:
    """The lifted problem. Its variables are the ratios w, then D (or its root), L (unless every risk is zero), and r or
    y.
    """
    import casadi

    factors = scaling(problem)
    p, H = problem.prior, problem.size
    w: Any = casadi.SX.sym("w", H)
    D = casadi.SX.sym("D")
    smallest = SMALLEST_RATIO if problem.divergence == "kl" else 0.0
    variables, lower, upper = [w, D], [*np.full(H, smallest), problem.statistic(p)], [*np.full(H + 1, np.inf)]
    constraints: list[Any] = [factors.normalised * (casadi.sum1(p * w) - 1.0)]
    least, most = [0.0], [0.0]
    L: Any = 0.0
    if problem.risks.max() > 0.0:
        L = casadi.SX.sym("L")
        variables.append(L)
        lower.append(0.0)
        upper.append(1.0)
        constraints.append(factors.empirical_risk * (casadi.sum1(p * problem.risks * w) - L))
        least.append(0.0)
        most.append(0.0)
    if problem.divergence == "renyi":
        # D is the root of the statistic, which spans too many orders of magnitude itself.
        reached_divergence = casadi.sum1(p * (w / D) ** problem.order) - 1.0
    else:
        terms = w * casadi.log(w) if problem.divergence == "kl" else w**problem.order
        reached_divergence = casadi.sum1(p * terms) - D
    constraints.append(factors.divergence * reached_divergence)
    least.append(-np.inf)
    most.append(0.0)
    if problem.divergence == "kl":
        budget = (D + problem.coefficient) / problem.exponent
    else:
        budget = problem.coefficient * (D if problem.divergence == "renyi" else casadi.sqrt(D))
    if problem.distance in ("kl", "ch"):
        z = casadi.SX.sym("z")
        variables.append(z)
        lower.append(0.0)
        upper.append(1.0 if problem.distance == "kl" else np.inf)
        reached = _binary_kl(L, z) if problem.distance == "kl" else z + 2.0 / 9.0 * z**2 + 16.0 / 135.0 * z**3
        constraints.append(factors.budget * (reached - budget))
        least.append(0.0)
        most.append(np.inf)
        if problem.distance == "kl":
            constraints.append(factors.empirical_risk * (z - L))
            least.append(0.0)
            most.append(np.inf)
        objective = z if problem.distance == "kl" else L + casadi.sqrt(z)
    elif problem.distance == "linear":
        objective = L + budget
    else:
        assert isinstance(problem.distance_function, Squared)
        objective = L + casadi.sqrt(budget / problem.distance_function.scale)
    program = {"x": casadi.vertcat(*variables), "f": factors.objective * objective, "g": casadi.vertcat(*constraints)}
    return Model(program, {"lbx": lower, "ubx": upper, "lbg": least, "ubg": most}, lambda q: _point(problem, q))


def _binary_kl(a: Any, b: Any) -> Any:
    """kl(a, b) as an expression; where ``a`` is a number it is zero, and its term takes its limit."""
    import casadi

    if isinstance(a, float):
        return -casadi.log1p(-b)
    return a * casadi.log(a / b) + (1.0 - a) * casadi.log((1.0 - a) / (1.0 - b))


def _point(problem: BoundProblem, posterior: np.ndarray) -> np.ndarray:
    """The variables of :func:`model` at a posterior."""
    L, D = problem.empirical_risk(posterior), problem.statistic(posterior)
    bound = problem.outer(L, D)
    tail = [
        D ** (1.0 / problem.order) if problem.divergence == "renyi" else D,
        *([L] if problem.risks.max() > 0.0 else []),
    ]
    tail += {"kl": [bound], "ch": [(bound - L) ** 2]}.get(problem.distance, [])
    return np.append(posterior / problem.prior, tail)


class Casadi(Solver):
    """A nonlinear programming code of CasADi's, by default the Ipopt in its wheel."""

    name = "casadi"
    handles = DISTANCES
    needs = ("model",)
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
        start : array of shape (H,), optional
            The first posterior to start from; by default the best of the prior and a few Gibbs posteriors.
        starts : int
            Number of starting posteriors; the best point found is the solution.
        seed : int
            Of the random starts (the first start is not random).
        time_limit : float, optional
            Seconds of wall-clock time. Ipopt looks at it between its iterations; the others at the end of a start.
        max_iterations : int
            Per start.
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
            built = model(problem)
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
        return quiet | {"ipopt": options_for(start, seconds, QUIET | ours | options)}
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
