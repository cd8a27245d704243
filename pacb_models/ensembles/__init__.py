"""From data to certificate: data sets, λ grids, risks of SVM ensembles, and scikit-learn estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .certified import CertifiedClassifier
    from .estimators import StochasticClassifier
    from .svc import StochasticSVC

__all__ = ["CertifiedClassifier", "StochasticClassifier", "StochasticSVC"]


def __getattr__(name: str) -> Any:
    # The estimators import scikit-learn; grids and risk tables must not have to wait for it.
    if name == "CertifiedClassifier":
        from .certified import CertifiedClassifier

        return CertifiedClassifier
    if name == "StochasticClassifier":
        from .estimators import StochasticClassifier

        return StochasticClassifier
    if name == "StochasticSVC":
        from .svc import StochasticSVC

        return StochasticSVC
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
