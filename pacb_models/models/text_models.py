"""The lifted model as text for GAMS and JuMP: a block with weights ``q`` and ``bound``, without objective.

The user's own rows and objective go below it. Its rows are one-sided, as those of
:mod:`~pacb_models.models.pyomo_blocks`: the bound is to be minimised, or limited from above.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..validation import check_choice
from .algebra import Algebra
from .lifted import check_expressed, write
from .limits import box

if TYPE_CHECKING:
    from ..problem import RiskAndSize


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
        self.text = text
        #: How it stands in another formula.
        self.inside = text if atom else f"({text})"

    __add__, __radd__ = _operator("+"), _operator("+", reflected=True)
    __sub__, __rsub__ = _operator("-"), _operator("-", reflected=True)
    __mul__, __rmul__ = _operator("*"), _operator("*", reflected=True)
    __truediv__, __pow__ = _operator("/"), _operator("**")


def _formula(value: Any) -> Formula:
    return value if isinstance(value, Formula) else Formula(f"{float(value)!r}".removesuffix(".0"), atom=value >= 0)


class TextAlgebra(Algebra):
    """Text, with an index ``i`` for vectors; subclasses have the templates of a modelling system."""

    head: str
    #: A number of a vector, and a vector of numbers.
    entry: str
    number: str
    data: str
    total: str
    weights: str
    variable_text: str
    lower: str
    upper: str
    row: str
    relations: tuple[str, str]
    tail: str
    power: str

    def __init__(self, problem: RiskAndSize) -> None:
        super().__init__(problem, problem.prior)
        self.text, self.arrays = self.head.format(size=problem.size), 0
        floors, caps = box(problem)
        if problem.divergence_function.steep:
            # Its terms have no value at zero, and solvers of GAMS go to their bounds.
            floors = np.minimum(np.maximum(floors, 1e-12 * problem.prior), caps)
        for name, values in (("prior", problem.prior), ("least", floors), ("most", np.minimum(caps, 1.0))):
            self._write_data(name, values)
        self.text += self.weights.format(size=problem.size)
        self.weight, self.one_prior = self._entry("q"), self._entry("prior")
        self.ratios = self.weight / self.one_prior

    def finish(self, bound: Any) -> str:
        """The whole text, once the model is written."""
        return (self.text + self.tail.format(bound=_formula(bound).text)).replace("**", self.power)

    def _entry(self, name: str) -> Formula:
        return Formula(self.entry.format(name=name))

    def _write_data(self, name: str, values: np.ndarray) -> None:
        numbers = (self.number.format(index=i, value=value) for i, value in enumerate(values.tolist(), 1))
        self.text += self.data.format(name=name, values=", ".join(numbers))

    def log(self, x: Any) -> Any:
        return Formula(f"log({x.text})")

    def sqrt(self, x: Any) -> Any:
        return Formula(f"sqrt({x.text})")

    def mean(self, terms: Any) -> Any:
        return self._total(self.one_prior * terms)

    def average(self, values: np.ndarray) -> Any:
        if (values == 1.0).all():
            return self._total(self.weight)
        self.arrays += 1
        self._write_data(f"data{self.arrays}", values)
        return self._total(self._entry(f"data{self.arrays}") * self.weight)

    def _total(self, term: Formula) -> Formula:
        return Formula(self.total.format(term=term.inside, size=self.problem.size), atom=False)

    def variable(self, name: str, value: float, lower: float | None = None, upper: float | None = None) -> Any:
        self.text += self.variable_text.format(
            name=name,
            start=value,
            lower="" if lower is None else self.lower.format(name=name, value=lower),
            upper="" if upper is None else self.upper.format(name=name, value=upper),
        )
        return Formula(name)

    def equal(self, name: str, left: Any, right: Any, scale: float | None = None) -> None:
        self._write_row(name, left, self.relations[0], right)

    def at_least(self, name: str, left: Any, right: Any, scale: float | None = None) -> None:
        self._write_row(name, left, self.relations[1], right)

    def _write_row(self, name: str, left: Any, relation: str, right: Any) -> None:
        row = f"{_formula(left).text} {relation} {_formula(right).text}"
        self.text += self.row.format(name=re.sub(r"\W", "_", name), row=row)


class Gams(TextAlgebra):
    """GAMS: a file to include. Names of rows begin with ``row_``, as GAMS does not tell KL from kl."""

    head = "Set i / 1*{size} /;\n"
    entry = "{name}(i)"
    number = "{index} {value}"
    data = "Parameter {name}(i) / {values} /;\n"
    total = "sum(i, {term})"
    weights = "Variable q(i); q.lo(i) = least(i); q.up(i) = most(i); q.l(i) = prior(i);\n"
    variable_text = "Variable {name}; {name}.l = {start};{lower}{upper}\n"
    lower, upper = " {name}.lo = {value};", " {name}.up = {value};"
    row = "Equation row_{name}; row_{name}.. {row};\n"
    relations = ("=e=", "=g=")
    tail = "Variable bound; Equation row_bound; row_bound.. bound =e= {bound};\n"
    power = "**"


class Jump(TextAlgebra):
    """JuMP: a function that adds the block to a model, and returns the weights and the bound."""

    head = "using JuMP\n\nfunction add_bound!(model)\n"
    entry = "{name}[i]"
    number = "{value}"
    data = "    {name} = [{values}]\n"
    total = "sum({term} for i in 1:{size})"
    weights = (
        "    q = @variable(model, [i = 1:{size}], lower_bound = least[i], upper_bound = most[i], start = prior[i])\n"
    )
    variable_text = "    {name} = @variable(model, start = {start}{lower}{upper})\n"
    lower, upper = ", lower_bound = {value}", ", upper_bound = {value}"
    row = "    @constraint(model, {row})  # {name}\n"
    relations = ("==", ">=")
    tail = "    return q, @expression(model, {bound})\nend\n"
    power = "^"


SYSTEMS: dict[str, type[TextAlgebra]] = {"inc": Gams, "jl": Jump}


def text_block(problem: RiskAndSize, system: str) -> str:
    """Write the bound for GAMS (``inc``) or JuMP (``jl``)."""
    algebra = SYSTEMS[check_choice("system", system, tuple(SYSTEMS))]
    check_expressed(problem)
    written = algebra(problem)
    return written.finish(write(written))
