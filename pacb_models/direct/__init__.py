"""Bounds without change of measure: the support function of the confidence set that PAC-Bayesian bounds relax."""

from .problem import DirectProblem

__all__ = ["DirectProblem"]
