"""Problems that tell solvers apart: families with a parameter for hardness, and a frozen collection of them."""

from __future__ import annotations

from .collection import Instance, instance, instances
from .generators import FAMILIES, sentence

__all__ = ["FAMILIES", "Instance", "instance", "instances", "sentence"]
