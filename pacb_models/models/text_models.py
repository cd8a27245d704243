"""The lifted model as text for GAMS and JuMP: a block with weights ``q`` and ``bound``, without objective.

The user's own rows and objective go below it. Its rows are one-sided, as those of
:mod:`~pacb_models.models.pyomo_blocks`: the bound is to be minimised, or limited from above.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..algebra import Algebra, Expression
from ..problem import RiskAndSize
from ..validation import check_choice
from .lifted import box, write

#: The templates of each modelling system, by the suffix of its files.
SYSTEMS: dict[str, dict[str, str]] = {
    # A file to include. Names of rows begin with ``row_``, as GAMS does not tell KL from kl.
    "inc": {
        "head": "Set i / 1*{size} /;\n",
        "entry": "{name}(i)",
        "number": "{index} {value}",
        "data": "Parameter {name}(i) / {values} /;\n",
        "total": "sum(i, {term})",
        "weights": "Variable q(i); q.lo(i) = least(i); q.up(i) = most(i); q.l(i) = prior(i);\n",
        "variable": "Variable {name}; {name}.l = {start};{lower}{upper}\n",
        "lower": " {name}.lo = {value};",
        "upper": " {name}.up = {value};",
        "row": "Equation row_{name}; row_{name}.. {row};\n",
        "equal": "=e=",
        "at least": "=g=",
        "tail": "Variable bound; Equation row_bound; row_bound.. bound =e= {bound};\n",
        "power": "**",
    },
    # A function that adds the block to a model, and returns the weights and the bound.
    "jl": {
        "head": "using JuMP\n\nfunction add_bound!(model)\n",
        "entry": "{name}[i]",
        "number": "{value}",
        "data": "    {name} = [{values}]\n",
        "total": "sum({term} for i in 1:{size})",
        "weights": "    q = @variable(model, [i = 1:{size}], "
        "lower_bound = least[i], upper_bound = most[i], start = prior[i])\n",
        "variable": "    {name} = @variable(model, start = {start}{lower}{upper})\n",
        "lower": ", lower_bound = {value}",
        "upper": ", upper_bound = {value}",
        "row": "    @constraint(model, {row})  # {name}\n",
        "equal": "==",
        "at least": ">=",
        "tail": "    return q, @expression(model, {bound})\nend\n",
        "power": "^",
    },
}


def _operator(sign: str, reflected: bool = False) -> Callable[[Formula, Any], Formula]:
    def write(formula: Formula, other: Any) -> Formula:
        left, right = (_formula(other), formula) if reflected else (formula, _formula(other))
        return Formula(f"{left.inside} {sign} {right.inside}", atom=False)

    return write


class Formula:
    """A formula as text, with Python's operators."""

    #: NumPy's numbers leave the operation to us.
    __array_ufunc__ = None

    def __init__(self, text: str, atom: bool = True) -> None:
        #: By itself, and as it stands in another formula.
        self.text, self.inside = text, text if atom else f"({text})"

    __add__, __radd__ = _operator("+"), _operator("+", reflected=True)
    __sub__, __rsub__ = _operator("-"), _operator("-", reflected=True)
    __mul__, __rmul__ = _operator("*"), _operator("*", reflected=True)
    __truediv__, __pow__ = _operator("/"), _operator("**")


def _formula(value: Any) -> Formula:
    return value if isinstance(value, Formula) else Formula(f"{float(value)!r}".removesuffix(".0"), atom=value >= 0)


class TextAlgebra(Algebra):
    """Text, with an index ``i`` for vectors."""

    def __init__(self, problem: RiskAndSize, templates: dict[str, str]) -> None:
        super().__init__(problem, problem.prior)
        self.text, self.templates, self.arrays = "", templates, 0
        self._say("head")
        floors, caps = box(problem)
        if problem.divergence_function.steep:
            # Its terms have no value at zero, and solvers of GAMS go to their bounds.
            floors = np.minimum(np.maximum(floors, 1e-12 * problem.prior), caps)
        self.one_prior = self._data("prior", problem.prior)
        self._data("least", floors)
        self._data("most", np.minimum(caps, 1.0))
        self._say("weights")
        self.weight = self._entry("q")
        self.ratios = self.weight / self.one_prior

    def finish(self, bound: Any) -> str:
        """Return the whole text, once the model is written."""
        self._say("tail", bound=_formula(bound).text)
        return self.text.replace("**", self.templates["power"])

    def _say(self, template: str, **words: object) -> None:
        self.text += self.templates[template].format(size=self.problem.size, **words)

    def _entry(self, name: str) -> Formula:
        return Formula(self.templates["entry"].format(name=name))

    def _data(self, name: str, values: np.ndarray) -> Formula:
        """Write a vector of numbers; the entry of it."""
        numbers = (self.templates["number"].format(index=i, value=v) for i, v in enumerate(values.tolist(), 1))
        self._say("data", name=name, values=", ".join(numbers))
        return self._entry(name)

    def log(self, x: Any) -> Expression:
        return Formula(f"log({x.text})")

    def sqrt(self, x: Any) -> Expression:
        return Formula(f"sqrt({x.text})")

    def mean(self, terms: Any) -> Expression:
        return self._total(self.one_prior * terms)

    def average(self, values: np.ndarray) -> Expression:
        if (values == 1.0).all():
            return self._total(self.weight)
        self.arrays += 1
        return self._total(self._data(f"data{self.arrays}", values) * self.weight)

    def _total(self, term: Formula) -> Formula:
        return Formula(self.templates["total"].format(term=term.inside, size=self.problem.size), atom=False)

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Expression:
        ends = {
            side: "" if end is None else self.templates[side].format(name=name, value=end)
            for side, end in (("lower", lower), ("upper", upper))
        }
        self._say("variable", name=name, start=value, **ends)
        return Formula(name)

    def constrain(self, name: str, left: Any, right: Any, equality: bool, scale: float) -> None:
        relation = self.templates["equal" if equality else "at least"]
        row = f"{_formula(left).text} {relation} {_formula(right).text}"
        self._say("row", name=re.sub(r"\W", "_", name), row=row)


def text_block(problem: RiskAndSize, system: str) -> str:
    """Write the bound for GAMS (``inc``) or JuMP (``jl``)."""
    algebra = TextAlgebra(problem, SYSTEMS[check_choice("system", system, tuple(SYSTEMS))])
    return algebra.finish(write(algebra))
