"""Problems as files for other people's solvers, and a JSON with the proven optimum beside them.

The models are those of :func:`pacb_models.models.pyomo_models.pyomo_model`, with the names of variables and
constraints and with the start (the prior), in the formats of :mod:`.model_files`. Beside them stands what test sets
rarely have: the certified global minimum of a non-convex program, a lower bound, the posterior that attains it, and all
other local minima.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pacb_models import BoundProblem, __version__, solve
from pacb_models.errors import UnsupportedProblemError
from pacb_models.files import write_atomically
from pacb_models.models import pyomo_models
from pacb_models.problem_file import as_record
from pacb_models.validation import check_choice

from .families import FAMILIES, sentence
from .floors import add_floors, enclosure
from .model_files import DEFAULT, FORMATS, FORMULATIONS, without_suffixes
from .problem import Problem

#: A model with more weights than this is not written, only its data: Pyomo needs minutes and gigabytes for it.
LARGEST_MODEL = 10_000


def export(
    recipe: Problem,
    directory: str | Path,
    formats: Iterable[str] = DEFAULT,
    formulation: str | None = None,
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
    formats : sequence of {"nl", "gms", "bar", "lp", "mps", "clarabel", "tex"}
        See :mod:`.model_files`.
    formulation : {"lifted", "substituted", "squares", "touching"}, optional
        See :meth:`~pacb_models.BoundProblem.pyomo_model` and :func:`.model_files.touching_model`; what suits each
        format by default.
    largest : int
        Problems with more classifiers are written as data only.
    suffixes : bool
        Whether the models carry ``scaling_factor``, which some readers refuse.
    floors : bool
        Keep the weights, and what is computed from them, away from zero (see :mod:`.floors`).
    """
    problem = recipe.build()
    stem = recipe.name.replace("/", "_")
    chosen = [check_choice("formats", name, tuple(FORMATS)) for name in formats] if problem.size <= largest else []
    record = _record(recipe, problem)
    files: dict[str, bytes] = {}
    for name in chosen:
        form = record["models"][name] = FORMATS[name].check(name, formulation)
        model = FORMULATIONS[form](problem, record["posterior"])
        if floors:
            check_choice("with floors, the formulation", form, pyomo_models.FORMULATIONS)
            record["floors"] = add_floors(model, problem) | enclosure(problem, record)
        with nullcontext() if suffixes else without_suffixes(model):
            files |= FORMATS[name].write(model, stem)
    written = []
    for name, content in {f"{stem}.json": json.dumps(record, allow_nan=False).encode() + b"\n", **files}.items():
        write_atomically(Path(directory) / name, content)
        written.append(Path(directory) / name)
    return written


def _record(recipe: Problem, problem: BoundProblem) -> dict[str, Any]:
    """Everything that defines the problem, and what is known of it."""
    return {
        **as_record(problem),
        "H": problem.size,
        "name": recipe.name,
        "dataset": recipe.dataset,
        "description": sentence(recipe.dataset) if recipe.dataset in FAMILIES else "",
        "written_by": f"pacb-models {__version__}",
        "models": {},
        "log_constant_value": problem.log_constant,
        "coefficient": problem.coefficient,
        "exponent": problem.exponent,
        **optimum_of(problem),
    }


def optimum_of(problem: BoundProblem) -> dict[str, Any]:
    """The certified minimum, or null where no method certifies one; all local minima, best first."""
    try:
        solution = solve(problem)
    except UnsupportedProblemError:
        return {"optimum": None, "lower_bound": None, "posterior": None, "local_minima": []}
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
