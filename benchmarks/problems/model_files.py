"""A bound minimisation in the file formats of modelling languages and solvers, written by Pyomo."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyomo.environ as pyo

#: AMPL's, GAMS' and BARON's format ...
DEFAULT = ("nl", "gms", "bar")
#: ... and LaTeX, which is written when it is asked for.
FORMATS = (*DEFAULT, "tex")

#: The writer's defaults would multiply by the scaling factors, and take variables out.
_AS_IT_IS = {"scale_model": False, "linear_presolve": False}


def model_files(model: pyo.ConcreteModel, stem: str, formats: Iterable[str], suffixes: bool = True) -> dict[str, bytes]:
    """The content of each file by its name; the model stays as it is."""
    found: dict[str, bytes] = {}
    for name in formats:
        if name == "nl":
            found |= nl_files(model, stem, suffixes)
        elif name == "tex":
            found[f"{stem}.tex"] = _latex(model)
        else:
            # BARON's writer refuses suffixes that it does not know.
            found[f"{stem}.{name}"] = _labelled(model, name, suffixes and name != "bar")
    return found


def nl_files(model: pyo.ConcreteModel, stem: str, suffixes: bool = True) -> dict[str, bytes]:
    """The model as ``.nl`` with the names of variables in ``.col``, of constraints and objective in ``.row``.

    The ``.nl`` has no comments: CasADi's reader and others take them for instructions.
    """
    from pyomo.repn.plugins.nl_writer import NLWriter

    text = io.StringIO()
    with _Suffixes(model, suffixes):
        # Without labels, which the writer would put into comments, too.
        written = NLWriter().write(model, text, symbolic_solver_labels=False, **_AS_IT_IS)
    names = {"col": written.variables, "row": [*written.constraints, *written.objectives]}
    listed = {f"{stem}.{kind}": "".join(f"{each.name}\n" for each in named) for kind, named in names.items()}
    content = {f"{stem}.nl": re.sub(r"[ \t]*(#.*)?$", "", text.getvalue(), flags=re.MULTILINE), **listed}
    return {name: lines.encode() for name, lines in content.items()}


def _labelled(model: pyo.ConcreteModel, extension: str, suffixes: bool = True) -> bytes:
    with tempfile.TemporaryDirectory() as folder, _Suffixes(model, suffixes):
        path = Path(folder) / f"model.{extension}"
        model.write(str(path), io_options={"symbolic_solver_labels": True})
        return path.read_bytes()


def _latex(model: pyo.ConcreteModel) -> bytes:
    from pyomo.contrib.latex_printer import latex_printer

    text = io.StringIO()
    latex_printer(model, ostream=text)
    # LaTeX takes no quotes and commas of the model's name in a label.
    return re.sub(r" *\\label\{[^}]*\}", "", text.getvalue()).encode()


class _Suffixes:
    """Leaves a model's suffixes out meanwhile, unless they are wanted."""

    def __init__(self, model: Any, wanted: bool) -> None:
        self._suffix = None if wanted else model.component("scaling_factor")

    def __enter__(self) -> None:
        if self._suffix is not None:
            self._suffix.deactivate()

    def __exit__(self, *error: object) -> None:
        if self._suffix is not None:
            self._suffix.activate()
