"""Problems that have a name: instances of the collections, of the embedded tables, votes, and other packages'."""

from collections.abc import Iterator
from itertools import product

from pacb_models.names import CONSTANTS

from . import forests
from .families import every_instance
from .problem import PAPER_DATASETS, PAPER_SIZES, TABLE_DISTANCES, Problem, outside_problems, table_problem


def embedded() -> Iterator[Problem]:
    """First-order bounds that come with this package."""
    yield from every_instance()
    for dataset, count, distance, constant in product(PAPER_DATASETS, PAPER_SIZES, TABLE_DISTANCES, CONSTANTS):
        yield table_problem(dataset, count, distance, constant)


def problems_named(text: str) -> list[Problem]:
    """The problem of that name, or all whose names begin so."""
    beginning = [each for each in (*embedded(), *forests.problems(), *outside_problems()) if each.name.startswith(text)]
    return [each for each in beginning if each.name == text] or (beginning if text else [])
