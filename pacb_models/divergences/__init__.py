"""Divergences between posterior and prior: one file each, with all that is known of it."""

from collections.abc import Callable
from functools import lru_cache

from .chi_squared import ChiSquared
from .divergence import Budget, Divergence
from .kullback_leibler import KullbackLeibler
from .renyi import Renyi

_CHI_SQUARED, _KULLBACK_LEIBLER = ChiSquared(), KullbackLeibler()
#: The divergences known by name; a function of the Rényi order, which counts for "renyi" only.
BY_NAME: dict[str, Callable[[float], Divergence]] = {
    "chi2": lambda order: _CHI_SQUARED,
    "renyi": lru_cache(Renyi),
    "kl": lambda order: _KULLBACK_LEIBLER,
}


def by_name(name: str, order: float = 2.0) -> Divergence:
    """Return the divergence of that name."""
    return BY_NAME[name](order)


__all__ = ["BY_NAME", "Budget", "ChiSquared", "Divergence", "KullbackLeibler", "Renyi", "by_name"]
