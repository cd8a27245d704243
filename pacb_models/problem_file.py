"""A problem as JSON: the one file format of a problem, which ``pacb export`` writes and ``pacb judge`` reads.

Fields: ``schema`` (this format's version), ``problem_kind`` ("bound", "direct" or "tandem"), ``risks``, ``errors``
(counts; null unless the problem was given by them), ``m``, ``delta``, ``distance``, ``divergence``, ``order``,
``constant`` and ``prior`` (null for the uniform one). A problem of votes ("tandem") has ``tandem_risks``, a list of
rows, in place of ``risks``; its ``errors`` are a text of zeros and ones for each example, or null. ``constraints`` is
a list of objects with a ``kind`` and the arguments of :mod:`pacb_models.constraints`; absent when there are none.
Numbers keep all their digits. Other fields may stand beside them.
"""

from __future__ import annotations

import json
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from . import distances, divergences
from .constraints.kinds import from_record
from .errors import InputError, UnsupportedProblemError
from .files import reading
from .plugins import ours

if TYPE_CHECKING:
    from .problem import Problem

    P = TypeVar("P", bound=Problem)

#: The kind of a problem with a formula of its own.
OWN = "own"

#: Rises when a field changes its meaning. Version 1 had the uniform prior as a list, version 2 no constraints.
SCHEMA = 3

_NEEDED = ("risks", "m", "delta", "distance", "divergence", "constant")


def as_json(problem: Problem) -> str:
    """Return the problem as a JSON text."""
    record = as_record(problem)
    if record["problem_kind"] == OWN:
        raise UnsupportedProblemError(f"{problem.describe()} cannot be written as JSON: it has a formula of its own.")
    return json.dumps(record, allow_nan=False)


def as_record(problem: Problem) -> dict[str, Any]:
    """Return the fields of a problem; one with a formula of its own is of the kind "own", which cannot be read back."""
    divergence = divergences.BY_NAME.get(problem.divergence)
    # Told by the names of its distance and divergence.
    named = (
        ours(problem)
        and problem.distance_function is distances.BY_NAME.get(problem.distance)
        and divergence is not None
        and type(divergence(problem.order)) is type(problem.divergence_function)
    )
    constraints = {"constraints": [each.as_record() for each in problem.constraints]} if problem.constraints else {}
    return {
        "schema": SCHEMA,
        "problem_kind": problem.kind if named else OWN,
        **{name: getattr(problem, name) for name in ("m", "delta", "distance", "divergence", "order", "constant")},
        **problem.classifiers_record(),
        "prior": None if problem.uniform_prior else problem.prior.tolist(),
        **constraints,
    }


def read_record(text: str | bytes, source: str = "text") -> dict[str, Any]:
    """Return the fields in a JSON text, when they are those of a problem; ``source`` names it in complaints."""
    with reading(source):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(source, text, "it must be JSON") from None
        needed = ("tandem_risks", *_NEEDED[1:]) if isinstance(record, dict) and "tandem_risks" in record else _NEEDED
        absent = [name for name in needed if not isinstance(record, dict) or name not in record]
        if absent:
            raise InputError(f"{source} has no field {absent[0]!r}; it must be a problem that pacb has written.")
        schema = record.get("schema")
        if type(schema) is not int or not 1 <= schema <= SCHEMA:
            raise InputError(f"{source} has the schema {reprlib.repr(schema)}; this version reads 1 to {SCHEMA}.")
        return record


def read_problem(path: str | Path) -> tuple[dict[str, Any], Problem]:
    """Return the fields of a file, and its problem."""
    with reading(path):
        record = read_record(Path(path).read_bytes(), str(path))
        return record, problem_of_record(class_of(record), record, str(path))


def class_of(record: dict[str, Any]) -> type[Problem]:
    """Return the class of the problem of some fields."""
    from .direct import DirectProblem
    from .problem import BoundProblem
    from .tandem import TandemProblem

    kinds: dict[Any, type[Problem]] = {each.kind: each for each in (DirectProblem, TandemProblem)}
    return kinds.get(str(record.get("problem_kind")), BoundProblem)


def problem_of_record(cls: type[P], record: dict[str, Any], source: str = "text") -> P:
    """Return the problem of some fields."""
    with reading(source):
        if record.get("problem_kind", "bound") != cls.kind:
            kind = record["problem_kind"]
            raise InputError(f"{source} has the problem_kind {kind!r}; {cls.__name__} is {cls.kind!r}.")
        arguments = {name: record[name] for name in _NEEDED[1:]} | {"prior": record.get("prior")}
        if record["divergence"] == "renyi":
            arguments["order"] = record.get("order")
        if record.get("constraints"):
            arguments["constraints"] = [from_record(each) for each in record["constraints"]]
        return cls.of_record(record, arguments, source)
