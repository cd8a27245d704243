"""Every solver of the package's registry, other people's included, as one benchopt solver with a parameter."""

from benchopt import BaseSolver

import pacb_models as pm
from pacb_models.solving.registry import get_solver, solver_names


class Solver(BaseSolver):
    """``-s "pacb[solver=[frontier,ccp]]"`` runs these two; without the brackets, all of them."""

    name = "pacb"
    requirements = ["pip::pacb-models"]
    sampling_strategy = "run_once"
    parameters = {"solver": solver_names()}

    def skip(self, problem):
        """Leave out methods that cannot handle the problem or cannot run here, and say why."""
        if self.solver not in solver_names():
            return True, f"{self.solver} is not registered here"
        method = get_solver(self.solver)
        reason = method.missing() or method.refusal(problem)
        return reason is not None, reason

    def set_objective(self, problem):
        """Remember the problem."""
        self.problem = problem

    def warm_up(self):
        """Import what the method needs before the clock runs: solve a tiny problem of the same kind."""
        pm.solve(self.problem.replace(risks=[0.1, 0.2, 0.3], prior=None), self.solver)

    def run(self, _):
        """Minimise the bound, classifiers of equal risk left apart as the method would be given them."""
        self.solution = pm.solve(self.problem, self.solver, merge=False)

    def get_result(self):
        """Return the posterior."""
        return {"posterior": self.solution.posterior}
