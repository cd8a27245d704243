r"""The set ``Q`` of posteriors that keep all constraints.

Averages are rows :math:`\tilde a \cdot q \le 0` with :math:`\tilde a = (a - b)/s`, ``s`` the largest :math:`|a_i - b|`.
As weights sum to one that is :math:`a \cdot q \le b`, and every row is of order one whatever its unit. A violation is
measured in these units, as one of the simplex is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..immutable import read_only
from ..numerics.elementwise import Array
from ..numerics.inner import combination, dot, products
from ..validation import first_repeated
from .kinds import Average, Constraint, Support, Weights

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

    from ..merging import Groups

#: How far rows may be broken before they count as contradicting each other: what HiGHS may be off.
FEASIBLE = 1e-9
#: Seconds for the question whether a support can carry the rows; without an answer the solver has to find out.
SECONDS = 10.0
#: What rounding may do to an average of numbers, relative to the largest of them.
ROUNDING = 32.0 * np.finfo(float).eps
#: Weights that break a constraint by more than this are moved into the set before they are judged.
KEPT = 1e-12
#: A limit that is a smaller part of a row's unit would drown in what weights may be off.
PRECISION = 1e-9
#: A decrease that is proven to be smaller is not asked for exactly.
LITTLE = 1e-9
#: HiGHS's tolerances, the smallest that it takes.
TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Row(NamedTuple):
    """An average with its limit, :math:`a \\cdot q \\le b`; one that is at least a number has both signs turned."""

    name: str
    values: Array
    limit: float
    #: True when the constraint was given as ``at_least``.
    turned: bool

    def __str__(self) -> str:
        return f"{self.name} at {'least' if self.turned else 'most'} {-self.limit if self.turned else self.limit:g}"


class Posteriors:
    """The posteriors on so many classifiers that keep some constraints; an empty set is refused.

    Attributes
    ----------
    rows : tuple of Row
    lower, upper : arrays of shape (H,)
        Floors and caps, 0 and 1 where there are none.
    support : Support or None
    """

    def __init__(self, size: int, constraints: Iterable[Constraint]) -> None:
        self.size = size
        lower, upper, averages = np.zeros(size), np.ones(size), list[Average]()
        self.rows: tuple[Row, ...] = ()
        self.support: Support | None = None
        for each in constraints:
            if not isinstance(each, Constraint):
                raise InputError(
                    f"constraints holds {each!r:.80}; it must be made by pm.average, pm.weights or pm.support."
                )
            each.check_size(size)
            if isinstance(each, Average):
                averages.append(each)
                names = each.limit_names(len(averages))
                if each.at_most is not None:
                    self.rows += (Row(names["at_most"], each.values, each.at_most, False),)
                if each.at_least is not None:
                    self.rows += (Row(names["at_least"], -each.values, -each.at_least, True),)
            elif isinstance(each, Weights):
                np.maximum(lower, 0.0 if each.at_least is None else each.at_least, out=lower)
                np.minimum(upper, 1.0 if each.at_most is None else each.at_most, out=upper)
            elif isinstance(each, Support):
                if self.support is not None:
                    raise InputError("constraints has two limits on the support; give one.")
                self.support = each
        self.lower, self.upper = read_only(lower), read_only(upper)
        if (twice := first_repeated([row.name for row in self.rows])) is not None:
            raise InputError(f"constraints has two rows named {twice!r}; give each a name of its own.")
        for row, scale in zip(self.rows, self.scales.tolist(), strict=True):
            if 0.0 < abs(row.limit) < PRECISION * scale:
                worst = int(np.abs(row.values - row.limit).argmax())
                raise InputError(
                    f"constraints: {row} is too small a limit beside the value {abs(row.values[worst]):g} of "
                    f"classifier {worst} to be kept by weights of 16 digits; leave such classifiers out."
                )
        self._refuse_contradictions()

    # -- What it is --------------------------------------------------------------------------------------------------

    @property
    def boxed(self) -> bool:
        """True when a weight has a cap or a floor."""
        return bool(self.lower.max() > 0.0 or self.upper.min() < 1.0)

    @cached_property
    def scales(self) -> Array:
        """The unit of each row: its largest difference from the limit; one where all are equal to it."""
        return np.array([float(np.abs(row.values - row.limit).max()) or 1.0 for row in self.rows])

    @cached_property
    def matrix(self) -> Array:
        """The rows in their units, of shape (k, H): weights that keep them have products of at most zero."""
        found = [(row.values - row.limit) / scale for row, scale in zip(self.rows, self.scales, strict=True)]
        return np.array(found).reshape(-1, self.size)

    def words(self) -> dict[str, str]:
        """Return caps, floors and the limit on the support in words, those that there are."""
        found = {}
        if self.upper.min() < 1.0:
            found["caps"] = f"weights at most {_values(self.upper)}"
        if self.lower.max() > 0.0:
            found["floors"] = f"weights at least {_values(self.lower)}"
        if self.support is not None and self.support.at_most is not None:
            found["support"] = f"at most {self.support.at_most} classifier{'s' * (self.support.at_most > 1)}"
        elif self.support is not None:
            found["support"] = f"sizes of at most {self.support.total:g} together"
        return found

    def describe(self) -> str:
        """Return the constraints in one line of words."""
        return ", ".join([*map(str, self.rows), *self.words().values()])

    def kinds(self) -> dict[str, str]:
        """Return the kinds of constraints in it, with words for each."""
        found = {"average": "constraints on averages"} if self.rows else {}
        found |= {"weights": "caps and floors of the weights"} if self.boxed else {}
        return found | ({"support": "limits on the support"} if self.support is not None else {})

    def merged(self, groups: Groups) -> Self:
        """Return the same constraints on groups of classifiers that are equal under them."""
        rows = tuple(row._replace(values=groups.first(row.values)) for row in self.rows)
        lower, upper = groups.sums(self.lower), np.minimum(groups.sums(self.upper), 1.0)
        return self._but(size=groups.counts.size, rows=rows, lower=lower, upper=upper)

    # -- How far weights are off -------------------------------------------------------------------------------------

    def violation(self, q: Array) -> float:
        """Return by how much weights on the simplex break the constraints, each in its unit; zero when they keep
        them."""
        worst = max(float((self.lower - q).max()), float((q - self.upper).max()), 0.0)
        if self.rows:
            worst = max(worst, float(products(self.matrix, q).max()))
        return max(worst, self.surplus(q))

    def surplus(self, q: Array) -> float:
        """Return the weight of the classifiers that are more than the support may have, the lightest first.

        What is over counts by its weight: weights of 1e-12 that a method never makes zero do little harm.
        """
        if self.support is None:
            return 0.0
        costs, total = self.support.costs(self.size)
        excess = float(costs[q > 0.0].sum()) - total
        if excess <= 0.0:
            return 0.0
        order = np.argsort(q)[np.count_nonzero(q <= 0.0) :]
        dropped = int(np.searchsorted(np.cumsum(costs[order]), excess)) + 1
        return float(q[order[:dropped]].sum())

    def repaired(self, q: Array, violation: float) -> Array:
        """Return weights that break averages, caps or floors a little, mixed with a point inside so that they keep
        them.

        Where the set has no inside, and for limits on the support, the weights stay as they are.
        """
        if violation <= KEPT:
            return q
        inside, slack = self._inside
        if slack <= 0.0:
            return q
        share = min(violation / (violation + slack), 1.0)
        return (1.0 - share) * q + share * inside

    @cached_property
    def _inside(self) -> tuple[Array, float]:
        """A point inside all rows, caps and floors, and how far from them it is.

        Caps and floors are drawn in by half of what they leave, or by less where the rows ask for that: with a row for
        each, a linear program of 100 000 classifiers takes minutes.
        """
        capped, held = self.upper < 1.0, self.lower > 0.0
        left = (1.0 - self.lower.sum()) / max(held.sum(), 1), (self.upper.sum() - 1.0) / max(capped.sum(), 1)
        away = 0.0 if self.support is not None else 0.5 * float(min(*left, (self.upper - self.lower).min()))
        while away > FEASIBLE:
            found, room, _ = _roomiest(self.matrix, self.lower + away * held, self.upper - away * capped, 1.0)
            if room > FEASIBLE:
                weights = np.maximum(found, 0.0)
                return weights / weights.sum(), (min(room, away) if (capped | held).any() else room) - FEASIBLE
            away *= 0.1
        return self.lower, 0.0

    def nearest(self, q: Array) -> Array:
        """Return the posterior that keeps averages, caps and floors and is nearest to one with full support, in the
        Kullback–Leibler divergence: its minimiser has weight wherever it may, and interior-point methods begin inside.
        """
        from ..divergences.kullback_leibler import KullbackLeibler
        from .tilting import Tilting

        if self.violation(q) <= KEPT:
            return q
        found = Tilting(KullbackLeibler(), np.zeros(q.size), q, self).at(0.0).posterior
        if self.violation(found) <= FEASIBLE:
            return found
        # The set has no inside, and multipliers grow without end.
        return self.minimise(-q)[0]

    # -- Linear minimisation -----------------------------------------------------------------------------------------

    def minimise(self, costs: Array) -> tuple[Array, Array]:
        """Return the posterior with the smallest :math:`c \\cdot q` and the rows' multipliers, limits on the support
        apart."""
        if not self.rows:
            return cheapest(costs, self.lower, self.upper), np.zeros(0)
        unit = float(np.abs(costs).max()) or 1.0
        # Where costs are almost equal HiGHS may not know that it has arrived, unless it is asked for less.
        for options in (TOLERANCES, {}):
            found = _highs(costs / unit, self.matrix, np.ones(self.size), self.lower, self.upper, options)
            if found.x is not None:
                return found.x, np.maximum(-found.ineqlin.marginals, 0.0) * unit
        raise InputError(f"no posterior keeps {self.describe()}.")

    def lowest(self, costs: Array, multipliers: Array) -> float:
        r"""Return a number that :math:`c \cdot q` is not below on the set, limits on the support apart.

        By weak duality any multipliers :math:`\nu \ge 0` of the rows prove :math:`\min_q (c + \nu \tilde A) q` over
        caps and floors. Those of :meth:`minimise` prove the most.
        """
        tilted = costs + combination(multipliers, self.matrix)
        rounding = ROUNDING * (float(np.abs(costs).max()) + float(np.abs(multipliers).sum()))
        return float(np.dot(tilted, cheapest(tilted, self.lower, self.upper))) - rounding

    def multipliers(self, costs: Array, q: Array) -> Array:
        r"""Return those :math:`\nu \ge 0` of the rows that hold with equality for which the prices :math:`c + \nu\tilde
        A` of weights between their bounds differ least: all are equal where ``q`` has the smallest cost."""
        from scipy.optimize import nnls

        found = np.zeros(len(self.rows))
        tight = products(self.matrix, q) >= -FEASIBLE
        # Weights that were made to sum to one are at a bound but for rounding.
        free = (q > (1.0 + ROUNDING) * self.lower) & (q < (1.0 - ROUNDING) * self.upper)
        if tight.any() and free.any():
            table, weights = np.vstack((self.matrix[tight], -costs))[:, free], q[free]
            table -= (products(table, weights) / float(weights.sum()))[:, None]
            table *= np.sqrt(weights)
            found[tight] = nnls(table[:-1].T, table[-1])[0]
        return found

    def left(self, costs: Array, q: Array) -> tuple[float, Array]:
        """Return how much smaller than that of ``q`` a cost can be on the set, limits on the support apart, and the
        rows' multipliers; a linear program is solved where those that ``q`` itself suggests do not prove that it is
        little.
        """
        multipliers = self.multipliers(costs, q)
        decrease = dot(costs, q) - self.lowest(costs, multipliers)
        if decrease > LITTLE:
            best, multipliers = self.minimise(costs)
            decrease = dot(costs, q - best)
        return max(decrease, 0.0), multipliers

    def around(self, q: Array) -> Self:
        """Return the posteriors that a posterior's neighbours are among.

        Under a limit on the support those have weight where it has, and on one more classifier for which there is room.
        """
        if self.support is None:
            return self
        costs, total = self.support.costs(self.size)
        held = q > 0.0
        return self.within(held | (costs <= total - float(costs[held].sum())))

    def within(self, allowed: NDArray[np.bool_]) -> Self:
        """Return the posteriors with no weight but on the classifiers that are allowed, whatever the limit on the
        support."""
        return self._but(support=None, upper=np.where(allowed, self.upper, 0.0))

    def with_limits(self, limits: Array) -> Self:
        """Return the same set with other limits of its rows."""
        rows = zip(self.rows, limits.tolist(), strict=True)
        return self._but(rows=tuple(row._replace(limit=limit) for row, limit in rows))

    def _but(self, **changes: Any) -> Self:
        """Return the same set but for some attributes; whether it is empty is not asked."""
        part = object.__new__(type(self))
        own = {name: getattr(self, name) for name in ("size", "rows", "lower", "upper", "support")}
        vars(part).update(own | changes)
        return part

    # -- Whether anything is left ------------------------------------------------------------------------------------

    def _refuse_contradictions(self) -> None:
        lower, upper = self.lower, self.upper
        for i in np.flatnonzero(lower > upper).tolist():
            raise InputError(
                f"constraints cannot hold together: weight {i} is at least {lower[i]:g} and at most {upper[i]:g}."
            )
        for name, bounds, sign, where in (("floors", lower, 1.0, "above"), ("caps", upper, -1.0, "below")):
            if sign * (total := float(bounds.sum())) > sign + KEPT:
                raise InputError(f"constraints cannot hold: {self.words()[name]} sum to {total!r}, {where} one.")
        if self.rows:
            self._refuse_contradicting_rows()
        if self.support is not None:
            costs, total = self.support.costs(self.size)
            if costs.min() > total:
                raise InputError(f"constraints cannot hold: no classifier has a size of at most {total:g}.")
            # Whether some support of the family can carry the weights.
            if (self.rows or self.boxed) and self.cheapest_support(np.zeros(self.size), SECONDS).status == 2:
                raise InputError(f"constraints cannot hold together: {self.describe()}.")

    def contradiction(self) -> Array | None:
        """Return multipliers of the rows, in their units, that prove that nothing keeps rows, caps and floors, whatever
        the limit on the support; zeros where caps and floors alone contradict, and None where something keeps them."""
        least, most, crossed = self.lower.sum(), self.upper.sum(), (self.lower - self.upper).max()
        if max(least - 1.0, 1.0 - most, crossed) > FEASIBLE:
            return np.zeros(len(self.rows))
        if not self.rows:
            return None
        _, room, multipliers = _roomiest(self.matrix, self.lower, self.upper, 0.0)
        return multipliers if room < -2.0 * FEASIBLE else None

    def _refuse_contradicting_rows(self) -> None:
        """Find rows, caps and floors that cannot hold together, none of which can be left out."""

        def contradict(rows: list[int], lower: Array, upper: Array) -> bool:
            return bool(rows) and _roomiest(self.matrix[rows], lower, upper, 0.0)[1] < -FEASIBLE

        needed = list(range(len(self.rows)))
        if not contradict(needed, self.lower, self.upper):
            return
        for row in range(len(self.rows)):
            fewer = [k for k in needed if k != row]
            if contradict(fewer, self.lower, self.upper):
                needed = fewer
        parts, words = [str(self.rows[k]) for k in needed], self.words()
        if "caps" in words and not contradict(needed, self.lower, np.ones(self.size)):
            parts.append(words["caps"])
        if "floors" in words and not contradict(needed, np.zeros(self.size), self.upper):
            parts.append(words["floors"])
        together = f" together: {' and '.join(parts)}" if len(parts) > 1 else f": no posterior has {parts[0]}"
        raise InputError(f"constraints cannot hold{together}.")

    def cheapest_support(self, costs: Array, seconds: float) -> OptimizeResult:
        """Return SciPy's answer to the integer program for the smallest :math:`c \\cdot q`: weights, then whether each
        may be positive."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array, eye_array, hstack

        assert self.support is not None
        sizes, total = self.support.costs(self.size)
        size, unit = self.size, eye_array(self.size)
        switches = csr_array((1, size))
        parts = [
            LinearConstraint(hstack([csr_array(np.ones((1, size))), switches]), 1.0, 1.0),
            LinearConstraint(hstack([switches, csr_array(sizes[None, :])]), -np.inf, total),
            LinearConstraint(hstack([unit, -unit]), -np.inf, 0.0),
            *(LinearConstraint(hstack([csr_array(row[None, :]), switches]), -np.inf, 0.0) for row in self.matrix),
        ]
        box = Bounds(np.append(self.lower, np.zeros(size)), np.append(self.upper, np.ones(size)))
        integer = np.append(np.zeros(size), np.ones(size))
        objective, limit = np.append(costs, np.zeros(size)), {"time_limit": seconds}
        return milp(objective, integrality=integer, bounds=box, constraints=parts, options=limit)


def _values(bounds: Array) -> str:
    low, high = float(bounds.min()), float(bounds.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def cheapest(costs: Array, lower: Array, upper: Array) -> Array:
    """Return the weights between bounds that sum to one with the smallest cost: the cheapest are filled first."""
    q = lower.copy()
    rest = 1.0 - float(lower.sum())
    room = upper - lower
    first = int(np.argmin(np.where(room > 0.0, costs, math.inf)))
    if room[first] >= rest:
        q[first] += rest
        return q
    order = np.argsort(costs, kind="stable")
    filled = np.cumsum(room[order])
    last = min(int(np.searchsorted(filled, rest)), order.size - 1)
    q[order[:last]] = upper[order[:last]]
    q[order[last]] += rest - (float(filled[last - 1]) if last else 0.0)
    return q


def _highs(
    costs: Array, rows: Array, sums: Array, lower: Array, upper: Array, options: dict[str, float] = TOLERANCES
) -> Any:
    """Return SciPy's answer to a linear program between bounds, where rows are at most zero and ``sums`` add up to
    one."""
    from scipy.optimize import linprog

    bounds = np.column_stack((lower, upper))
    return linprog(costs, rows, np.zeros(len(rows)), sums[None, :], np.ones(1), bounds, "highs", options=options)


def _roomiest(rows: Array, lower: Array, upper: Array, most: float) -> tuple[Array, float, Array]:
    """Return weights between bounds that leave all rows as much room as can be, how much that is, ``most`` at most, and
    the rows' multipliers.

    It is negative where the rows cannot hold together, as the multipliers then prove.
    """
    found = _highs(
        np.append(np.zeros(lower.size), -1.0),
        np.pad(rows, ((0, 0), (0, 1)), constant_values=1.0),
        np.append(np.ones(lower.size), 0.0),
        np.append(lower, -np.inf),
        np.append(upper, most),
    )
    if found.x is None:
        return upper, -math.inf, np.zeros(len(rows))
    return found.x[:-1], float(found.x[-1]), np.maximum(-found.ineqlin.marginals, 0.0)
