"""Problems as files for other people's solvers: ``.nl``, ``.gms`` and ``.bar``, and a JSON with the proven optimum.

The models are those of :func:`pacb_models.models.pyomo_models.pyomo_model`, written by Pyomo with the names of
variables and constraints and with the start (the prior). Beside them stands what test sets rarely have: the certified
global minimum of a non-convex program, a lower bound, the posterior that attains it, and all other local minima.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pacb_models import BoundProblem, __version__, solve
from pacb_models.files import write_atomically
from pacb_models.problem_file import as_record
from pacb_models.validation import check_choice

from .families import FAMILIES, sentence
from .floors import add_floors, enclosure
from .model_files import DEFAULT, FORMATS, model_files
from .problem import Problem

#: A model with more weights than this is not written, only its data: Pyomo needs minutes and gigabytes for it.
LARGEST_MODEL = 10_000


def export(
    recipe: Problem,
    directory: str | Path,
    formats: Iterable[str] = DEFAULT,
    formulation: str = "lifted",
    largest: int = LARGEST_MODEL,
    suffixes: bool = True,
    floors: bool = False,
) -> list[Path]:
    """Write one problem as models and data; what was written, the data first.

    Parameters
    ----------
    recipe : Problem
        Its name is the name of the files.
    directory : path
        Made when it does not exist.
    formats : sequence of {"nl", "gms", "bar", "tex"}
        An ``.nl`` file comes with ``.col`` and ``.row``, the names of its variables and constraints. LaTeX (``tex``)
        is for people.
    formulation : {"lifted", "substituted"}
        See :meth:`~pacb_models.BoundProblem.pyomo_model`.
    largest : int
        Problems with more classifiers are written as data only.
    suffixes : bool
        Whether the models carry ``scaling_factor``, which some readers refuse.
    floors : bool
        Keep the weights, and what is computed from them, away from zero (see :mod:`.floors`).
    """
    problem = recipe.build()
    stem = recipe.name.replace("/", "_")
    chosen = [check_choice("formats", name, FORMATS) for name in formats] if problem.size <= largest else []
    record, models = _record(recipe, problem, chosen, formulation), {}
    if chosen:
        model = problem.pyomo_model(formulation)
        if floors:
            record["floors"] = add_floors(model, problem) | _with_floors(problem, record)
        models = model_files(model, stem, chosen, suffixes)
    written = []
    contents = {f"{stem}.json": json.dumps(record, allow_nan=False).encode() + b"\n", **models}
    for name, content in contents.items():
        write_atomically(Path(directory) / name, content)
        written.append(Path(directory) / name)
    return written


def _record(recipe: Problem, problem: BoundProblem, formats: list[str], formulation: str) -> dict[str, Any]:
    """Everything that defines the problem, and what is known of it."""
    return {
        **as_record(problem),
        "H": problem.size,
        "name": recipe.name,
        "dataset": recipe.dataset,
        "description": sentence(recipe.dataset) if recipe.dataset in FAMILIES else "",
        "written_by": f"pacb-models {__version__}",
        "models": formats,
        "formulation": formulation if formats else None,
        "log_constant_value": problem.log_constant,
        "coefficient": problem.coefficient,
        "exponent": problem.exponent,
        **optimum_of(problem),
    }


def _with_floors(problem: BoundProblem, record: dict[str, Any]) -> dict[str, Any]:
    """The proven minimum of the model with floors, where that without is proven."""
    if record["optimum"] is None:
        return {"optimum": None, "lower_bound": record["lower_bound"], "above_optimum": None}
    return enclosure(problem, np.array(record["posterior"]), record["optimum"])


def optimum_of(problem: BoundProblem) -> dict[str, Any]:
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
