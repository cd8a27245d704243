r"""CVXPY's disciplined nonlinear programming: the bound as one writes it down, handed to Ipopt or Uno.

``problem.solve(nlp=True)`` (CVXPY 1.9) takes smooth expressions without asking whether they are convex. The model is
the lifted one (:mod:`pacb_models.models.lifted`), scaled by :mod:`pacb_models.models.scaling`.

Uno has been seen to report "optimal" at a bound .2 above the minimum, which is why claims are checked, and to go on for
ever on a problem with the KL divergence and the kl distance, whatever its time limit.
"""

from __future__ import annotations

import importlib.util
import io
import math
import time
import warnings
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from pacb_models.errors import InputError, SolverUnavailableError
from pacb_models.models.algebra import Algebra
from pacb_models.models.lifted import values_at, write
from pacb_models.models.limits import box
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver
from pacb_models.validation import check_choice, check_count

from ..options import deadline_after
from ..weights import without_negligible
from .interior_point import NO_FILE, QUIET, SETTINGS, first_start

#: Backends and the modules they need.
BACKENDS = {"IPOPT": "cyipopt", "UNO": "unopy"}

#: CVXPY's statuses and what each means here.
STATUS_MAP: dict[str, tuple[str, str]] = {
    "optimal": ("optimal", "{} met its tolerances."),
    "optimal_inaccurate": ("acceptable", "{} stopped at looser tolerances."),
    "user_limit": ("iteration_limit", "{} reached max_iterations or time_limit."),
    "infeasible": ("infeasible", "{} believes that no posterior is feasible."),
    "infeasible_inaccurate": ("infeasible", "{} nearly believes that no posterior is feasible."),
    "unbounded": ("numerical_error", "{} believes that the bound is unbounded below."),
    "unbounded_inaccurate": ("numerical_error", "{} nearly believes that the bound is unbounded below."),
    "solver_error": ("numerical_error", "{} failed."),
}


class CvxpyAlgebra(Algebra):
    """CVXPY's expressions, with every variable at its value for the start."""

    def __init__(self, problem: BoundProblem, start: np.ndarray) -> None:
        import cvxpy as cp

        super().__init__(problem, start)
        self.log, self.sqrt = cp.log, cp.sqrt
        lower, upper = box(problem)
        self.ratios = cp.Variable(problem.size, bounds=[lower / problem.prior, upper / problem.prior])
        self.ratios.value = start / problem.prior
        self.constraints: list[Any] = []

    def times(self, x: Any, y: Any) -> Any:
        import cvxpy as cp

        return cp.multiply(x, y)

    def relative_entropy(self, x: Any, y: Any) -> Any:
        import cvxpy as cp

        return super().relative_entropy(x, y) if isinstance(x, float) else cp.rel_entr(x, y)

    def mean(self, terms: Any) -> Any:
        return self.prior @ terms

    def mean_entropy(self, ratios: Any) -> Any:
        import cvxpy as cp

        return self.prior @ -cp.entr(ratios)

    def average(self, values: np.ndarray) -> Any:
        return (self.prior * values) @ self.ratios

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Any:
        import cvxpy as cp

        created = cp.Variable(name=name, bounds=[lower, upper])
        created.value = value
        return created

    def constrain(self, name: str, difference: Any, equality: bool, scale: float) -> None:
        self.constraints.append(scale * difference == 0 if equality else scale * difference >= 0)


class Model:
    """A CVXPY problem with its variables, whose values are the start."""

    def __init__(self, problem: BoundProblem, start: np.ndarray) -> None:
        import cvxpy as cp

        values_at(problem, start)  # refuses an expression that does not fit
        algebra = CvxpyAlgebra(problem, start)
        objective = cp.Minimize(algebra.factors.objective * write(algebra))
        self.problem, self.ratios = cp.Problem(objective, algebra.constraints), algebra.ratios


class DisciplinedNonlinear(Solver):
    """CVXPY with ``nlp=True``: a nonlinear solver on the bound as it is written in CVXPY."""

    name = "dnlp"
    needs = ("model",)
    honours = ("average", "weights")
    requires = ("cvxpy",)
    keeps_time_limit = True

    def missing(self) -> str | None:
        without_cvxpy = super().missing()
        if without_cvxpy is not None:
            return without_cvxpy
        if any(importlib.util.find_spec(module) is not None for module in BACKENDS.values()):
            return None
        return "neither cyipopt nor unopy installed: `make setup`, or pip install 'pacb-models[solvers]'"

    def run(
        self,
        problem: BoundProblem,
        *,
        backend: str | None = None,
        start: object = None,
        time_limit: float | None = None,
        max_iterations: int = 3000,
        options: dict[str, Any] | None = None,
    ) -> Outcome:
        """Minimise the bound with CVXPY's interface for nonlinear solvers.

        Parameters
        ----------
        problem : BoundProblem
        backend : {"IPOPT", "UNO"}, optional
            By default Ipopt where cyipopt is installed, else Uno.
        start, time_limit, max_iterations
            As for every solver; see :mod:`pacb_models.solvers.options`. Ipopt looks at the time between its iterations.
        options : dict, optional
            The backend's own options; they override ours.

        Returns
        -------
        Outcome
            ``details`` has the backend and CVXPY's status.
        """
        deadline = deadline_after(time_limit)
        backend = _choose_backend(backend)
        if options is not None and not isinstance(options, dict):
            raise InputError(f"options is {options!r}; it must be a dict of {backend}'s options.")
        limit = check_count("max_iterations", max_iterations)
        first = first_start(problem, start)
        if problem.distance_function.below_one and problem.bound(first.posterior) >= 1.0:
            message = "the bound rounds to 1 at every start that was tried, where it is flat; nothing was started."
            return Outcome(first.posterior, "acceptable", message, 0)
        started = time.perf_counter()
        built = Model(problem, first.posterior)
        setup_seconds = time.perf_counter() - started
        left = deadline - time.monotonic()
        if left <= 0.0:
            message = "the time limit was reached before the model was built."
            return Outcome(first.posterior, "time_limit", message, 0, setup_seconds)
        settings = _settings(backend, first.barrier, limit, left) | (options or {})
        outcome = _solve(problem, built, backend, settings)
        outcome.setup_seconds = setup_seconds
        if outcome.status == "iteration_limit" and time.monotonic() >= deadline:
            outcome.status = "time_limit"
        return outcome


def _choose_backend(backend: str | None) -> str:
    if backend is None:
        return next(name for name, module in BACKENDS.items() if importlib.util.find_spec(module) is not None)
    check_choice("backend", backend, list(BACKENDS))
    if importlib.util.find_spec(BACKENDS[backend]) is None:
        raise SolverUnavailableError(f"backend is {backend!r}, but {BACKENDS[backend]} is not installed.")
    return backend


def _settings(backend: str, barrier: float | None, limit: int, seconds: float) -> dict[str, Any]:
    """The backend's options."""
    if backend == "UNO":
        limits = {"time_limit": seconds} if math.isfinite(seconds) else {}
        return {"max_iterations": limit, "logger": "SILENT"} | limits
    settings = SETTINGS | {"nlp_scaling_method": "none", "max_iter": limit} | QUIET | NO_FILE
    if barrier is not None:
        settings["mu_init"] = barrier
    if math.isfinite(seconds):
        settings["max_wall_time"] = seconds
    return settings


def _solve(problem: BoundProblem, built: Model, backend: str, settings: dict[str, Any]) -> Outcome:
    from cvxpy.error import SolverError

    said = "solver_error"
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        # CVXPY warns of inaccurate solutions; the status says it.
        warnings.simplefilter("ignore")
        try:
            built.problem.solve(solver=backend, nlp=True, **settings)
            said = built.problem.status
        except SolverError:
            pass
    status, sentence = STATUS_MAP.get(said, ("error", "{} returned the unknown status " + repr(said) + "."))
    ratios = built.ratios.value
    weights = None if ratios is None else without_negligible(problem, np.asarray(ratios) * problem.prior)
    stats = built.problem.solver_stats
    counted = None if stats is None else stats.num_iters
    # CVXPY says "Not available" of what it does not pass on.
    iterations = int(counted) if isinstance(counted, (int, np.integer)) else None
    details = {"backend": backend, "cvxpy_status": said}
    return Outcome(weights, status, sentence.format(backend.title()), iterations, details=details)


SOLVER = DisciplinedNonlinear()
