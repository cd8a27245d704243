"""From error counts to guarantees: the smallest certificate known for a finite set of classifiers."""

from .certificate import Certificate
from .certify import certify
from .limits import clopper_pearson

__all__ = ["Certificate", "certify", "clopper_pearson"]
