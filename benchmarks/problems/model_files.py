"""A bound minimisation in the file formats of modelling languages and solvers, most of them written by Pyomo.

The help of ``pacb export`` lists the formats; those for quadratic rows are ``squares``, or ``touching``.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacb_models.errors import UnsupportedProblemError
from pacb_models.models import pyomo_models
from pacb_models.models.text_models import text_block

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from pacb_models import BoundProblem

#: The writer's defaults would multiply by the scaling factors, and take variables out.
_AS_IT_IS = {"scale_model": False, "linear_presolve": False}


@contextmanager
def without_suffixes(model: Any) -> Iterator[None]:
    """Leave a model's scaling factors out meanwhile, where it has some."""
    suffix = getattr(model, "scaling_factor", None)
    if suffix is not None:
        suffix.deactivate()
    try:
        yield
    finally:
        if suffix is not None:
            suffix.activate()


def nl_files(model: pyo.ConcreteModel, stem: str) -> dict[str, bytes]:
    """Return the model as ``.nl`` with the names of variables in ``.col``, of constraints and objective in ``.row``.

    The ``.nl`` has no comments: CasADi's reader and others take them for instructions.
    """
    from pyomo.repn.plugins.nl_writer import NLWriter

    text = io.StringIO()
    # Without labels, which the writer would put into comments, too.
    written = NLWriter().write(model, text, symbolic_solver_labels=False, **_AS_IT_IS)
    names = {"col": written.variables, "row": [*written.constraints, *written.objectives]}
    listed = {f"{stem}.{kind}": "".join(f"{each.name}\n" for each in named) for kind, named in names.items()}
    content = {f"{stem}.nl": re.sub(r"[ \t]*(#.*)?$", "", text.getvalue(), flags=re.MULTILINE), **listed}
    return {name: lines.encode() for name, lines in content.items()}


def _labelled(model: pyo.ConcreteModel, extension: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{extension}"
        model.write(str(path), io_options={"symbolic_solver_labels": True})
        return path.read_text()


def _gams(model: pyo.ConcreteModel, stem: str) -> dict[str, bytes]:
    """Write the model with the solution in the listing, as exact as GAMS displays numbers, for ``pacb judge``."""
    text = _labelled(model, "gms")
    shown = ",\n".join(f"  {name}.l" for name in ["GAMS_OBJECTIVE", *re.findall(r"^(\w+)\.l = ", text, re.MULTILINE)])
    return {f"{stem}.gms": f"{text}\noption decimals = 8;\ndisplay\n{shown};\n".encode()}


def _baron(model: pyo.ConcreteModel, stem: str) -> dict[str, bytes]:
    # Its writer refuses suffixes that it does not know.
    with without_suffixes(model):
        return {f"{stem}.bar": _labelled(model, "bar").encode()}


def _quadratic(extension: str, model: pyo.ConcreteModel, stem: str) -> dict[str, bytes]:
    import pyomo.environ as pyo

    for part in model.component_data_objects((pyo.Objective, pyo.Constraint)):
        expression = part.body if part.ctype is pyo.Constraint else part.expr
        if expression.polynomial_degree() not in (0, 1, 2):
            raise UnsupportedProblemError(
                f"{stem} has no .{extension} file, for linear and quadratic rows: its {part.name} is neither."
            )
    with without_suffixes(model):
        # SCIP's reader takes "x^2", but not "x ^ 2".
        return {f"{stem}.{extension}": _labelled(model, extension).replace(" ^ 2", "^2").encode()}


def _latex(model: pyo.ConcreteModel, stem: str) -> dict[str, bytes]:
    from pyomo.contrib.latex_printer import latex_printer

    text = io.StringIO()
    latex_printer(model, ostream=text)
    # LaTeX takes no quotes and commas of the model's name in a label.
    return {f"{stem}.tex": re.sub(r" *\\label\{[^}]*\}", "", text.getvalue()).encode()}


def _clarabel(problem: BoundProblem, stem: str) -> dict[str, bytes]:
    """Return what ``clarabel.load_from_file`` reads, with the weights as the first variables.

    Clarabel's problems have no constant: the bound is the value that it finds plus the file's ``offset``, which
    Clarabel passes over.
    """
    import cvxpy as cp

    if problem.posteriors is not None and problem.posteriors.support is not None:
        raise UnsupportedProblemError(f"{problem.describe()} has binary variables, which Clarabel does not know.")
    data = problem.cvxpy_problem().get_problem_data(cp.CLARABEL)[0]
    _, constant, *_ = data["param_prob"].apply_parameters()
    rate = problem.divergence_function.cone().data(problem).get("rate", 1.0)
    A, dims, size = data["A"].tocsc(), data["dims"], len(data["c"])
    cones: list[dict[str, object]] = [{"ZeroConeT": dims.zero}, {"NonnegativeConeT": dims.nonneg}]
    cones += [{"SecondOrderConeT": length} for length in dims.soc]
    cones += [{"ExponentialConeT": []}] * dims.exp + [{"PowerConeT": power} for power in dims.p3d]
    content = {
        "P": {"m": size, "n": size, "colptr": [0] * (size + 1), "rowval": [], "nzval": []},
        "q": data["c"] * rate,
        "A": {"m": A.shape[0], "n": size, "colptr": A.indptr, "rowval": A.indices, "nzval": A.data},
        "b": data["b"],
        "cones": cones,
        "offset": constant * rate,
    }
    text = json.dumps(content, default=lambda array: array.tolist())
    return {f"{stem}.clarabel.json": f"{text}\n".encode()}


def _block(extension: str, problem: BoundProblem, stem: str) -> dict[str, bytes]:
    return {f"{stem}.{extension}": text_block(problem, extension).encode()}


def touching_model(problem: BoundProblem, posterior: Any) -> pyo.ConcreteModel:
    r"""Return the convex quadratic program that touches the bound at its minimum :math:`q^*`, for solvers such as
    HiGHS.

    .. math:: \min_q\ F^* + F_L\,(L - L^*) + F_X\,(X - X^*), \quad X = \sum_i q_i^2/p_i, \quad L = \sum_i q_i l_i,

    with the bound :math:`F^*` and its slopes there. The bound is stationary at its minimum and ``X`` is convex: so
    :math:`q^*` is the minimum of this program, too, and the only one, with the same value.
    """
    import pyomo.environ as pyo

    from pacb_models.divergences.cones import NormCone
    from pacb_models.models.lifted import write_set
    from pacb_models.solver import lacking

    complaint = ""
    if posterior is None:
        complaint = "has no proven minimum that a quadratic program could touch"
    elif lacking(problem, "divergence.cone") or problem.divergence_function.cone() != NormCone(2.0):
        complaint = "has no quadratic program: its divergence is not quadratic"
    elif problem.posteriors is not None and problem.posteriors.support is not None:
        complaint = "is touched by no quadratic program: its set is not convex"
    if complaint:
        raise UnsupportedProblemError(f"{problem.describe()} {complaint}.")
    posterior = np.asarray(posterior)
    best = problem.derivatives_at(L := problem.empirical_risk(posterior), T := problem.divergence_size(posterior))
    model = pyo.ConcreteModel(name=f"{problem.distance}-{problem.divergence}, touching")
    algebra = pyomo_models.PyomoAlgebra(problem, model)
    write_set(algebra)
    linear, quadratic = algebra.average(best.L * problem.risks), algebra.mean_power(algebra.ratios, 2)
    # In terms of the statistic, the square of the size.
    slope = best.T / (2.0 * T)
    model.bound = pyo.Objective(expr=linear + slope * quadratic + (best.value - best.L * L - slope * T * T))
    return model


def _pyomo(formulation: str, problem: BoundProblem, best: Any) -> pyo.ConcreteModel:
    return problem.pyomo_model(formulation)


#: The model of a problem in each formulation, from its proven minimum where it needs that.
FORMULATIONS: dict[str, Callable[[BoundProblem, Any], Any]] = {
    **{name: partial(_pyomo, name) for name in pyomo_models.FORMULATIONS},
    "touching": touching_model,
    **dict.fromkeys(("conic", "block"), lambda problem, best: problem),
}
_PYOMO = (*pyomo_models.FORMULATIONS, "touching")
#: How each format is written, and the formulations that it holds, its own first.
FORMATS: dict[str, tuple[Callable[[Any, str], dict[str, bytes]], tuple[str, ...]]] = {
    "nl": (nl_files, _PYOMO),
    "gms": (_gams, _PYOMO),
    "bar": (_baron, _PYOMO),
    "lp": (partial(_quadratic, "lp"), ("squares", "touching")),
    "mps": (partial(_quadratic, "mps"), ("squares", "touching")),
    "clarabel": (_clarabel, ("conic",)),
    "inc": (partial(_block, "inc"), ("block",)),
    "jl": (partial(_block, "jl"), ("block",)),
    "tex": (_latex, _PYOMO),
}
#: What is written unless formats are asked for.
DEFAULT = ("nl", "gms", "bar")


# --- Floors -----------------------------------------------------------------------------------------------------------

#: The floor of each weight, as a share of its prior.
FLOOR_SHARE = 1e-9
#: How far the bound of the kl distance, a variable, stays below one.
BELOW_ONE = 1e-12


def mixture(problem: BoundProblem, posterior: np.ndarray) -> np.ndarray:
    """Return a posterior of all, mixed with the prior until it keeps the floors."""
    return FLOOR_SHARE * problem.prior + (1.0 - FLOOR_SHARE) * posterior


def add_floors(model: pyo.ConcreteModel, problem: BoundProblem) -> dict[str, float | None]:
    r"""Raise the lower bounds of a model, for solvers that evaluate :math:`\ln 0` on the edge of the domain; what was
    changed, by the variables' names.

    With :math:`q \ge \varepsilon p`, every posterior is a mixture :math:`\varepsilon p + (1 - \varepsilon) q'`. The
    minimum over those lies between that over all posteriors and the bound of the mixture with the optimal :math:`q'`,
    which is about ε above it. The floors of the weights alone decide it: they imply that of the risk, and the ceiling
    stays above the bound of the prior, which keeps them.
    """
    if problem.posteriors is not None:
        raise UnsupportedProblemError("floors are for problems without constraints, which the floors may break.")
    for variable, weight in zip(model.q.values(), problem.prior.tolist()):
        variable.setlb(FLOOR_SHARE * weight)
    changed: dict[str, float | None] = {"q/p": FLOOR_SHARE}
    if (L := model.component("L")) is not None:
        # Every weight is at least its floor, so the risk is at least the prior's, times the share; half for rounding.
        L.setlb(changed.setdefault("L", 0.5 * FLOOR_SHARE * problem.empirical_risk(problem.prior)))
    if (r := model.component("r")) is not None and problem.bound(problem.prior) < 1.0 - BELOW_ONE:
        r.setub(changed.setdefault("r", 1.0 - BELOW_ONE))
    return changed
