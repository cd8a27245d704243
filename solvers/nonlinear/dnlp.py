r"""CVXPY's disciplined nonlinear programming: the bound as one writes it down, handed to Ipopt or Uno.

``problem.solve(nlp=True)`` (CVXPY 1.9) takes smooth expressions without asking whether they are convex. The model is
the lifted one (:mod:`pacb_models.models.cvxpy_models`), scaled by its factors.

Uno has been seen to report "optimal" at a bound .2 above the minimum, which is why claims are checked, and to go on for
ever on a problem with the KL divergence and the kl distance, whatever its time limit.
"""

import importlib.util
import io
import math
import time
import warnings
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from pacb_models.errors import SolverUnavailableError
from pacb_models.models.cvxpy_models import CvxpyAlgebra
from pacb_models.models.lifted import box, write
from pacb_models.problem import BoundProblem, Problem
from pacb_models.solver import MODEL

from ..options import FromStarts, Software
from .interior_point import NO_FILE, SETTINGS, InteriorPoint, Prepared, Run

#: Backends and the modules they need.
BACKENDS: dict[Literal["IPOPT", "UNO"], str] = {"IPOPT": "cyipopt", "UNO": "unopy"}

#: CVXPY's statuses and Ipopt's code of the same meaning; "user_limit" is one of iterations or of time.
CODES = {"optimal": 0, "infeasible": 2, "unbounded": 4, "user_limit": -1, "solver_error": -100}
CODES |= {"optimal_inaccurate": 1, "infeasible_inaccurate": 2, "unbounded_inaccurate": 4}


class DisciplinedNonlinear(InteriorPoint):
    """CVXPY with ``nlp=True``: a nonlinear solver on the bound as it is written in CVXPY.

    Options
    -------
    backend : {"IPOPT", "UNO"}, optional
        By default Ipopt where cyipopt is installed, else Uno.
    start, starts, seed, max_iterations, time_limit : see :mod:`pacb_models.solvers.options`
        Ipopt looks at the time between its iterations.
    options : dict, optional
        The backend's own options; they override ours.

    ``details`` has the backend.
    """

    name = "dnlp"
    needs = MODEL
    requires = ("cvxpy",)

    @dataclass(kw_only=True)
    class Options(FromStarts, Software):
        backend: Literal["IPOPT", "UNO", None] = None

        def checked(self, problem: Problem) -> Self:
            super().checked(problem)
            found = [name for name, module in BACKENDS.items() if importlib.util.find_spec(module)]
            self.backend = self.backend or found[0]
            if self.backend not in found:
                missing = BACKENDS[self.backend]
                raise SolverUnavailableError(f"backend is {self.backend!r}, but {missing} is not installed.")
            return self

    def missing(self) -> str | None:
        if any(map(importlib.util.find_spec, BACKENDS.values())):
            return super().missing()
        return "neither cyipopt nor unopy installed: `make setup`, or pip install 'pacb-models[solvers]'"

    def prepare(self, problem: BoundProblem, options: Options) -> Prepared:
        import cvxpy as cp
        from cvxpy.error import SolverError

        backend, (lower, upper) = str(options.backend), box(problem)
        ratios = cp.Variable(problem.size, bounds=[lower / problem.prior, upper / problem.prior])
        algebra = CvxpyAlgebra(problem, ratios)
        program = cp.Problem(cp.Minimize(algebra.factors.objective * write(algebra)), algebra.constraints)

        def solve_from(q: np.ndarray, suited: dict[str, Any]) -> Run:
            ratios.value = q / problem.prior
            algebra.set_start(q)
            seconds, most = suited.get("max_wall_time", math.inf), options.max_iterations
            settings = suited | NO_FILE | SETTINGS | {"nlp_scaling_method": "none", "max_iter": most}
            if backend == "UNO":
                settings = {"max_iterations": most, "logger": "SILENT", "time_limit": seconds}
            said, began = "solver_error", time.perf_counter()
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()), suppress(SolverError):
                # CVXPY warns of inaccurate solutions; the status says it.
                warnings.simplefilter("ignore")
                program.solve(solver=backend, nlp=True, **settings | options.own)
                said = program.status
            late = said == "user_limit" and time.perf_counter() - began >= seconds
            weights = q if ratios.value is None else np.asarray(ratios.value) * problem.prior
            counted = getattr(program.solver_stats, "num_iters", None)
            # CVXPY says "Not available" of what it does not pass on.
            iterations = int(counted) if isinstance(counted, (int, np.integer)) else None
            return Run(weights, -5 if late else CODES[said], iterations)

        return Prepared(solve_from, {"backend": backend}, backend.title())


SOLVER = DisciplinedNonlinear()
