"""Our problems for benchopt: ``benchopt run benchmarks/benchopt -d "uci[H=50]" -o "PAC-Bayes bound[distance=kl]"``.

The objective is the bound, recomputed from the posterior as everywhere in this package; beside it benchopt records the
certified optimum f*, the file that proves it (see ``pacb verify``), the gap to it, the KKT residual and the support.
"""

import math
from pathlib import Path

import numpy as np
from benchopt import BaseObjective

import pacb_models as pm
from pacb_models.proofs import files

#: Where the proofs go: beside benchopt's own results.
PROOFS = Path(__file__).resolve().parent / "outputs" / "proofs"


class Objective(BaseObjective):
    """Minimise a PAC-Bayesian bound over the posteriors on a finite set of classifiers."""

    name = "PAC-Bayes bound"
    min_benchopt_version = "1.10"
    requirements = ["pip::pacb-models"]
    # Every solver decides for itself when it is done: there is no curve to sample.
    sampling_strategy = "run_once"
    parameters = {
        "distance": ["linear", "squared", "kl"],
        "divergence": ["chi2"],
        "delta": [0.01],
        "constant": ["exact"],
    }
    test_dataset_name = "synthetic"

    def set_data(self, risks, m, prior=None):
        """Make the problem of these risks, and find its certified optimum."""
        bound = (self.delta, self.distance, self.divergence, prior, self.constant)
        self.problem = pm.BoundProblem(risks, m, *bound)
        best = pm.solve(self.problem)
        self.optimum = best.bound if best.is_global else math.nan
        record = files.to_record(self.problem, best.proof, best)
        PROOFS.mkdir(parents=True, exist_ok=True)
        self.proof = PROOFS / f"{record['problem_digest'][:16]}.proof.json"
        files.save(self.proof, record)

    def get_objective(self):
        """Return what a solver is given."""
        return {"problem": self.problem}

    def evaluate_result(self, posterior):
        """Return the bound and what else there is to say of a posterior; infinite where there is none."""
        found = {"value": math.inf, "kkt_residual": math.inf, "support_size": 0}
        if posterior is not None:
            found = {"value": self.problem.bound(posterior), "kkt_residual": self.problem.kkt_residual(posterior)}
            found["support_size"] = int(np.count_nonzero(posterior))
        return {**found, "gap": found["value"] - self.optimum, "optimum": self.optimum, "proof": str(self.proof)}

    def get_one_result(self):
        """Return a posterior for benchopt's own tests: the prior."""
        return {"posterior": self.problem.prior}
