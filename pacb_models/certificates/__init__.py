"""From error counts, losses and predictions to guarantees for a finite set of classifiers."""

from .certificate import Certificate
from .certify import certify
from .choice import ChosenCertificate
from .counts import ErrorCounts
from .limits import clopper_pearson, sample_size
from .monitor import RiskMonitor
from .predictions import certify_predictions
from .sequence import LevelCertificate

__all__ = [
    "Certificate",
    "ChosenCertificate",
    "ErrorCounts",
    "LevelCertificate",
    "RiskMonitor",
    "certify",
    "certify_predictions",
    "clopper_pearson",
    "sample_size",
]
