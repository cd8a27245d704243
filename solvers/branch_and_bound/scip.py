"""SCIP: branch and bound, which proves how small the bound can be without knowing why.

The certificate of ``frontier`` rests on one argument, that every optimum lies on a curve. SCIP arrives at a lower bound
by an unrelated way; :func:`pacb_models.cross_check` sets the two against each other.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models.constraints import Support, Weights
from pacb_models.constraints.posteriors import FEASIBLE
from pacb_models.errors import InputError
from pacb_models.models.scip_models import LEAST_RISK, ScipModel, out_of_reach
from pacb_models.problem import RiskAndSize
from pacb_models.solution import Outcome
from pacb_models.solver import MODEL, Solver
from pacb_models.solving.judging import onto_simplex
from pacb_models.validation import check_posterior

from ..first_order import mirror
from ..fixed_points import fixed_point
from ..nonlinear.native import native_output_silenced
from ..options import DeclaredSolver, Software, best_start, nearest
from . import scip_worker

#: What SCIP's dual bound is lowered by. Its constraints hold to 1e-6 (``numerics/feastol``), and what it calls the
#: minimum has been seen up to 3e-6 *below* the true one; a dual bound above the true minimum has not been seen.
SCIP_TOLERANCE = 1e-6

#: What Python is started with: the worker as a file, which needs nothing of this package and starts the sooner.
COMMAND = ["-P", scip_worker.__file__]

#: SCIP's statuses and the status that each has here.
STATUS_MAP: dict[str, str] = {
    **dict.fromkeys(("optimal", "gaplimit"), "optimal"),
    **dict.fromkeys(("nodelimit", "totalnodelimit", "stallnodelimit"), "iteration_limit"),
    **dict.fromkeys(("inforunbd", "unbounded"), "numerical_error"),
    **{"timelimit": "time_limit", "memlimit": "error", "userinterrupt": "not_converged", "infeasible": "infeasible"},
}


class Scip(DeclaredSolver):
    """Branch and bound by SCIP, with a lower bound that it claims.

    To confirm a minimum, not to find it: χ² problems close in seconds up to a few hundred classifiers of different
    risk, KL and high Rényi orders far earlier end at the time limit, with the lower bound reached so far. SCIP runs in
    a process of its own, which it may end. Its weights are right to about 1e-3 and are polished by ``mirror``, under
    constraints by ``fixed-point``; the lower bound is SCIP's dual bound less its tolerance, and nothing in it is ours.

    Options
    -------
    start : array of shape (H,), optional
        A posterior that SCIP knows from the beginning; by default the best of the prior and a few Gibbs posteriors, and
        a few steps of ``mirror``.
    time_limit : float, optional
        Seconds of wall-clock time, after which the lower bound reached so far is reported.
    options : dict, optional
        SCIP's own parameters, for instance ``{"limits/gap": 1e-4, "limits/nodes": 1000}``.
    polish : bool
        False leaves the weights as SCIP has them.

    ``details`` has SCIP's own status, the number of nodes and SCIP's dual bound.
    """

    name = "scip"
    needs = MODEL
    honours = ("average", "weights", "support")
    requires = ("pyscipopt",)
    install = "pip install 'pacb-models[solvers]', or pip install pyscipopt"
    local = False

    @dataclass(kw_only=True)
    class Options(Software):
        start: Any = None
        polish: bool = True

    def run_with(self, problem: RiskAndSize, options: Options) -> Outcome:
        given, allowed = options.start, problem.posteriors
        first = _first(problem) if given is None else check_posterior(given, problem.size, "start")
        if allowed is not None and allowed.violation(first) > FEASIBLE:
            if allowed.support is not None:
                raise InputError("start breaks the problem's constraints; it must keep them.")
            first = nearest(problem, first)
        if given is None:
            # The model's units are those of the start, and its tolerances are best kept near a minimum.
            first = _polished(problem, first, 100, options.time_limit)
        if problem.distance_function.below_one and problem.bound(first) >= 1.0 - LEAST_RISK:
            # It is flat there, and the model has no point with r below one.
            return Outcome(first, "acceptable", "the bound rounds to 1 at the start; SCIP was not started.", 0)
        if (reason := out_of_reach(problem, first)) is not None:
            return Outcome(first, "numerical_error", f"{reason}.", 0)
        left = options.deadline - time.monotonic()
        if left <= 0.0:
            return Outcome(first, "time_limit", "the time limit was reached before SCIP was started.", 0)
        settings = {"limits/time": left} if math.isfinite(left) else {}
        started = time.perf_counter()
        model = ScipModel(problem, first)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "bound.cip")
            with native_output_silenced():
                model.scip.writeProblem(path, verbose=False)
            task = {"model": path, "start": model.start, "options": settings | options.own}
            # Seconds that the process may take beyond SCIP's own limit, for starting and building the model.
            answer = _ask(task, left + 10.0)
        elapsed = time.perf_counter() - started
        if isinstance(answer, str):
            return Outcome(first, "time_limit" if elapsed > left else "error", answer, None)
        return _outcome(model, first, answer, elapsed, options.polish)


def _first(problem: RiskAndSize) -> np.ndarray:
    """Return a posterior that keeps the problem's constraints: the best start, or the best on one support that can
    be."""
    posteriors = problem.posteriors
    if posteriors is None or posteriors.support is None:
        return best_start(problem)
    found = posteriors.cheapest_support(problem.risks, math.inf)
    return best_start(on_support(problem, found.x[problem.size :] > 0.5))


def _polished(
    problem: RiskAndSize, weights: np.ndarray, iterations: int, time_limit: float | None = None
) -> np.ndarray:
    """Return the weights after some iterations of ``mirror``, or of ``fixed-point``, where those make the bound
    smaller, or keep constraints that the weights break a little."""
    posteriors = problem.posteriors
    method: Solver = mirror.SOLVER if posteriors is None else fixed_point.SOLVER
    limited = posteriors is not None and posteriors.support is not None
    polished = on_support(problem, weights > 0.0) if limited else problem
    q = method.run(polished, start=weights, max_iterations=iterations, time_limit=time_limit).posterior
    assert q is not None
    broken = posteriors is not None and posteriors.violation(weights) > FEASIBLE
    return q if broken else min((q, weights), key=problem.bound)


def on_support(problem: RiskAndSize, held: np.ndarray) -> RiskAndSize:
    """Return the problem on some of its classifiers, without a limit on the support; the others stay, with a cap of
    zero."""
    others = [each for each in problem.constraints if not isinstance(each, Support)]
    return problem.replace(constraints=[*others, Weights(at_most=held.astype(float))])


def _ask(task: dict[str, Any], seconds: float) -> dict[str, Any] | str:
    """Return the worker's answer, or a sentence about why there is none."""
    timeout = seconds if math.isfinite(seconds) else None
    try:
        done = subprocess.run(
            [sys.executable, *COMMAND], input=json.dumps(task), capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return "the time limit was reached, and SCIP's process did not end by itself."
    if done.returncode < 0:
        return f"SCIP ended its process by signal {-done.returncode}."
    last, complaint = (said.strip().rpartition("\n")[2] for said in (done.stdout, done.stderr))
    if done.returncode == 0 and last:
        answer: dict[str, Any] = json.loads(last)
        return answer
    if "not a valid parameter" in complaint or "KeyError" in complaint:
        raise InputError(f"options has a parameter that SCIP refuses: {complaint}")
    return f"SCIP's process failed: {complaint}"


def _outcome(model: ScipModel, first: np.ndarray, answer: dict[str, Any], elapsed: float, polish: bool) -> Outcome:
    problem, word, values, dual = model.problem, answer["status"], answer["values"], float(answer["lower_bound"])
    status, message, weights = STATUS_MAP.get(word, "error"), f"SCIP: {word}.", first
    if values is not None:
        found = np.array([values[each.name] for each in model.weights]) * model.units
        if model.switches:
            found *= [values[each.name] > 0.5 for each in model.switches]
        q, _ = onto_simplex(found)
        weights = first if q is None else q
        weights = _polished(problem, weights, 1000) if polish else weights
    # SCIP's infinity is 1e20; a bound is never negative.
    lower = max(dual - SCIP_TOLERANCE * max(dual, 1.0), 0.0) if abs(dual) < 1e19 else None
    if lower is not None:
        gap = problem.bound(weights) - lower
        if status == "optimal" and gap > 10.0 * SCIP_TOLERANCE * max(dual, 1.0):
            message = f"SCIP closed the gap up to its tolerances, which leave {gap:.1g}."
        message += f" It says that no bound is below {lower:.9g}."
    details = {"scip_status": word, "dual_bound": dual, "nodes": answer["nodes"]}
    setup = max(elapsed - answer["seconds"], 0.0)
    return Outcome(weights, status, message, answer["nodes"], setup, claimed_lower_bound=lower, details=details)


SOLVER = Scip()
