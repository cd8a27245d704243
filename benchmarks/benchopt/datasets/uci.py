"""The embedded risks of SVMs on the paper's data sets; nothing is downloaded."""

from benchopt import BaseDataset

from pacb_models.benchmarks.problems.problem import PAPER_DATASETS
from pacb_models.benchmarks.problems.risks import load_risk_table


class Dataset(BaseDataset):
    """Validation risks of the first H classifiers of a table."""

    name = "uci"
    requirements = ["pip::pacb-models"]
    parameters = {"dataset": list(PAPER_DATASETS), "H": [50, 1990]}
    test_parameters = {"dataset": ["wdbc"], "H": [50]}

    def get_data(self):
        """Return risks, and the number of examples they were measured on."""
        table = load_risk_table(self.dataset)
        return {"risks": table.risks(self.H), "m": table.m}
