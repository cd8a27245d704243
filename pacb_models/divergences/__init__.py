"""Divergences between posterior and prior: one file each, with all that is known of it."""

from .chi_squared import ChiSquared
from .divergence import Budget, Divergence
from .kullback_leibler import KullbackLeibler
from .renyi import Renyi

#: The divergences known by name; a function of the Rényi order, which counts for "renyi" only.
BY_NAME = {"chi2": lambda order: ChiSquared(), "renyi": Renyi, "kl": lambda order: KullbackLeibler()}
NAMES = tuple(BY_NAME)


def by_name(name: str, order: float = 2.0) -> Divergence:
    """The divergence of that name."""
    return BY_NAME[name](order)


__all__ = ["BY_NAME", "NAMES", "Budget", "ChiSquared", "Divergence", "KullbackLeibler", "Renyi", "by_name"]
