"""The frozen collections: what each instance is made from, and its certified optimum.

``hard.csv``, ``constrained.csv`` and ``gaps.csv`` hold a line per instance: the family and its arguments, a digest of
the data they generate, the certified minimum of the bound, how many local minima there are and the second smallest.
``tools/freeze_hard.py`` wrote them; a test generates the data again, compares the digests, and certifies a sample of
the optima by means of its own.
"""

import csv
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pacb_models import BoundProblem
from pacb_models.errors import InputError

from ..problem import Problem
from .generators import FAMILIES

#: Bounds over all posteriors, bounds with constraints on the posterior, and minima a given amount apart.
COLLECTIONS = HARD, CONSTRAINED, GAPS = "hard", "constrained", "gaps"
COLUMNS = ("name", "family", "arguments", "digest", "optimum", "minima", "second_minimum")


@dataclass(frozen=True, kw_only=True)
class Instance(Problem):
    """One frozen problem, which is made by the function of its family."""

    size: int
    #: Of risks, prior and constraints, see :func:`data_digest`.
    digest: str
    #: The certified minimum of the bound.
    optimum: float
    #: How many local minima the bound has.
    minima: int
    #: The second smallest of them, where there are several.
    second_minimum: float | None


def data_digest(problem: BoundProblem) -> str:
    """Return sixteen hexadecimal digits that change with any bit of risks or prior (in little-endian double precision),
    or of a constraint (as JSON).
    """
    data = problem.risks.astype("<f8").tobytes() + problem.prior.astype("<f8").tobytes()
    data += b"".join(json.dumps(each.as_record(), sort_keys=True).encode() for each in problem.constraints)
    return hashlib.sha256(data).hexdigest()[:16]


@cache
def instances(collection: str = HARD) -> tuple[Instance, ...]:
    """Return all instances of a collection, family after family."""
    text = files(__package__).joinpath(f"{collection}.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.DictReader(text.splitlines()):
        arguments, second = json.loads(row["arguments"]), row["second_minimum"]
        known = Instance(
            *(row["name"], row["family"], FAMILIES[row["family"]], arguments),
            size=arguments["count"],
            digest=row["digest"],
            optimum=float(row["optimum"]),
            minima=int(row["minima"]),
            second_minimum=float(second) if second else None,
        )
        found.append(known)
    return tuple(found)


def every_instance() -> tuple[Instance, ...]:
    """Return those of all collections."""
    return tuple(found for collection in COLLECTIONS for found in instances(collection))


def instance(name: str) -> Instance:
    """Return the instance of that name."""
    for candidate in every_instance():
        if candidate.name == name:
            return candidate
    raise InputError("instance", name, "no collection has one of that name")
