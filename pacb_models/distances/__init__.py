"""Distances between an empirical and a true risk: one file each, with all that is known of it."""

from .binary_kl import BinaryKL
from .catoni import Catoni
from .distance import Distance, Forward, Inverse, conjugate
from .linear import Linear
from .pinsker import Pinsker
from .relative import Relative
from .sixth_degree import SixthDegree
from .squared import Squared

#: The distances known by name.
BY_NAME: dict[str, Distance] = {
    d.name: d for d in (Linear(), Squared(), BinaryKL(), Pinsker(), SixthDegree(), Relative())
}

__all__ = [
    "BY_NAME",
    "BinaryKL",
    "Catoni",
    "Distance",
    "Forward",
    "Inverse",
    "Linear",
    "Pinsker",
    "Relative",
    "SixthDegree",
    "Squared",
    "conjugate",
]
