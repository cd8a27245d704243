"""From error counts to guarantees: the smallest certificate known for a finite set of classifiers."""

from .certificate import Certificate
from .certify import certify
from .error_counts import ErrorCounts
from .limits import clopper_pearson
from .many import Certificates

__all__ = ["Certificate", "Certificates", "ErrorCounts", "certify", "clopper_pearson"]
