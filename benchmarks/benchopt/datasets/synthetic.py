"""Synthetic risks of any number of classifiers, for growth with H."""

from benchopt import BaseDataset

from pacb_models.benchmarks.problems.problem import synthetic


class Dataset(BaseDataset):
    """Binomial error rates; a random prior where asked for."""

    name = "synthetic"
    requirements = ["pip::pacb-models"]
    parameters = {"H": [100, 10_000], "m": [1000], "prior": ["uniform"], "seed": [0]}
    test_parameters = {"H": [20]}

    def get_data(self):
        """Return risks, prior, and the number of examples the risks were measured on."""
        problem = synthetic(self.H, m=self.m, seed=self.seed, prior=self.prior)
        return {"risks": problem.risks, "m": problem.m, "prior": None if problem.uniform_prior else problem.prior}
