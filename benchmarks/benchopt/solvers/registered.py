"""Every registered solver, ours or a third party's, as one benchopt solver with a parameter."""

from benchopt import BaseSolver

import pacb_models as pm
from pacb_models.registry import get_solver, solver_names


class Solver(BaseSolver):
    """``-s "pacb[method=[frontier,ipopt]]"`` chooses among them; those that do not apply are skipped."""

    name = "pacb"
    requirements = ["pip::pacb-models"]
    parameters = {"method": solver_names()}

    def skip(self, problem):
        """Leave out methods that cannot handle the problem or cannot run here, and say why."""
        method = get_solver(self.method)
        reason = method.missing() or method.unsupported(problem)
        return reason is not None, reason

    def set_objective(self, problem):
        """Remember the problem."""
        self.problem = problem

    def warm_up(self):
        """Import what the method needs before the clock runs: solve a tiny problem of the same kind."""
        pm.solve(self.problem.replace(risks=[0.1, 0.2, 0.3], prior=None), self.method)

    def run(self, _):
        """Minimise the bound."""
        self.solution = pm.solve(self.problem, self.method, merge=False)

    def get_result(self):
        """The posterior."""
        return {"posterior": self.solution.posterior}
