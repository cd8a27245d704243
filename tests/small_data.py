"""Data of scikit-learn that are small and not separable, for what can be tested on any."""

from sklearn.datasets import load_breast_cancer

from pacb_models.estimators.tables import Dataset


def small_dataset(rows: int = 306) -> Dataset:
    """Tumours by smoothness, symmetry and fractal dimension, rounded so that some are the same."""
    X, y = load_breast_cancer(return_X_y=True)
    return Dataset((100 * X[:rows, [4, 8, 9]]).round(1), y[:rows], "small")
