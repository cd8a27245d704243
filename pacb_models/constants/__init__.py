"""The constants I(m) of the bounds, for every divergence, distance and sample size: exact, or as the paper has them."""

from ..names import CONSTANTS, DISTANCES
from .moments import log_moment_constant, moment_constant, moment_curve
from .names import check_names, check_sample_size

__all__ = [
    "CONSTANTS",
    "DISTANCES",
    "check_names",
    "check_sample_size",
    "log_moment_constant",
    "moment_constant",
    "moment_curve",
]
