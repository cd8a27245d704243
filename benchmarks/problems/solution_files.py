"""What other people's solvers write: the files that the help of ``pacb judge`` lists.

A ``.sol`` in AMPL's text form has values in the order of the ``.nl`` file, whose names stand in the ``.col`` file, and
the program and its version in the first line. A ``.lst`` displays the levels because our ``.gms`` files ask for it, and
``.gdx``, GAMS' own form, is read by GAMS' program ``gdxdump``.
"""

import json
import math
import re
import reprlib
import shutil
import stat
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models.errors import InputError
from pacb_models.files import reading
from pacb_models.risk_file import read_risk_file
from pacb_models.solution import Status

#: AMPL's result codes by hundreds, in our words; the third is "unbounded", which no bound is.
_CODES = ("optimal", "acceptable", "infeasible", "error", "iteration_limit", "error")
#: GAMS' codes, in our words: of the solver where it did not complete normally, else of the model; else it is an error.
_GAMS_SOLVER = {2: "iteration_limit", 3: "time_limit", 4: "not_converged", 5: "numerical_error"}
_GAMS_MODEL = {1: "optimal", 2: "optimal", 7: "acceptable"} | dict.fromkeys((4, 5, 6, 10, 19), "infeasible")

# Possessive, here and below: what does not match is found out in one pass over a long file.
_NUMBER = r"([-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?)"


@dataclass(frozen=True)
class SolutionFile:
    """What a file says; None for what it leaves open."""

    #: One for each classifier, as written: not put onto the simplex. None when there is no point in the file.
    weights: np.ndarray | None = None
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

    @property
    def claims(self) -> bool:
        """Whether this is handed in as a solution; a file without a status is."""
        return self.status in (None, "optimal", "acceptable")


def read_solution(path: str | Path, size: int, columns: Iterable[Path] = ()) -> SolutionFile:
    """Read one file by its ending; ``size`` is the number of classifiers, ``columns`` where a ``.col`` may be."""
    path = Path(path)
    if path.suffix not in _READERS:
        raise InputError("the solution", str(path), f"it must end in {', '.join(_READERS)}")
    with reading(path):
        # A program may leave a pipe under that name, which nobody writes to.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path} is no regular file.")
        found = _READERS[path.suffix](path, [path.with_suffix(".col"), *columns])
        if found.variables:
            found = replace(found, weights=_weights(path, found.variables, size))
        if found.weights is not None and found.weights.shape != (size,):
            raise InputError(f"{path} has {found.weights.size} weights; the problem has {size} classifiers.")
        if found.weights is not None and not math.isfinite(sum(map(abs, found.weights.tolist()))):
            raise InputError(f"{path} has weights whose sum is no finite number.")
        if found.objective is not None and not math.isfinite(found.objective):
            raise InputError(f"{path} has the objective {found.objective}; it must be a finite number.")
        return found


def _weights(path: Path, variables: dict[str, float], size: int) -> np.ndarray:
    """Return the weights among the variables of a model."""
    last = max((int(found[1]) for name in variables if (found := re.fullmatch(r"q\[(\d+)\]", name))), default=-1)
    try:
        weights = np.array([variables[f"q[{i}]"] for i in range(size)])
    except KeyError as absent:
        raise InputError(f"{path} has no variable {absent}; the problem has {size} classifiers.") from None
    if not 0 <= last < size:
        raise InputError(f"{path} has a variable 'q[{last}]'; the problem has {size} classifiers.")
    return weights


def _named(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return variables by their names in the model: q(3) of .lp and q_3_ of .gms files are q[3]. The first value
    counts.

    GAMS' EPS is a zero that is stored.
    """
    found: dict[str, float] = {}
    for name, value in pairs:
        number = 0.0 if value.upper() == "EPS" else float(value)
        found.setdefault(re.sub(r"^q[(_](\d+)[)_]$", r"q[\1]", name), number)
    return found


# --- AMPL, and what reads .lp and .mps --------------------------------------------------------------------------------


def _read_sol(path: Path, columns: list[Path]) -> SolutionFile:
    text = path.read_text(encoding="utf-8")
    if re.search(r"^q\(\d+\)\s", text, re.MULTILINE):
        objective, rounding = _objective(text)
        # SCIP leaves out what is zero.
        variables = defaultdict(float, _named(re.findall(rf"^(\S+)[ \t]+{_NUMBER}\b", text, re.MULTILINE)))
        return SolutionFile(objective=objective, rounding=rounding, variables=variables)
    try:
        message, values, code = parse_sol(text)
    except (ValueError, IndexError):
        raise InputError(f"{path} is not a solution in AMPL's text form (.sol), nor one with names.") from None
    status = None if code is None else _CODES[min(max(code, 0) // 100, len(_CODES) - 1)]
    # "Ipopt 3.14.19" of "Ipopt 3.14.19: Optimal …".
    program = re.match(r"([^:\n]{1,60}?)\s*+(?::|$)", message)
    name = program[1] if program else None
    said = SolutionFile(None, name, status, " ".join(message.split()), *_objective(message))
    if not values:
        return said
    names_file = next((each for each in columns if each.is_file()), None)
    if names_file is None:
        raise InputError(f"{path} needs the names of the variables, in {columns[0].name} beside it.")
    names = names_file.read_text(encoding="utf-8").split()
    if len(names) != len(values):
        raise InputError(f"{path} has {len(values)} variables, but {names_file} names {len(names)}.")
    return replace(said, variables=dict(zip(names, values)))


def parse_sol(text: str) -> tuple[str, list[float], int | None]:
    """Return the message, the variables' values and the result code of AMPL's ``.sol`` file; ValueError where it is
    none.

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


def _objective(message: str) -> tuple[float | None, float]:
    """Return the value that solvers print after the word "objective", and half a unit of its last digit."""
    found = re.search(rf"\bobjective(?: value)?\s*+[:=]?\s*+{_NUMBER}", message, re.IGNORECASE)
    if found is None:
        return None, 0.0
    digits, _, power = found[1].lower().partition("e")
    return float(found[1]), 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


# --- GAMS -------------------------------------------------------------------------------------------------------------


def _gams_status(of_solver: str, of_model: str) -> str:
    return _GAMS_MODEL.get(int(of_model), "error") if of_solver == "1" else _GAMS_SOLVER.get(int(of_solver), "error")


def _read_listing(path: Path, columns: list[Path]) -> SolutionFile:
    text = path.read_text(encoding="utf-8")
    head, solver = re.match(r"GAMS (\S+)", text), re.search(r"^ ++SOLVER ++(\S+)", text, re.MULTILINE)
    kinds = r"^\*{4} SOLVER STATUS +(\d+)(.*)\s^\*{4} MODEL STATUS +(\d+)(.*)$"
    said = re.search(kinds, text[solver.end() :] if solver else "", re.MULTILINE)
    if head is None or solver is None or said is None:
        raise InputError(f"{path} is not a listing of GAMS in which a model was solved.")
    status = _gams_status(said[1], said[3])
    variables = _named(re.findall(r"VARIABLE (\w+)\.L += +(\S+)", text))
    if not variables and status in ("optimal", "acceptable"):
        raise InputError(f"{path} does not display the levels of the variables, as our .gms files make GAMS do.")
    # Eight decimals.
    value, rounding = variables.pop("GAMS_OBJECTIVE", None), 0.5e-8
    message = f"{said[2].strip()}; {said[4].strip()}"
    return SolutionFile(None, f"{solver[1]} (GAMS {head[1]})", status, message, value, rounding, variables)


def _read_gdx(path: Path, columns: list[Path]) -> SolutionFile:
    program = shutil.which("gdxdump")
    if program is None:
        raise InputError(f"{path} is read by gdxdump, a program of GAMS, which is not on the PATH.")
    done = subprocess.run([program, str(path)], capture_output=True, text=True, errors="replace", check=False)
    if "Variable q_0_ " not in done.stdout:
        raise InputError(f"{path} has no variable q_0_, says gdxdump: {' '.join(done.stdout.split())[:200]}")
    return parse_dump(done.stdout)


def parse_dump(text: str) -> SolutionFile:
    """Return what ``gdxdump`` prints of the variables, whose levels it leaves out where they are zero, and of the
    status."""
    levels = re.findall(r"^\w+ +Variable (\w+) /(?:L ([^, ]+))?", text, re.MULTILINE)
    variables = _named((name, level or "0") for name, level in levels)
    codes = dict(re.findall(r"^Scalar (MODELSTAT|SOLVESTAT)\b.* / (\d+)", text, re.MULTILINE))
    status = _gams_status(codes["SOLVESTAT"], codes["MODELSTAT"]) if len(codes) == 2 else None
    return SolutionFile(objective=variables.pop("GAMS_OBJECTIVE", None), status=status, variables=variables)


# --- CSV and JSON -----------------------------------------------------------------------------------------------------


def _read_csv(path: Path, columns: list[Path]) -> SolutionFile:
    return SolutionFile(np.array(read_risk_file(path, ("weight",)).values))


#: What a JSON may say beside the weights, and what it must be then.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "status": (lambda value: isinstance(value, str) and value in set(Status), f"one of {', '.join(Status)}"),
    "objective": (lambda value: type(value) in (int, float), "a number"),
    "solver": (lambda value: isinstance(value, str), "a text"),
    "message": (lambda value: isinstance(value, str), "a text"),
}


def _read_json(path: Path, columns: list[Path]) -> SolutionFile:
    found = json.loads(path.read_text(encoding="utf-8"))
    fields: dict[str, Any] = found if isinstance(found, dict) else {"posterior": found}
    weights = fields.get("posterior")
    if not isinstance(weights, list) or not all(type(each) in (int, float) for each in weights):
        raise InputError(f"{path} has no list of numbers 'posterior'.")
    given = {name: fields[name] for name in _FIELDS if fields.get(name) is not None}
    for name, value in given.items():
        fits, expected = _FIELDS[name]
        if not fits(value):
            raise InputError(f"{path} has the {name} {reprlib.repr(value)}; it must be {expected}.")
    if "objective" in given:
        given["objective"] = float(given["objective"])
    return SolutionFile(np.array(weights, dtype=float), **given)


_READERS = {".sol": _read_sol, ".lst": _read_listing, ".gdx": _read_gdx, ".csv": _read_csv, ".json": _read_json}
