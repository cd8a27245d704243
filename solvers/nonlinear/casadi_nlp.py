r"""Nonlinear programming through CasADi, whose wheel brings an Ipopt of its own: nothing is compiled.

CasADi derives sparse first and second derivatives of the lifted model (:mod:`pacb_models.models.casadi_models`) and
hands all of it to one of its plugins.

Ipopt is the one to use; the others are sequential quadratic programming, for comparison. ``sqpmethod`` has been seen to
report "Solve_Succeeded" at a bound .2 above the minimum, which is why claims are checked.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pacb_models.errors import InputError
from pacb_models.models.casadi_models import CasadiAlgebra
from pacb_models.models.lifted import box, values_at, write
from pacb_models.problem import BoundProblem
from pacb_models.solver import MODEL

from ..options import FromStarts, Software
from .interior_point import NO_FILE, SETTINGS, STATUS_MAP, InteriorPoint, Prepared, Run

#: What CasADi's plugins return, and Ipopt's code of the same meaning: Ipopt's own names, and those of sleqp.
CODES: dict[str, int] = {each.name: code for code, each in STATUS_MAP.items()}
CODES |= {"optimal": 0, "infeasible": 2, "unbounded": 4, "deadpoint": 3, "iteration limit": -1, "time limit": -5}

#: How CasADi counts evaluations, which depends on the plugin.
CALLS = {
    "function_evaluations": ("n_call_nlp_f", "n_call_nlp_fg"),
    "gradient_evaluations": ("n_call_nlp_grad_f", "n_call_nlp_jac_fg"),
}


class Casadi(InteriorPoint):
    """A nonlinear programming code of CasADi's, by default the Ipopt in its wheel.

    Options
    -------
    plugin : {"ipopt", "sqpmethod", "sleqp"}
        ``sqpmethod`` keeps dense matrices and is for small H; ``sleqp`` is in CasADi's wheels for Linux.
    start, starts, seed, max_iterations, time_limit : see :mod:`pacb_models.solvers.options`
        Ipopt looks at the time between its iterations, the others at the end of a start.
    options : dict, optional
        The plugin's own options, for instance ``{"tol": 1e-10}`` for Ipopt; they override ours.

    ``details`` has the return codes, in Ipopt's numbers, one per start, and of all starts together
    ``function_evaluations`` and ``gradient_evaluations``.
    """

    name = "casadi"
    needs = MODEL
    requires = ("casadi",)
    install = "pip install 'pacb-models[solvers]', or pip install casadi"

    @dataclass(kw_only=True)
    class Options(FromStarts, Software):
        plugin: Literal["ipopt", "sqpmethod", "sleqp"] = "ipopt"

    def prepare(self, problem: BoundProblem, options: Options) -> Prepared:
        import casadi

        ratios = casadi.SX.sym("w", problem.size)
        algebra = CasadiAlgebra(problem, ratios)
        objective = algebra.factors.objective * write(algebra)
        x, g = casadi.vertcat(ratios, *algebra.variables.values()), casadi.vertcat(*algebra.constraints)
        # Terms of a steep divergence (KL) have no value at zero, and some plugins evaluate at their bounds.
        smallest, (lower, upper) = 1e-30 if problem.divergence_function.steep else 0.0, box(problem)
        limits = algebra.limits | {
            "lbx": [*np.maximum(lower / problem.prior, smallest).tolist(), *algebra.limits["lbx"]],
            "ubx": [*(upper / problem.prior).tolist(), *algebra.limits["ubx"]],
        }
        counts = dict.fromkeys(CALLS, 0)

        def solve_from(q: np.ndarray, suited: dict[str, Any]) -> Run:
            model, settings = {"x": x, "f": objective, "g": g}, _settings(options, suited)
            try:
                solver = casadi.nlpsol("bound", options.plugin, model, settings)
            except RuntimeError as refusal:
                reason = str(refusal).strip().rpartition("\n")[2]
                raise InputError(f"options or plugin {options.plugin!r} are refused by CasADi: {reason}") from None
            first = [*(q / problem.prior), *values_at(problem, q).values()]
            try:
                answer = solver(x0=first, **limits)
            except RuntimeError:
                # sleqp gives up where a function has no value.
                return Run(q, CODES["Invalid_Number_Detected"], None)
            stats = solver.stats()
            for count, names in CALLS.items():
                counts[count] += sum(int(stats.get(name, 0)) for name in names)
            weights = np.asarray(answer["x"]).ravel()[: problem.size] * problem.prior
            return Run(weights, CODES.get(stats["return_status"], -199), stats.get("iter_count"))

        return Prepared(solve_from, counts, "CasADi's Ipopt" if options.plugin == "ipopt" else options.plugin)


def _settings(options: Casadi.Options, suited: dict[str, Any]) -> dict[str, Any]:
    """Return the options that CasADi is given: its own, and those of the plugin."""
    quiet, most = {"print_time": False, "error_on_fail": False, "show_eval_warnings": False}, options.max_iterations
    if options.plugin == "ipopt":
        ours = suited | NO_FILE | SETTINGS | {"nlp_scaling_method": "none", "max_iter": most}
        return quiet | {"ipopt": ours | options.own}
    if options.plugin == "sqpmethod":
        qp = {"print_iter": False, "print_header": False, "error_on_fail": False}
        quiet |= {"print_header": False, "print_iteration": False, "print_status": False}
        ours = {"qpsol": "qrqp", "qpsol_options": qp, "max_iter": most, "tol_du": 1e-8, "tol_pr": 1e-10}
        return quiet | ours | options.own
    return quiet | {"max_iter": most, "print_level": 0} | options.own


SOLVER = Casadi()
