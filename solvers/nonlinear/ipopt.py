"""Ipopt on the Pyomo models: through cyipopt and PyNumero, or through an ``ipopt`` program.

The lifted formulation with our options and scaling is the one to use. The substituted formulation and
``defaults=True``, which leaves every option at Ipopt's default, are there to show what happens without: together they
are the set-up with which the paper reports failures for most kl problems.

Pyomo's own ``SolverFactory("cyipopt")`` is not used, since it reports a time limit as an iteration limit (and cannot
report the wall-clock limit at all): return codes are read from Ipopt itself.
"""

import importlib.util
import io
import math
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from pacb_models.direct import DirectProblem
from pacb_models.environment import use_environment_folders
from pacb_models.errors import InputError, SolverUnavailableError
from pacb_models.models.direct_bounds import units_of
from pacb_models.models.pyomo_models import pyomo_model, set_start
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solver import DIRECT_MODEL, MODEL, lacking

from ..options import FromStarts, Software
from .interior_point import DEFAULT_BARRIER, SETTINGS, STATUS_MAP, InteriorPoint, Prepared, Run, SolveFrom, Watch
from .native import find_asl_library, find_ipopt_executable, pynumero_problem


class PyomoIpopt(InteriorPoint):
    """Ipopt on the Pyomo model of a bound minimisation.

    Options
    -------
    formulation : {"lifted", "substituted"}
        See :mod:`pacb_models.models.pyomo_models`; the substituted one has a dense Hessian and is for small H.
    start, starts, seed, max_iterations, time_limit, trace : see :mod:`pacb_models.solvers.options`
        Ipopt looks at the time between its iterations. Through a program there is no trace.
    options : dict, optional
        Ipopt's own options, for instance ``{"tol": 1e-10}``; they override ours.
    defaults : bool
        Leave every other option at Ipopt's default and start from the prior.
    interface : {"auto", "cyipopt", "executable"}
        How Ipopt is reached. ``auto`` prefers cyipopt, which hands the model over in memory, and takes an ``ipopt``
        program on ``PATH`` where cyipopt or PyNumero's library is missing.

    ``details`` lists Ipopt's return codes, one per start.
    """

    name = "ipopt"
    needs = MODEL
    requires = ("pyomo",)

    @dataclass(kw_only=True)
    class Options(FromStarts, Software):
        formulation: Literal["lifted", "substituted", "squares"] = "lifted"
        defaults: bool = False
        interface: Literal["auto", "cyipopt", "executable"] = "auto"
        trace: bool = False

        def checked(self, problem: Problem) -> Self:
            if self.defaults and self.start is None:
                self.start = problem.prior
            if isinstance(problem, DirectProblem):
                self.starts = 1
            return super().checked(problem)

    def unsupported(self, problem: Problem) -> str | None:
        # Direct bounds have a model of another kind.
        return lacking(problem, *(MODEL if lacking(problem, "problem.worst_case") else DIRECT_MODEL))

    def missing(self) -> str | None:
        return super().missing() or (cyipopt_missing() if find_ipopt_executable() is None else None)

    def prepare(self, problem: Any, options: Options) -> Prepared:
        settings = (
            (DEFAULT_BARRIER if options.defaults else SETTINGS) | {"max_iter": options.max_iterations} | options.own
        )
        if isinstance(problem, DirectProblem):
            if (absent := cyipopt_missing()) is not None:
                raise SolverUnavailableError(f"direct bounds need Ipopt's multipliers, through cyipopt: {absent}.")
            return Prepared(_by_multipliers(problem, settings), {})
        program = _choose_interface(options.interface)
        if program is not None and options.trace:
            raise InputError("trace is True, but an ipopt program reports no iterates; use interface='cyipopt'.")
        model = pyomo_model(problem, options.formulation)
        if program is not None:
            return Prepared(_through_program(program, model, problem, settings), {})
        return Prepared(_through_cyipopt(model, problem, settings, options.trace), {})


def _choose_interface(interface: str) -> Path | None:
    """Return the program to call; None for cyipopt."""
    use_environment_folders()
    absent, program = cyipopt_missing(), find_ipopt_executable()
    if interface == "executable" and program is None:
        raise SolverUnavailableError("interface is 'executable', but there is no program ipopt on PATH.")
    if interface == "executable" or (interface == "auto" and absent and program):
        return program
    if absent is not None:
        raise SolverUnavailableError(f"interface is {interface!r}, but it cannot be used: {absent}.")
    return None


def cyipopt_missing() -> str | None:
    """Return what keeps Pyomo models from Ipopt without an ``ipopt`` program; looks without importing native code."""
    absent = [module for module in ("cyipopt", "packaging") if importlib.util.find_spec(module) is None]
    absent += ["PyNumero's library libpynumero_ASL"] if find_asl_library() is None else []
    found = f"neither a program ipopt nor {', '.join(absent)} found"
    remedy = "`make setup` builds what is missing, or `conda install -c conda-forge ipopt`"
    return f"{found}: {remedy}" if absent else None


def _by_multipliers(problem: DirectProblem, settings: dict[str, Any]) -> SolveFrom:
    """Solve a direct bound: a convex model with a start of its own; the posterior is what Ipopt's multipliers say."""
    from pyomo.contrib.pynumero.interfaces.cyipopt_interface import CyIpoptNLP

    model, units = problem.pyomo_model(), units_of(problem)
    nlp, watch = pynumero_problem(model), Watch(problem, [], False)
    rows = nlp.get_constraint_indices(list(model.above.values()))

    def solve_from(q: np.ndarray, suited: dict[str, Any]) -> Run:
        own = suited | DEFAULT_BARRIER | {"tol": 1e-11} | settings | {"nlp_scaling_method": "gradient-based"}
        found = watch.run(CyIpoptNLP(nlp, intermediate_callback=watch.after_iteration), nlp.init_primals(), own)
        multipliers = np.zeros(units.risks.size)
        multipliers[list(model.above.keys())] = np.abs(watch.told["mult_g"][rows])
        return found._replace(weights=units.expand(multipliers))

    return solve_from


def _through_cyipopt(model: Any, problem: BoundProblem, settings: dict[str, Any], trace: bool) -> SolveFrom:
    """Return the model, read by PyNumero once; every run starts from its own point."""
    from pyomo.contrib.pynumero.interfaces.cyipopt_interface import CyIpoptNLP

    nlp = pynumero_problem(model)
    variables = nlp.get_pyomo_variables()
    watch = Watch(problem, nlp.get_primal_indices(list(model.q.values())), trace)

    def solve_from(q: np.ndarray, suited: dict[str, Any]) -> Run:
        set_start(model, problem, q)
        ipopt = CyIpoptNLP(nlp, intermediate_callback=watch.after_iteration)
        ipopt.set_problem_scaling(*ipopt.scaling_factors())
        return watch.run(ipopt, np.array([variable.value for variable in variables]), suited | settings)

    return solve_from


def _through_program(program: Path, model: Any, problem: BoundProblem, settings: dict[str, Any]) -> SolveFrom:
    """Return the model, written to a file for each run of an ``ipopt`` program"""
    import pyomo.environ as pyo

    def solve_from(q: np.ndarray, suited: dict[str, Any]) -> Run:
        started, seconds = time.perf_counter(), suited.get("max_wall_time", math.inf)
        set_start(model, problem, q)
        solver = pyo.SolverFactory("ipopt", executable=str(program))
        # It prints what :func:`read_log` reads: the number of iterations and the reason of the end.
        options = suited | settings | {"print_level": 3}
        if "max_wall_time" in options and solver.version()[:2] < (3, 14):
            options["max_cpu_time"] = options.pop("max_wall_time")
        # "OF_" sends an option through a file, the only way that takes every option.
        solver.options.update({f"OF_{name}": value for name, value in options.items()})
        printed, results = _run_program(solver, model, seconds)
        stopped = results is None and time.perf_counter() - started >= seconds
        code, iterations = (-5, None) if stopped else read_log(printed)
        if results is not None and len(results.solution) > 0:
            model.solutions.load_from(results, ignore_invalid_labels=True)
            q = np.array([variable.value for variable in model.q.values()])
        return Run(q, code, iterations)

    return solve_from


def _run_program(solver: Any, model: Any, seconds: float) -> tuple[str, Any]:
    """Return what the program printed, and Pyomo's results; None where it ended without any, or had to be stopped."""
    from pyomo.common.errors import ApplicationError
    from pyomo.common.log import LoggingIntercept
    from pyomo.common.tempfiles import TempfileManager

    complaints = io.StringIO()
    # Pyomo itself leaves the files of a run behind when it raises.
    with tempfile.TemporaryDirectory() as folder, LoggingIntercept(complaints, "pyomo"), TempfileManager:
        log = Path(folder) / "ipopt.log"
        # Ipopt looks at its own limit between iterations; Pyomo stops a program that takes a second longer.
        limit = {"timelimit": seconds} if math.isfinite(seconds) else {}
        try:
            results = solver.solve(model, load_solutions=False, logfile=str(log), **limit)
        except (ApplicationError, ValueError, subprocess.TimeoutExpired):
            # Raised for a failing program, an unreadable result file, and a program that had to be stopped.
            results = None
        printed = log.read_text() if log.exists() else ""
    return printed or complaints.getvalue(), results


def read_log(printed: str) -> tuple[int, int | None]:
    """Return Ipopt's return code and number of iterations, from what the program printed."""
    counted = re.search(r"Number of Iterations\.*:\s*(\d+)", printed)
    reason = re.search(r"EXIT: (.*)", printed)
    refused = re.search(r"Tried to set Option: (\w+)", printed)
    if refused is not None:
        raise InputError(f"options[{refused[1]!r}] is refused by Ipopt; see Ipopt's list of options.")
    if reason is None:
        raise RuntimeError(f"the program ipopt did not run to its end; it printed: {printed.strip()[-300:]!r}")
    codes = (code for code, known in STATUS_MAP.items() if reason[1].startswith(known.printed))
    return next(codes, -199), int(counted[1]) if counted else None


SOLVER = PyomoIpopt()
