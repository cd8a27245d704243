import numpy as np
import pytest

from pacb_models.benchmarks.experiments.cross_validation import cross_validate, load_cross_validation
from pacb_models.benchmarks.problems.risks import load_risk_table


def test_results_belong_to_the_risk_tables():
    for name, baseline in load_cross_validation().items():
        table = load_risk_table(name)
        assert baseline.best_lambda in table.lambdas
        assert baseline.test_size == table.test_size
        assert baseline.size == table.training_size + table.validation_size


@pytest.mark.parametrize("name", ["haberman", "bupa", "ionosphere", "wdbc"])
def test_the_chosen_svm_comes_out_again(name, paper_dataset):
    """The folds do not depend on the grid, so the chosen λ and two others are enough to see the same counts."""
    baseline = load_cross_validation()[name]
    result = cross_validate(paper_dataset(name), np.array([baseline.best_lambda, 0.5, 5.0]))
    assert result.best_lambda == baseline.best_lambda
    assert (result.errors.min(), result.test_errors) == (baseline.errors, baseline.test_errors)
    assert baseline.test_risk == result.test_risk
