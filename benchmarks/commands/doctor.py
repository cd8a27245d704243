"""What works on this machine: solvers, package versions, Ipopt, data sets, and how to get what is missing.

Versions are read without importing packages, and native code is run in a process of its own: a broken library is a
finding, and not the end of the examination.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models import terminal
from pacb_models.commands.program import DONE, add_command
from pacb_models.solvers.nonlinear import native

if TYPE_CHECKING:
    from packaging.requirements import Requirement

#: The extras of setup.cfg that matter to those who use the package; the others serve its developers.
EXTRAS = ("ipopt", "solvers", "bench", "dask")
#: Worth knowing though not ours to require: CVXPY brings SCS, and joblib's Dask backend lives in distributed.
INDIRECT = ("scs", "distributed")
#: Ipopt takes milliseconds; the rest is for imports on a slow disk.
PROBE_SECONDS = 120
SETUP_COMMAND = "make setup (in a checkout), or: conda install -c conda-forge cyipopt pynumero_libraries"


@dataclass(frozen=True)
class Checked:
    """One line of the report: a version, a path or "yes", or None for what is missing, with the ``remedy``."""

    name: str
    found: str | None
    remedy: str = ""
    note: str = ""

    @property
    def good(self) -> bool | None:
        """False for what is missing or comes with a remedy, True for a solver that works, None for a mere fact."""
        if self.found is None or self.remedy:
            return False
        return True if self.found == "available" else None

    def __str__(self) -> str:
        note, remedy = self.note and f"  ({self.note})", self.remedy and f"  -> {self.remedy}"
        return f"{self.found or 'MISSING'}{note}{remedy}"


#: The lines of each section.
Sections = dict[str, list[Checked]]


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(subparsers, "doctor", _doctor, "say which solvers work here, and how to get the others")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _doctor(options: argparse.Namespace) -> int:
    report = examine()
    if options.json:
        print(json.dumps({title: [asdict(line) for line in lines] for title, lines in report.items()}, allow_nan=False))
    else:
        print_report(report)
    return DONE


def examine() -> Sections:
    """Return what there is to say."""
    sections = {"system": _system, "solvers": _solvers, "packages": _packages, "ipopt": _ipopt, "data": _data}
    return {title: list(look()) for title, look in sections.items()}


def print_report(report: Sections) -> None:
    """Print how many solvers work and what is missing, and a table for each section, with commands that install."""
    width = max(len(line.name) for found in report.values() for line in found)
    lines, grids = [], []
    columns = [terminal.Column("", numeric=False), terminal.Column("", numeric=False)]
    for title, found in report.items():
        lines += [title, *(f"  {line.name:<{width}}  {line}" for line in found), ""]
        rows = [terminal.Line([line.name, str(line)], line.good) for line in found]
        grids.append(terminal.Grid(title, columns, rows))
    solvers = report.get("solvers", [])
    working = sum(line.good is True for line in solvers)
    wanting = dict.fromkeys(line.name for found in report.values() for line in found if line.good is False)
    text = f"Everything works (solvers: {working})."
    if wanting:
        text = f"{working} of {len(solvers)} solvers work. Missing, or not the version that is needed: "
        text += f"{', '.join(wanting)}."
    terminal.show(terminal.Line([text], not wanting), grids, "\n".join(lines))


def _system() -> Iterator[Checked]:
    yield Checked("python", platform.python_version(), note=sys.prefix)
    yield Checked("platform", platform.platform())
    yield Checked("cores", str(os.cpu_count()))
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    yield Checked("browser", browser, "" if browser else "apt-get install chromium", "only to test the report")


def _solvers() -> Iterator[Checked]:
    from pacb_models.solving.registry import get_solver, solver_names

    if not solver_names():
        yield Checked("any", None, "pip install -e . (solvers are found through the installed package's entry points)")
    for name in solver_names():
        try:
            reason = get_solver(name).missing()
        except Exception as error:  # a third party's solver may fail in any way; the others are still reported
            reason = f"cannot be loaded, {type(error).__name__}: {error}"
        yield Checked(name, None, note=reason) if reason else Checked(name, "available")


def _packages() -> Iterator[Checked]:
    from packaging.requirements import Requirement

    declared: list[str] = []
    try:
        declared = metadata.requires("pacb-models") or []
    except metadata.PackageNotFoundError:
        yield Checked("pacb-models", None, "pip install -e .", "not installed, only imported from a folder")
    wanted: dict[str, Requirement] = {}
    for needed in map(Requirement, (*declared, *INDIRECT)):
        # Two extras may name the same package.
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in EXTRAS):
            wanted.setdefault(needed.name, needed)
    yield from map(_package, wanted.values())


def _package(requirement: Requirement) -> Checked:
    """Return a package's version, without importing it; a version that setup.cfg does not allow gets the remedy as
    well."""
    name, allowed = requirement.name, requirement.specifier
    extras = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
    remedy = SETUP_COMMAND if name == "cyipopt" else f"pip install '{name}{extras}{allowed}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Checked(name, None, remedy)
    if not allowed.contains(version, prereleases=True):
        return Checked(name, version, remedy, f"{allowed} is needed")
    return Checked(name, version)


def _ipopt() -> Iterator[Checked]:
    def checked(name: str, found: object, note: str = "") -> Checked:
        return Checked(name, str(found), note=note) if found else Checked(name, None, SETUP_COMMAND, note)

    version = "import cyipopt; print('.'.join(map(str, cyipopt.IPOPT_VERSION)))"
    yield checked("Ipopt through cyipopt", *_probe(version))
    yield checked("PyNumero ASL library", native.find_asl_library())
    program = native.find_ipopt_executable()
    yield checked("ipopt program", program or "none", "needed only without the two above")
    solved = f"from {__name__} import solve_small_problem; print(solve_small_problem())"
    yield checked("a Pyomo model solved", *_probe(solved))


def _probe(code: str) -> tuple[str | None, str]:
    """Return what code prints in a fresh interpreter, or None and what went wrong in one line."""
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {PROBE_SECONDS} s"
    if done.returncode < 0:
        return None, f"the process was ended by signal {-done.returncode}"
    answer, complaint = (text.strip().rpartition("\n")[2] for text in (done.stdout, done.stderr))
    return (answer, "") if done.returncode == 0 else (None, complaint)


def solve_small_problem() -> str:
    """Minimise a bound by the solver ``ipopt``; RuntimeError unless the exact solver finds the same.

    Pyomo's own ``available()`` is not enough: it is true without the ASL library.
    """
    import pacb_models as pm

    reason = pm.available_solvers()["ipopt"]
    if not reason.available:
        raise RuntimeError(str(reason))
    problem = pm.BoundProblem([0.1, 0.2, 0.3], m=100)
    found, best = pm.solve(problem, "ipopt"), pm.solve(problem)
    if abs(found.bound - best.bound) > 1e-6:
        raise RuntimeError(f"Ipopt ended with {found.status} at {found.bound} instead of {best.bound}")
    return "yes"


def _data() -> Iterator[Checked]:
    from ..experiments.datasets import LOADERS, cache_directory

    directory = os.environ.get("PACB_DATA")
    if not directory:
        note = "optional: wdbc and waveform need no file, the others are downloaded when they are asked for"
        yield Checked("PACB_DATA", "not set", note=note)
    elif not Path(directory).is_dir():
        remedy = "set it to a directory with the raw UCI files"
        yield Checked("PACB_DATA", None, remedy, f"{directory} is no directory")
    else:
        yield Checked("PACB_DATA", directory)
    folder = Path(directory) if directory else cache_directory()
    files = list(dict.fromkeys(loader.file.name for loader in LOADERS.values()))
    absent = [file for file in files if not (folder / file).is_file()]
    note = f"not there: {', '.join(absent)}" if absent else ""
    yield Checked("raw files", f"{len(files) - len(absent)} of {len(files)} in {folder}", note=note)
