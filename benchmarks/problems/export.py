"""Problems as files for other people's solvers, and beside them a JSON with the proven optimum, and the proof.

The models are those of :func:`pacb_models.models.pyomo_models.pyomo_model`, with the names of variables and
constraints and with the start (the prior), in the formats of :mod:`.model_files`. Beside them stands what test sets
rarely have: the global minimum of a non-convex program, a file that proves it, the posterior that attains it, and the
other local minima that are known. :func:`pack` makes one archive of it all that needs no package.
"""

import inspect
import io
import json
import tarfile
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from string import Template
from typing import Any, Self

import numpy as np

from pacb_models import BoundProblem, __version__, solve
from pacb_models.errors import UnsupportedProblemError
from pacb_models.files import write_atomically
from pacb_models.models import pyomo_models
from pacb_models.problem_file import as_record
from pacb_models.proofs import Proof, moments, verify, votes
from pacb_models.proofs import files as proof_files
from pacb_models.solution import Solution
from pacb_models.validation import check_choice

from .families import FAMILIES, every_instance, sentence
from .model_files import DEFAULT, FORMATS, FORMULATIONS, add_floors, mixture, without_suffixes
from .problem import Problem

#: A model with more weights than this is not written, only its data: Pyomo needs minutes and gigabytes for it.
LARGEST_MODEL = 10_000
#: How the name of a proof's file ends.
PROOF = ".proof.json"


@dataclass(frozen=True)
class Optimum:
    """The certified minimum, or None where no method certifies one; what no posterior is below; all local minima."""

    optimum: float | None = None
    lower_bound: float | None = None
    posterior: list[float] | None = None
    #: Those that were met, best first.
    local_minima: Sequence[dict[str, float]] = ()

    @classmethod
    def of(cls, solution: Solution | None) -> Self:
        """Return what a solution of the exact method says, if there is one."""
        if solution is None or not solution.is_global or solution.posterior is None:
            return cls(lower_bound=None if solution is None else solution.lower_bound)
        fields = ("bound", "empirical_risk", "divergence", "support_size")
        others = [each._asdict() for each in solution.local_minima]
        minima = [{name: getattr(solution, name) for name in fields}, *others]
        return cls(solution.bound, solution.lower_bound, solution.posterior.tolist(), minima)


def exact_solution(problem: BoundProblem) -> Solution | None:
    """Return the solution of the exact method, where one takes the problem."""
    try:
        return solve(problem)
    except UnsupportedProblemError:
        return None


def export(
    recipe: Problem,
    directory: str | Path,
    formats: Iterable[str] = DEFAULT,
    formulation: str | None = None,
    largest: int = LARGEST_MODEL,
    suffixes: bool = True,
    floors: bool = False,
) -> list[Path]:
    """Write one problem as data, proof and models; what was written, the data first.

    Parameters
    ----------
    recipe : Problem
        Its name is the name of the files.
    directory : path
        Made when it does not exist.
    formats : sequence of {"nl", "gms", "bar", "lp", "mps", "clarabel", "tex", "inc", "jl"}
        See :mod:`.model_files`.
    formulation : {"lifted", "substituted", "squares", "touching"}, optional
        See :meth:`~pacb_models.BoundProblem.pyomo_model` and :func:`.model_files.touching_model`; what suits each
        format by default.
    largest : int
        Problems with more classifiers are written as data only.
    suffixes : bool
        Whether the models carry ``scaling_factor``, which some readers refuse.
    floors : bool
        Keep the weights, and what is computed from them, away from zero (see :func:`.model_files.add_floors`).
    """
    problem = recipe.build()
    stem = recipe.name.replace("/", "_")
    chosen = [check_choice("formats", name, tuple(FORMATS)) for name in formats] if problem.size <= largest else []
    solution = exact_solution(problem)
    optimum = Optimum.of(solution)
    record: dict[str, Any] = {
        **as_record(problem),
        "H": problem.size,
        "name": recipe.name,
        "dataset": recipe.dataset or recipe.family,
        "description": sentence(recipe.family) if recipe.family in FAMILIES else "",
        "written_by": f"pacb-models {__version__}",
        "models": {},
        "proof": None,
        "log_constant_value": problem.log_constant,
        "coefficient": problem.coefficient,
        "exponent": problem.exponent,
        **vars(optimum),
    }
    files: dict[str, bytes] = {}
    if solution is not None and isinstance(solution.proof, Proof) and solution.posterior is not None:
        record["proof"] = stem + PROOF
        files[stem + PROOF] = _line(proof_files.to_record(problem, solution.proof, solution))
    for name in chosen:
        write, forms = FORMATS[name]
        form = record["models"][name] = check_choice(f"the formulation of {name}", formulation or forms[0], forms)
        model = FORMULATIONS[form](problem, optimum.posterior)
        if floors:
            check_choice("with floors, the formulation", form, pyomo_models.FORMULATIONS)
            record["floors"] = add_floors(model, problem) | _enclosure(problem, optimum)
        with nullcontext() if suffixes else without_suffixes(model):
            files |= write(model, stem)
    return _written(directory, {f"{stem}.json": _line(record), **files})


def _line(record: Any) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def _written(directory: str | Path, files: dict[str, bytes]) -> list[Path]:
    for name, content in files.items():
        write_atomically(Path(directory) / name, content)
    return [Path(directory) / name for name in files]


def _enclosure(problem: BoundProblem, known: Optimum) -> dict[str, float | None]:
    """Return between which values the minimum of the model with floors lies, where that without is proven."""
    optimum = known.optimum
    if optimum is None:
        return {"optimum": None, "lower_bound": known.lower_bound, "above_optimum": None}
    attained = max(problem.bound(mixture(problem, np.array(known.posterior))), optimum)
    return {"optimum": attained, "lower_bound": optimum, "above_optimum": attained - optimum}


# --- The library ------------------------------------------------------------------------------------------------------

#: Two minima nearer than this are one.
SAME = 1e-9

#: What an entry of the index repeats of a problem's own file.
REPEATED = ("name", "problem_kind", "dataset", "H", "m", "delta", "distance", "divergence", "order", "optimum")


def pack(directory: str | Path, written: Sequence[Path], path: str | Path, largest: int) -> None:
    """Write an index, a page for readers and the checker beside exported problems, and pack them all into ``path``.

    ``written`` are the problems' files in the directory; those with more classifiers than ``largest`` have no models.
    """
    entries = _index(written)
    checker = inspect.getsource(verify)
    page = Template(resources(__package__).joinpath("library.md").read_text(encoding="utf-8"))
    facts = {"count": len(entries), "largest": largest, "lines": len(checker.splitlines()), "version": __version__}
    index = json.dumps({"written_by": f"pacb-models {__version__}", "problems": entries}, indent=1) + "\n"
    added = {"index.json": index, "README.md": page.substitute(facts), "verify.py": checker}
    added |= {"votes.py": inspect.getsource(votes), "moments.py": inspect.getsource(moments)}
    paths = _written(directory, {name: text.encode() for name, text in added.items()})
    archive(directory, [*written, *paths], path)


def _index(written: Iterable[Path]) -> list[dict[str, object]]:
    """Return an entry for each problem among some files: what it is, its optimum with the proof, and its local
    minima."""
    known = {file.name: file for file in written}
    seconds = {frozen.name: frozen.second_minimum for frozen in every_instance()}
    entries = []
    for name, file in sorted(known.items()):
        if not name.endswith(".json") or name.endswith((PROOF, ".clarabel.json")):
            continue
        record = json.loads(file.read_bytes())
        entry = {field: record[field] for field in REPEATED}
        entry["constraints"] = [each["kind"] for each in record.get("constraints", ())]
        # Those that were met, and the second one of a frozen problem: minima that a proof does not need may not be met.
        minima, second = [minimum["bound"] for minimum in record["local_minima"]], seconds.get(record["name"])
        if second is not None and min((abs(each - second) for each in minima), default=0.0) > SAME:
            minima.append(second)
        entry["local_minima"] = sorted(minima)
        if record["proof"] is not None:
            proof = json.loads(known[record["proof"]].read_bytes())
            entry["lower_bound"], entry["proof_digest"] = proof["lower_bound"], proof["problem_digest"]
            entry["gap"] = proof["bound"] - proof["lower_bound"]
        entry["files"] = [each for each in sorted(known) if each.startswith(f"{name.removesuffix('.json')}.")]
        entries.append(entry)
    return entries


def archive(directory: str | Path, files: Iterable[Path], path: str | Path) -> None:
    """Pack files of a directory into a ``.tar.xz``: the same bytes from the same files, without dates and owners."""
    buffer = io.BytesIO()
    # Level 1: the default takes minutes for a collection of 150 MB, which this level makes 17 MB.
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=1) as packed:
        for file in sorted(files):
            entry = tarfile.TarInfo(f"{Path(path).name.removesuffix('.tar.xz')}/{file.relative_to(directory)}")
            entry.size = file.stat().st_size
            with file.open("rb") as content:
                packed.addfile(entry, content)
    write_atomically(path, buffer.getvalue())
