"""Problems that tell solvers apart: families with a parameter for hardness, and frozen collections of them."""

from .collection import CONSTRAINED, GAPS, HARD, Instance, every_instance, instance, instances
from .generators import FAMILIES, sentence

__all__ = ["CONSTRAINED", "FAMILIES", "GAPS", "HARD", "Instance", "every_instance", "instance", "instances", "sentence"]
