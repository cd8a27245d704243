"""A bound as a block of the user's own Pyomo model.

The rows of a block are one-sided: they hold ``bound`` up, not down. That is right while the bound is minimised or
limited from above. Used the other way the bound could be anything above the true one; :meth:`BoundBlock.check` refuses
that, and ``exact=True`` writes equations instead.
"""

from collections.abc import Iterator
from typing import Any

import pyomo.environ as pyo
from numpy.typing import ArrayLike
from pyomo.common.collections import ComponentSet
from pyomo.contrib.fbbt.fbbt import compute_bounds_on_expr
from pyomo.core.base.block import ScalarBlock
from pyomo.core.expr.calculus.derivatives import Modes, differentiate
from pyomo.core.expr.visitor import identify_variables, replace_expressions
from pyomo.gdp import Disjunct

from ..errors import InputError
from ..problem import RiskAndSize
from ..validation import check_posterior
from .lifted import write
from .pyomo_models import central, set_start, writer_of


class BoundBlock(ScalarBlock):
    """The bound of a problem: weights ``q``, an expression ``bound``, and the rows that tie the two; no objective."""

    def initialise(self, posterior: ArrayLike | None = None) -> None:
        """Give all variables their values at a posterior, by default at the values that ``q`` has now.

        It also checks the model that the block is in, see :meth:`check`.
        """
        self.check()
        if posterior is None:
            posterior = [pyo.value(each, exception=False) for each in self._given or self.q.values()]
            if None in posterior:
                raise InputError("q has no values yet; give them some, or initialise the block at a posterior.")
        set_start(self, self._problem, check_posterior(posterior, self._problem.size))

    def check(self) -> None:
        """Refuse a model in which a larger bound could be better: the rows of the block are one-sided."""
        bound = pyo.Var(bounds=(0.0, None))
        bound.construct()
        for part, expression in self._uses():
            plain = replace_expressions(expression, {id(self.bound): bound})
            used = [each for each in identify_variables(plain) if each is bound or each in self._one_sided]
            for slope in differentiate(plain, wrt_list=used, mode=Modes.reverse_symbolic) if used else []:
                least = compute_bounds_on_expr(slope)[0]
                # Interval arithmetic rounds.
                if least is None or least < -1e-12:
                    raise InputError(
                        f"{part.name} does not surely get worse when {self.bound.name} grows, and the rows of the "
                        "block only keep it from falling; minimise the bound or limit it from above, or write the "
                        "block with exact=True."
                    )

    def _uses(self) -> Iterator[tuple[Any, Any]]:
        """Yield what stands outside of the block, each part with an expression that is better when it is smaller."""
        for part in foreign_parts(self) if self._one_sided else ():
            if part.ctype is pyo.Objective:
                yield part, part.expr if part.sense == pyo.minimize else -part.expr
                continue
            if part.has_ub():
                yield part, part.body
            if part.has_lb():
                yield part, -part.body


def foreign_parts(block: Any) -> Iterator[Any]:
    """Yield the active objectives and constraints of the model around a block that were not written with it."""
    kinds, places = (pyo.Objective, pyo.Constraint), (pyo.Block, Disjunct)
    for part in block.model().component_data_objects(kinds, active=True, descend_into=places):
        if part.parent_block() is not block or part.parent_component().local_name not in block._written:
            yield part


def pyomo_block(
    problem: RiskAndSize, q: Any = None, *, formulation: str = "lifted", exact: bool = False, simplex: bool = True
) -> BoundBlock:
    """Write the bound of a problem as a block of a Pyomo model of your own.

    Parameters
    ----------
    problem : BoundProblem
        Whose distance and divergence have a method ``express``; its constraints on the posterior are rows of the block.
    q : sequence of H variables or expressions, or an indexed component, optional
        The weights. By default the block has variables of its own. Another block's ``q`` lets two bounds share one
        posterior.
    formulation : {"lifted", "substituted", "squares"}
        As for :meth:`~pacb_models.BoundProblem.pyomo_model`.
    exact : bool
        True writes equations, for a bound that is not minimised or limited from above.
    simplex : bool
        Whether the block says that the weights are not negative and sum to one; False where another block of the same
        weights says so.

    Returns
    -------
    pyomo.environ.Block
        With ``q``, the expression ``bound``, and the methods ``initialise(posterior)`` and ``check()``. It starts at
        the prior, except for variables of yours, whose values stay as they are.

    Examples
    --------
    >>> import pyomo.environ as pyo, pacb_models as pm
    >>> model = pyo.ConcreteModel()
    >>> model.pac = pm.BoundProblem([0.1, 0.3], m=100, distance="squared").pyomo_block()
    >>> model.least = pyo.Objective(expr=model.pac.bound + 0.2 * model.pac.q[0])
    >>> [part.local_name for part in model.pac.component_objects(pyo.Constraint)]
    ['normalised', 'empirical_risk', 'divergence']
    """
    block = BoundBlock(concrete=True)
    algebra = writer_of(formulation)(problem, block, q, simplex, exact)
    block.bound = pyo.Expression(expr=write(algebra))
    # An equation ties the empirical risk; the quadratic one of votes is an inequality.
    tied = "L" if problem.risk_matrix is None else None
    one_sided = [] if algebra.exact else [each for name, each in algebra.variables.items() if name != tied]
    block._problem, block._given, block._one_sided = problem, algebra.given, ComponentSet(one_sided)
    block._written = frozenset(block.component_map())
    set_start(block, problem, central(problem), weights=not algebra.shared)
    return block
