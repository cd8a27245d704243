"""From error counts to guarantees: the smallest certificate known for a finite set of classifiers."""

from .certificate import Certificate
from .certify import certify
from .limits import clopper_pearson
from .many import Certificates

__all__ = ["Certificate", "Certificates", "certify", "clopper_pearson"]
