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
from contextlib import redirect_stdout, suppress
from functools import partial
from typing import Any

import numpy as np

from pacb_models.errors import SolverUnavailableError
from pacb_models.models.algebra import Algebra
from pacb_models.models.lifted import values_at, write
from pacb_models.models.limits import box
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver
from pacb_models.validation import check_choice

from ..options import check_options, check_own
from .interior_point import NO_FILE, SETTINGS, Run, SolveFrom, minimise

#: Backends and the modules they need.
BACKENDS = {"IPOPT": "cyipopt", "UNO": "unopy"}

#: CVXPY's statuses and Ipopt's code of the same meaning.
CODES = {
    "optimal": 0,
    "optimal_inaccurate": 1,
    "infeasible": 2,
    "infeasible_inaccurate": 2,
    "unbounded": 4,
    "unbounded_inaccurate": 4,
    # Of iterations, or of time.
    "user_limit": -1,
    # Several ways to fail.
    "solver_error": -100,
}


class CvxpyAlgebra(Algebra):
    """CVXPY's expressions."""

    def __init__(self, problem: BoundProblem) -> None:
        import cvxpy as cp

        super().__init__(problem, problem.prior)
        self.cp, self.log, self.sqrt = cp, cp.log, cp.sqrt
        lower, upper = box(problem)
        self.ratios = cp.Variable(problem.size, bounds=[lower / problem.prior, upper / problem.prior])
        self.variables: dict[str, Any] = {}
        self.constraints: list[Any] = []

    def times(self, x: Any, y: Any) -> Any:
        return self.cp.multiply(x, y)

    def relative_entropy(self, x: Any, y: Any) -> Any:
        return super().relative_entropy(x, y) if isinstance(x, float) else self.cp.rel_entr(x, y)

    def mean(self, terms: Any) -> Any:
        return self.prior @ terms

    def mean_entropy(self, ratios: Any) -> Any:
        return self.prior @ -self.cp.entr(ratios)

    def average(self, values: np.ndarray) -> Any:
        return (self.prior * values) @ self.ratios

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Any:
        self.variables[name] = self.cp.Variable(name=name, bounds=[lower, upper])
        return self.variables[name]

    def constrain(self, name: str, difference: Any, equality: bool, scale: float) -> None:
        self.constraints.append(scale * difference == 0 if equality else scale * difference >= 0)


class DisciplinedNonlinear(Solver):
    """CVXPY with ``nlp=True``: a nonlinear solver on the bound as it is written in CVXPY.

    Options
    -------
    backend : {"IPOPT", "UNO"}, optional
        By default Ipopt where cyipopt is installed, else Uno.
    start, starts, seed, max_iterations, time_limit : the common options
        As for every solver; see :mod:`pacb_models.solvers.options`. Ipopt looks at the time between its iterations.
    options : dict, optional
        The backend's own options; they override ours.

    ``details`` has the backend.
    """

    name = "dnlp"
    needs = ("model",)
    honours = ("average", "weights")
    requires = ("cvxpy",)
    keeps_time_limit = True

    def missing(self) -> str | None:
        if any(map(importlib.util.find_spec, BACKENDS.values())):
            return super().missing()
        return "neither cyipopt nor unopy installed: `make setup`, or pip install 'pacb-models[solvers]'"

    def run(
        self,
        problem: BoundProblem,
        *,
        backend: str | None = None,
        start: object = None,
        starts: int = 1,
        seed: int = 0,
        time_limit: float | None = None,
        max_iterations: int = 3000,
        options: dict[str, Any] | None = None,
    ) -> Outcome:
        if backend is None:
            backend = next(name for name, module in BACKENDS.items() if importlib.util.find_spec(module))
        check_choice("backend", backend, list(BACKENDS))
        if importlib.util.find_spec(BACKENDS[backend]) is None:
            raise SolverUnavailableError(f"backend is {backend!r}, but {BACKENDS[backend]} is not installed.")
        common = check_options(problem, start, starts, seed, max_iterations=max_iterations, time_limit=time_limit)
        own = check_own(options, f"{backend}'s")
        outcome = minimise(problem, common, partial(_prepare, problem, backend, common.max_iterations, own))
        outcome.message = outcome.message.replace("Ipopt", backend.title())
        outcome.details["backend"] = backend
        return outcome


def _prepare(problem: BoundProblem, backend: str, most: int, own: dict[str, Any]) -> SolveFrom:
    import cvxpy as cp
    from cvxpy.error import SolverError

    algebra = CvxpyAlgebra(problem)
    program = cp.Problem(cp.Minimize(algebra.factors.objective * write(algebra)), algebra.constraints)

    def solve_from(q: np.ndarray, suited: dict[str, Any]) -> Run:
        algebra.ratios.value = q / problem.prior
        for name, value in values_at(problem, q).values.items():
            algebra.variables[name].value = value
        seconds = suited.get("max_wall_time", math.inf)
        settings = suited | NO_FILE | SETTINGS | {"nlp_scaling_method": "none", "max_iter": most}
        if backend == "UNO":
            settings = {"max_iterations": most, "logger": "SILENT", "time_limit": seconds}
        said, began = "solver_error", time.perf_counter()
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), suppress(SolverError):
            # CVXPY warns of inaccurate solutions; the status says it.
            warnings.simplefilter("ignore")
            program.solve(solver=backend, nlp=True, **settings | own)
            said = program.status
        late = said == "user_limit" and time.perf_counter() - began >= seconds
        if algebra.ratios.value is not None:
            q = np.asarray(algebra.ratios.value) * problem.prior
        counted = getattr(program.solver_stats, "num_iters", None)
        # CVXPY says "Not available" of what it does not pass on.
        iterations = int(counted) if isinstance(counted, (int, np.integer)) else None
        return Run(q, -5 if late else CODES[said], iterations)

    return solve_from


SOLVER = DisciplinedNonlinear()
