"""A solver of the package's registry as a benchopt solver; the files in ``solvers`` name one each."""

import inspect

from benchopt import BaseSolver

import pacb_models as pm
from pacb_models.registry import get_solver, solver_names


class RegisteredSolver(BaseSolver):
    """Subclasses set ``name``, a name of the registry; their ``parameters`` are options of that solver."""

    requirements = ["pip::pacb-models"]
    sampling_strategy = "run_once"
    #: The name in the registry, where it is chosen by a parameter.
    registered = None

    @property
    def minimiser(self):
        """The solver of the registry."""
        return get_solver(self.registered or self.name)

    def skip(self, problem):
        """Leave out methods that cannot handle the problem or cannot run here, and say why."""
        if (self.registered or self.name) not in solver_names():
            return True, f"{self.registered or self.name} is not registered here"
        reason = self.minimiser.missing() or self.minimiser.unsupported(problem)
        return reason is not None, reason

    def set_objective(self, problem):
        """Remember the problem, and which of the parameters are options of the method."""
        self.problem = problem
        known = inspect.signature(self.minimiser.run).parameters
        self.options = {name: getattr(self, name) for name in self.parameters if name in known}

    def warm_up(self):
        """Import what the method needs before the clock runs: solve a tiny problem of the same kind."""
        pm.solve(self.problem.replace(risks=[0.1, 0.2, 0.3], prior=None), self.minimiser, **self.options)

    def run(self, _):
        """Minimise the bound, classifiers of equal risk left apart as the method would be given them."""
        self.solution = pm.solve(self.problem, self.minimiser, merge=False, **self.options)

    def get_result(self):
        """The posterior."""
        return {"posterior": self.solution.posterior}
