"""What other people's solvers write: AMPL's ``.sol``, a CSV of weights, or JSON.

A ``.sol`` has values in the order of the ``.nl`` file, whose names stand in the ``.col`` file; its first line tells
the program and its version. A CSV has one weight per line, or a column ``weight``. JSON is a list of weights, or an
object with ``posterior`` and, if known, ``objective``, ``solver``, ``status``, ``message``.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models.errors import InputError
from pacb_models.risk_file import read_value_file
from pacb_models.solution import STATUSES

#: AMPL's result codes by hundreds, in our words; the third is "unbounded", which no bound is.
_CODES = ("optimal", "acceptable", "infeasible", "error", "iteration_limit", "error")


@dataclass(frozen=True)
class SolutionFile:
    """What a file says; None for what it leaves open."""

    #: One for each classifier, as written: not put onto the simplex. None when there is no point in the file.
    weights: np.ndarray | None
    #: The name and version that the file gives.
    solver: str | None = None
    #: The solver's own claim, one of our statuses.
    status: str | None = None
    message: str = ""
    #: The value that the solver claims, and half a unit of its last digit.
    objective: float | None = None
    rounding: float = 0.0
    #: All variables of the model by their names, where the file has them.
    variables: dict[str, float] = field(default_factory=dict)


def read_solution(path: str | Path, size: int, columns: Iterable[Path] = ()) -> SolutionFile:
    """Read one file by its ending; ``size`` is the number of classifiers, ``columns`` where a ``.col`` may be."""
    path = Path(path)
    reader = {".sol": _read_sol, ".csv": _read_csv, ".json": _read_json}.get(path.suffix)
    if reader is None:
        raise InputError(f"the solution is {str(path)!r}; it must end in .sol, .csv or .json.")
    found = reader(path, [path.with_suffix(".col"), *columns], size)
    if found.weights is None:
        return found
    if found.weights.shape != (size,):
        raise InputError(f"{path} has {found.weights.size} weights; the problem has {size} classifiers.")
    if not np.isfinite(found.weights).all():
        raise InputError(f"{path} has a weight that is no finite number.")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as reason:
        detail = reason.strerror if isinstance(reason, OSError) else "it is not a text file in UTF-8"
        raise InputError(f"cannot read {str(path)!r}: {detail}.") from None


# --- AMPL -------------------------------------------------------------------------------------------------------------


def _read_sol(path: Path, columns: list[Path], size: int) -> SolutionFile:
    try:
        message, values, code = parse_sol(_text(path))
    except (ValueError, IndexError):
        raise InputError(f"{path} is not a solution in AMPL's text form (.sol).") from None
    objective, rounding = _objective(message)
    said = SolutionFile(
        None,
        solver=_program(message),
        status=None if code is None else _CODES[min(max(code, 0) // 100, len(_CODES) - 1)],
        message=" ".join(message.split()),
        objective=objective,
        rounding=rounding,
    )
    if not values:
        return said
    names_file = next((each for each in columns if each.is_file()), None)
    if names_file is None:
        raise InputError(f"{path} needs the names of the variables, in {columns[0].name} beside it.")
    names = _text(names_file).split()
    if len(names) != len(values):
        raise InputError(f"{path} has {len(values)} variables, but {names_file} names {len(names)}.")
    variables = dict(zip(names, values))
    absent = next((i for i in range(size) if f"q[{i}]" not in variables), None)
    if absent is not None:
        raise InputError(f"{names_file} has no variable 'q[{absent}]'; the problem has {size} classifiers.")
    weights = np.array([variables[f"q[{i}]"] for i in range(size)])
    return replace(said, weights=weights, variables=variables)


def parse_sol(text: str) -> tuple[str, list[float], int | None]:
    """The message, the variables' values and the result code of a ``.sol`` file; ValueError where it is none.

    A program that found no point writes none: then there are no values.
    """
    head, body = re.split(r"^Options[ \t]*\n", text, maxsplit=1, flags=re.MULTILINE)
    lines = body.split("\n")
    count = int(lines[0])
    # From five options on, AMPL's writer counts two more than it writes, and adds a line with a tolerance.
    tolerance = count > 4
    at = 1 + count - 2 * tolerance
    _, duals, _, primals = (int(line) for line in lines[at : at + 4])
    first = at + 4 + tolerance + duals
    values = [float(line) for line in lines[first : first + primals]]
    if len(values) != primals:
        raise ValueError("it ends before its last value")
    ending = re.search(r"^objno +\d+ +(-?\d+)", "\n".join(lines[first + primals :]), re.MULTILINE)
    return head.strip(), values, int(ending[1]) if ending else None


def _program(message: str) -> str | None:
    """Name and version at the beginning of a message, for example "Ipopt 3.14.19" of "Ipopt 3.14.19: Optimal …"."""
    found = re.match(r"\s*([^:\n]{1,60}?)\s*(?::|$)", message)
    return found[1] if found and found[1] else None


def _objective(message: str) -> tuple[float | None, float]:
    """The value that AMPL's solvers print after the word "objective", and half a unit of its last digit."""
    found = re.search(r"objective(?: value)?\s*[:=]?\s*(-?\d+(?:\.(\d*))?(?:[eE]([-+]?\d+))?)", message)
    if found is None:
        return None, 0.0
    return float(found[1]), 0.5 * 10.0 ** (int(found[3] or 0) - len(found[2] or ""))


# --- CSV and JSON -----------------------------------------------------------------------------------------------------


def _read_csv(path: Path, columns: list[Path], size: int) -> SolutionFile:
    return SolutionFile(np.array(read_value_file(path, ("weight",)).values))


def _read_json(path: Path, columns: list[Path], size: int) -> SolutionFile:
    try:
        found = json.loads(_text(path))
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON.") from None
    fields: dict[str, Any] = found if isinstance(found, dict) else {"posterior": found}
    weights = fields.get("posterior")
    if not isinstance(weights, list) or not all(type(each) in (int, float) for each in weights):
        raise InputError(f"{path} has no list of numbers 'posterior'.")
    status = fields.get("status")
    if status is not None and status not in STATUSES:
        raise InputError(f"{path} has the status {reprlib.repr(status)}; it must be one of {', '.join(STATUSES)}.")
    objective = fields.get("objective")
    if objective is not None and (type(objective) not in (int, float) or not math.isfinite(objective)):
        raise InputError(f"{path} has the objective {reprlib.repr(objective)}; it must be a number.")
    for name in ("solver", "message"):
        if not isinstance(fields.get(name, ""), str):
            raise InputError(f"{path} has the {name} {reprlib.repr(fields[name])}; it must be a text.")
    return SolutionFile(
        np.array(weights, dtype=float),
        solver=fields.get("solver"),
        status=status,
        message=fields.get("message", ""),
        objective=None if objective is None else float(objective),
    )
