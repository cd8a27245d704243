"""What is checked of a distance or a divergence before a method or a proof is built on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..numerics.elementwise import Numbers
from ..per_object import per_object
from ..plugins import ours
from ..validation import check_kind
from .distance import Distance, Inverse

if TYPE_CHECKING:
    from ..divergences import Divergence
    from ..problem import Problem

#: Empirical risks and budgets of the grid on which derivatives are compared with difference quotients, ...
_RISKS = np.array([0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
_BUDGETS = np.array([1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 1.0])
#: ... and of the one on which the inverse has to be increasing and concave: risks are 0 and 1 as well.
_ALL_RISKS = np.array([0.0, 1e-6, 1e-3, *_RISKS, 0.99, 0.999, 1.0 - 1e-6, 1.0])
_ALL_BUDGETS = np.array([1e-12, 1e-9, *_BUDGETS, 5.0, 50.0])
#: Rounding errors of an inverse or a budget, relative to it.
_ROUNDING = 1e-9
#: The step of difference quotients, relative to the argument.
_STEP = 1e-4
#: A posterior and a prior at which a divergence is looked at.
_POSTERIOR, _PRIOR = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.3, 0.1, 0.4])


class PointByPoint(Distance):
    """A distance whose methods take numbers only, made to take arrays."""

    def __init__(self, distance: Distance) -> None:
        self.distance = distance
        self.name, self.below_one = distance.name, distance.below_one

    def derivatives(self, L: Numbers, budget: Numbers) -> Inverse:
        if not isinstance(L, np.ndarray) and not isinstance(budget, np.ndarray):
            return self.distance.derivatives(float(L), float(budget))
        L, budget = np.broadcast_arrays(L, budget)
        points = [self.distance.derivatives(*pair) for pair in zip(L.ravel().tolist(), budget.ravel().tolist())]
        return Inverse(*np.array(points, dtype=float).reshape(-1, 6).T.reshape(6, *L.shape))


def elementwise(distance: Distance) -> Distance:
    """The distance itself when its methods take arrays, as ours do, else one that calls them point by point."""
    return distance if ours(distance) else _made_elementwise(distance)


@per_object
def _made_elementwise(distance: Distance) -> Distance:
    L, b = _RISKS[:2], _BUDGETS[3:5]
    one_by_one = [distance.derivatives(*pair) for pair in zip(L.tolist(), b.tolist())]
    try:
        together = distance.derivatives(L, b)
        fits = all(np.allclose(np.broadcast_to(all_, 2), each) for all_, each in zip(together, zip(*one_by_one)))
    except (TypeError, ValueError):
        fits = False
    return distance if fits else PointByPoint(distance)


@per_object
def concave_on_grid(distance: Distance) -> bool:
    r"""Whether ``r(L, b)`` is concave and increasing for all empirical risks, as it is for every jointly convex
    distance, and ``reaches`` agrees with it.

    Midpoints are compared with the ends of segments between points of a grid that ends at the risks 0 and 1. A distance
    that fails has no proof: neither the PAC-Bayes theorem nor the search along the frontier holds for it.
    """
    distance = elementwise(distance)
    L, b = (values.ravel() for values in np.meshgrid(_ALL_RISKS, _ALL_BUDGETS))
    first, second = np.triu_indices(L.size, 1)
    try:
        with np.errstate(all="ignore"):
            r = np.asarray(distance.invert(L, b), dtype=float)
            middle = distance.invert(0.5 * (L[first] + L[second]), 0.5 * (b[first] + b[second]))
            agrees = distance.reaches(L, b, r - _ROUNDING * (1.0 + r)) & ~distance.reaches(L, b, r * 1.001 + 0.001)
    except (ArithmeticError, ValueError):
        return False
    table = r.reshape(_ALL_BUDGETS.size, _ALL_RISKS.size)
    rising = bool((np.diff(table, axis=0) >= -_ROUNDING).all() and (np.diff(table, axis=1) >= -_ROUNDING).all())
    concave = bool((middle >= 0.5 * (r[first] + r[second]) - _ROUNDING * (1.0 + np.abs(middle))).all())
    # No distance reaches a risk above one where its inverse ends there.
    return rising and concave and bool(agrees[r < 0.999].all())


@per_object
def concave_budget(divergence: Divergence, coefficient: float, exponent: int) -> bool:
    """Whether the budget is concave and increasing in the divergence's size, on a grid."""
    steps = np.array([0.0, 1e-3, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
    sizes = divergence.size(np.ones(1), np.ones(1)) + steps
    first, second = np.triu_indices(sizes.size, 1)
    middles = 0.5 * (sizes[first] + sizes[second])
    values, middle = (
        np.array([divergence.budget(size, coefficient, exponent).value for size in each.tolist()])
        for each in (sizes, middles)
    )
    concave = middle >= 0.5 * (values[first] + values[second]) - _ROUNDING * np.abs(middle)
    return bool((np.diff(values) > 0.0).all() and concave.all())


def check_derivatives(function: Distance | Divergence | Problem) -> None:
    """Compare the derivatives of a distance, a divergence or a problem with difference quotients.

    One that is wrong is named, with the point, in an :class:`~pacb_models.InputError`.

    >>> import pacb_models as pm
    >>> from pacb_models.distances import Distance, Inverse
    >>> class Wrong(Distance):
    ...     def derivatives(self, L, budget):
    ...         return Inverse(L + budget, 1.0, -1.0, 0.0, 0.0, 0.0)
    >>> pm.check_derivatives(Wrong())
    Traceback (most recent call last):
    pacb_models.errors.InputError: Wrong: `derivatives` has b = -1 at L = 0.01, b = 0.0001; it must be about 1.
    """
    from ..divergences import Divergence
    from ..problem import Problem

    check_kind("function", function, (Distance, Divergence, Problem), "a Distance, a Divergence or a Problem")
    parts: Iterator[_Part]
    if isinstance(function, Problem):
        parts = _parts_of_problem(function)
    else:
        parts = _parts_of_distance(function) if isinstance(function, Distance) else _parts_of_divergence(function)
    for what, given, (expected, noise) in parts:
        # Where a function leaves its range there is nothing to compare.
        if math.isfinite(expected) and not abs(given - expected) <= 1e-3 * abs(expected) + noise:
            name = type(function).__name__
            raise InputError(f"{name}: {what.format(f'{given:.6g}')}; it must be about {expected:.6g}.")


#: What is said of a derivative, its value, and the quotient that it is compared with.
_Part = tuple[str, float, tuple[float, float]]


def _parts_of_distance(distance: Distance) -> Iterator[_Part]:
    for b in _BUDGETS[1:-1:2].tolist():
        for L in _RISKS[::3].tolist():
            try:
                r = distance.derivatives(L, b)
                if distance.below_one and r.value > 0.99:
                    # Flat, since it has reached its limit.
                    continue
                along_L = [_quotient(partial(_field, distance, k, None, b), L) for k in (0, 1)]
                along_b = [_quotient(partial(_field, distance, k, L, None), b) for k in (0, 1, 2)]
            except (ArithmeticError, ValueError):
                # Outside of its domain.
                continue
            value = (float(distance.invert(L, b)), 0.0)
            wanted = Inverse(value, along_L[0], along_b[0], along_L[1], along_b[1], along_b[2])
            for field, given, expected in zip(Inverse._fields, r, wanted):
                yield f"`derivatives` has {field} = {{}} at L = {L:g}, b = {b:g}", given, expected
                if distance.affine and field in ("LL", "Lb", "bb"):
                    yield f"it is `affine` and has {field} = {{}} at L = {L:g}, b = {b:g}", given, (0.0, 0.0)
            yield from _parts_of_own_methods(distance, L, b, r)


def _parts_of_own_methods(distance: Distance, L: float, b: float, r: Inverse) -> Iterator[_Part]:
    """What says in other terms what ``derivatives`` says."""
    where = f"at L = {L:g}, b = {b:g}"
    rate = float(r.L / r.b)
    yield f"`rate` is {{}} {where}", float(distance.rate(L, b)), (rate, 0.0)
    for factor in (0.5, 2.0):
        sign = float(np.sign(distance.balance(L, b, factor * rate)))
        yield (
            f"`balance` has the sign {{}} {where}, rate {factor * rate:g}",
            sign,
            (math.copysign(1.0, factor - 1.0), 0.0),
        )
    for factor in (0.999, 1.001):
        reached = float(np.all(elementwise(distance).reaches(np.array([L]), np.array([b]), factor * r.value)))
        yield f"`reaches` is {{}} {where}, r = {factor * r.value:g}", reached, (float(factor < 1.0), 0.0)


def _field(distance: Distance, k: int, L: float | None, b: float | None, x: float) -> float:
    """An entry of the derivatives as a function of the argument that is left open."""
    return float(distance.derivatives(x if L is None else L, x if b is None else b)[k])


def _parts_of_divergence(divergence: Divergence) -> Iterator[_Part]:
    q, p = _POSTERIOR, _PRIOR
    size = divergence.size(q, p)
    by_weight: list[tuple[str, Callable[[], np.ndarray], Callable[[np.ndarray, int], float]]] = [
        ("gradient", lambda: divergence.gradient(q, p, size), lambda q, i: divergence.size(q, p)),
        (
            "curvature",
            lambda: _diagonal(divergence, q, p, size),
            lambda q, i: float(divergence.gradient(q, p, divergence.size(q, p))[i]),
        ),
    ]
    for method, of_all, function in by_weight:
        try:
            values = of_all()
        except NotImplementedError:
            continue
        for i, at in enumerate(q.tolist()):
            expected = _quotient(partial(_with, function, q, i), at)
            yield f"`{method}` has {{}} in place {i} at q = {q.tolist()}, p = {p.tolist()}", float(values[i]), expected

    def entry(k: int, at: float) -> float:
        return float(divergence.budget(at, 0.1, 100)[k])

    for k, field in ((1, "slope"), (2, "bend")):
        expected = _quotient(partial(entry, k - 1), size)
        given = divergence.budget(size, 0.1, 100)[k]
        yield f"`budget` has the {field} {{}} at {size:g}, coefficient 0.1", given, expected
    yield from _parts_of_frontier(divergence)


def _diagonal(divergence: Divergence, q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
    """The diagonal of the size's Hessian."""
    diagonal, multiple = divergence.curvature(q, p, size)
    return diagonal + multiple * divergence.gradient(q, p, size) ** 2


def _parts_of_frontier(divergence: Divergence) -> Iterator[_Part]:
    """The posteriors and lines of the frontier, which a subclass with another statistic must not inherit."""
    risks, where = np.array([0.1, 0.2, 0.4, 0.7]), "of the risks 0.1, 0.2, 0.4, 0.7"
    try:
        frontier = divergence.frontier(risks, _PRIOR, False)
        lines = [(z, frontier.posterior(z), frontier.line(z)) for z in (0.0, 1.2)]
    except NotImplementedError:
        return
    except (ArithmeticError, ValueError) as reason:
        raise InputError(f"{type(divergence).__name__}: `frontier` {where} cannot be computed: {reason}.") from None
    for z, q, line in lines:
        yield f"`frontier` {where} has the size {{}} at z = {z:g}", line.T, (divergence.size(q, _PRIOR), _ROUNDING)
        yield f"`frontier` {where} has x = {{}} at z = {z:g}", line.x, (float(np.dot(q, risks - 0.1)), _ROUNDING)
        yield f"`frontier` {where} has the height {{}} at z = {z:g}", line.height, (line.T + line.slope * line.x, 1e-9)
        least = min(divergence.size(w, _PRIOR) + line.slope * float(np.dot(w, risks - 0.1)) for w in _near(q))
        yield f"`frontier` {where} has the height {{}} at z = {z:g}", max(line.height, least), (least, 1e-9)


def _parts_of_problem(problem: Problem) -> Iterator[_Part]:
    """The slopes towards classifiers, at two posteriors without a symmetry."""
    size = problem.size
    for shift in (0.3, 0.7):
        q = problem.prior * (0.5 + (0.618034 * np.arange(1, size + 1) + shift) % 1.0)
        q /= q.sum()
        gradient = np.asarray(problem.gradient(q), dtype=np.float64)
        if gradient.shape != (size,):
            name = type(problem).__name__
            raise InputError(f"{name}: `gradient` has the shape {gradient.shape}; it must have {size} entries.")
        for i in np.unique(np.linspace(0, size - 1, 20).astype(int)).tolist() if size > 1 else []:
            at, step = q.item(i), _STEP * q.item(i)
            along = partial(_towards, problem.bound, q, i)
            expected, noise = _quotient(along, at)
            # Where the bound has a corner its slopes differ by this.
            corner: float = abs(along(at + step) - 2.0 * along(at) + along(at - step)) / step
            what = f"`gradient` has the slope {{}} from its mean to classifier {i} at {_described(q)}"
            if expected == corner == 0.0:
                # Flat, since it has reached its limit.
                continue
            yield what, float(gradient[i] - np.dot(gradient, q)), (expected, noise + corner)


def _towards(bound: Callable[[np.ndarray], float], q: np.ndarray, i: int, weight: float) -> float:
    """The bound where a posterior has moved towards classifier ``i`` by what its weight has changed."""
    moved = (1.0 - (weight - q[i])) * q
    moved[i] += weight - q[i]
    return float(bound(moved))


def _described(q: np.ndarray) -> str:
    shown = ", ".join(f"{each:.4g}" for each in q[:4].tolist())
    return f"q = [{shown}{', ...' * (q.size > 4)}]"


def _near(q: np.ndarray) -> Iterator[np.ndarray]:
    """Posteriors around one."""
    for share in (0.01, 0.3):
        yield from ((1.0 - share) * q + share * other for other in (_POSTERIOR, _PRIOR, *np.eye(q.size)))


def _with(function: Callable[[np.ndarray, int], float], q: np.ndarray, i: int, weight: float) -> float:
    """A function of a posterior with one weight changed."""
    moved = q.copy()
    moved[i] = weight
    return function(moved, i)


def _quotient(function: Callable[[float], float], at: float) -> tuple[float, float]:
    """The derivative by a central difference of the fourth order, and how far off it may be."""
    h = _STEP * at
    near = float(function(at + h) - function(at - h)) / (2.0 * h)
    far = float(function(at + 2.0 * h) - function(at - 2.0 * h)) / (4.0 * h)
    return (4.0 * near - far) / 3.0, abs(near - far) + _ROUNDING * abs(float(function(at))) / at


#: Once for each object.
_checked = per_object(check_derivatives)


def check_once(problem: Problem) -> None:
    """Check the derivatives of another package's problem, distance and divergence when they are first seen."""
    if problem.kind == "own":
        _check_own_once(problem)
    if problem.kind != "bound":
        return
    for function in (problem.distance_function, problem.divergence_function):
        if not ours(function):
            _checked(function)


def _check_own_once(problem: Problem) -> None:
    """Check the gradient of a bound of another form; what else it raises, the solver meets and tells."""
    if "_checked" in vars(problem):
        return
    try:
        check_derivatives(problem)
    except InputError:
        raise
    except Exception:
        return
    problem._set(_checked=True)
