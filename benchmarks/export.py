"""Problems as files for other people's solvers: ``.nl``, ``.gms`` and ``.bar``, and a JSON with the proven optimum.

The models are those of :func:`pacb_models.algebraic.pyomo_models.pyomo_model`, written by Pyomo with the names of
variables and constraints and with the start (the prior). Beside them stands what test sets rarely have: the certified
global minimum of a non-convex program, a lower bound, the posterior that attains it, and all other local minima.
"""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pacb_models import BoundProblem, __version__, solve
from pacb_models.files import write_atomically
from pacb_models.validation import check_choice

from .families import FAMILIES, sentence
from .problems import Problem
from .worker import facts

#: File formats that Pyomo writes: AMPL's, GAMS' and BARON's.
FORMATS = ("nl", "gms", "bar")

#: A model with more weights than this is not written, only its data: Pyomo needs minutes and gigabytes for it.
LARGEST_MODEL = 10_000

#: Of the JSON beside each model; rises when a field changes its meaning.
SCHEMA = 1


def export(
    recipe: Problem,
    directory: str | Path,
    formats: Iterable[str] = FORMATS,
    formulation: str = "lifted",
    largest: int = LARGEST_MODEL,
) -> list[Path]:
    """Write one problem as models and data; what was written, the data first.

    Parameters
    ----------
    recipe : Problem
        Its name is the name of the files.
    directory : path
        Made when it does not exist.
    formats : sequence of {"nl", "gms", "bar"}
        An ``.nl`` file comes with ``.col`` and ``.row``, the names of its variables and constraints.
    formulation : {"lifted", "direct"}
        See :meth:`~pacb_models.BoundProblem.pyomo_model`.
    largest : int
        Problems with more classifiers are written as data only.
    """
    problem = recipe.build()
    stem = recipe.name.replace("/", "_")
    chosen = [check_choice("formats", name, FORMATS) for name in formats] if problem.size <= largest else []
    contents = {f"{stem}.json": _as_json(recipe, problem, chosen, formulation).encode()}
    if chosen:
        contents |= _models(problem, stem, chosen, formulation)
    written = []
    for name, content in contents.items():
        write_atomically(Path(directory) / name, content)
        written.append(Path(directory) / name)
    return written


def _models(problem: BoundProblem, stem: str, formats: list[str], formulation: str) -> dict[str, bytes]:
    """The files that Pyomo writes, by name."""
    model = problem.pyomo_model(formulation)
    with tempfile.TemporaryDirectory() as folder:
        for name in formats:
            # BARON's writer refuses suffixes that it does not know; the others can do without this one.
            if name == "bar":
                model.scaling_factor.deactivate()
            model.write(str(Path(folder) / f"{stem}.{name}"), io_options={"symbolic_solver_labels": True})
            model.scaling_factor.activate()
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _as_json(recipe: Problem, problem: BoundProblem, formats: list[str], formulation: str) -> str:
    record = {
        "schema": SCHEMA,
        "name": recipe.name,
        "dataset": recipe.dataset,
        "description": sentence(recipe.dataset) if recipe.dataset in FAMILIES else "",
        "written_by": f"pacb-models {__version__}",
        "models": formats,
        "formulation": formulation if formats else None,
        **_data(problem),
        **_optimum(problem),
    }
    return json.dumps(record, allow_nan=False) + "\n"


def _data(problem: BoundProblem) -> dict[str, Any]:
    """Everything that defines the problem; numbers in JSON keep all their digits."""
    return {
        **facts(problem),
        "log_constant_value": problem.log_constant,
        "coefficient": problem.coefficient,
        "exponent": problem.exponent,
        "risks": problem.risks.tolist(),
        "prior": problem.prior.tolist(),
    }


def _optimum(problem: BoundProblem) -> dict[str, Any]:
    """The certified minimum, or null where no method certifies one; all local minima, best first."""
    solution = solve(problem)
    if not solution.is_global or solution.posterior is None:
        return {"optimum": None, "lower_bound": solution.lower_bound, "posterior": None, "local_minima": []}
    best = {
        "bound": solution.bound,
        "empirical_risk": solution.empirical_risk,
        "divergence": solution.divergence,
        "support_size": solution.support_size,
    }
    return {
        "optimum": solution.bound,
        "lower_bound": solution.lower_bound,
        "posterior": solution.posterior.tolist(),
        "local_minima": [best, *(minimum._asdict() for minimum in solution.local_minima)],
    }


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
