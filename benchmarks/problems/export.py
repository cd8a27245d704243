"""Problems as files for other people's solvers, and beside them a JSON with the proven optimum, and the proof.

The models are those of :func:`pacb_models.models.pyomo_models.pyomo_model`, with the names of variables and
constraints and with the start (the prior), in the formats of :mod:`.model_files`. Beside them stands what test sets
rarely have: the global minimum of a non-convex program, a file that proves it, the posterior that attains it, and the
other local minima that are known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pacb_models import BoundProblem, __version__
from pacb_models.files import write_atomically
from pacb_models.models import pyomo_models
from pacb_models.problem_file import as_record
from pacb_models.proofs import Proof
from pacb_models.proofs import files as proof_files
from pacb_models.validation import check_choice

from .families import FAMILIES, sentence
from .floors import add_floors, enclosure
from .model_files import DEFAULT, FORMATS, FORMULATIONS, without_suffixes
from .optimum import Optimum, exact_solution
from .problem import Problem

#: A model with more weights than this is not written, only its data: Pyomo needs minutes and gigabytes for it.
LARGEST_MODEL = 10_000
#: How the name of a proof's file ends.
PROOF = ".proof.json"


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
    solution = exact_solution(problem)
    optimum = Optimum.of(solution)
    record = _record(recipe, problem, optimum)
    files: dict[str, bytes] = {}
    if solution is not None and isinstance(solution.proof, Proof) and solution.posterior is not None:
        proof = proof_files.to_record(problem, solution.proof, solution)
        record["proof"] = stem + PROOF
        files[record["proof"]] = json.dumps(proof, allow_nan=False).encode() + b"\n"
    for name in chosen:
        form = record["models"][name] = FORMATS[name].check(name, formulation)
        model = FORMULATIONS[form](problem, optimum.posterior)
        if floors:
            check_choice("with floors, the formulation", form, pyomo_models.FORMULATIONS)
            record["floors"] = add_floors(model, problem) | enclosure(problem, optimum)
        with nullcontext() if suffixes else without_suffixes(model):
            files |= FORMATS[name].write(model, stem)
    written = []
    for name, content in {f"{stem}.json": json.dumps(record, allow_nan=False).encode() + b"\n", **files}.items():
        write_atomically(Path(directory) / name, content)
        written.append(Path(directory) / name)
    return written


def _record(recipe: Problem, problem: BoundProblem, optimum: Optimum) -> dict[str, Any]:
    """Everything that defines the problem, and what is known of it."""
    return {
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
