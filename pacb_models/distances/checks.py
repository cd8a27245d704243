"""What is checked of a distance or a divergence before a method or a proof is built on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..immutable import per_object
from ..numerics.elementwise import Numbers
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
        return Inverse(*np.vectorize(self.distance.derivatives, otypes=6 * [float])(L, budget))


def elementwise(distance: Distance) -> Distance:
    """Return the distance itself when its methods take arrays, as ours do, else one that calls them point by point."""
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
    r"""Return whether ``r(L, b)`` is concave and increasing for all empirical risks, as it is for every jointly convex
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
    rising = all((np.diff(table, axis=axis) >= -_ROUNDING).all() for axis in (0, 1))
    concave = (middle >= 0.5 * (r[first] + r[second]) - _ROUNDING * (1.0 + np.abs(middle))).all()
    # No distance reaches a risk above one where its inverse ends there.
    return bool(rising and concave and agrees[r < 0.999].all())


@per_object
def concave_budget(divergence: Divergence, coefficient: float, exponent: int) -> bool:
    """Return whether the budget is concave and increasing in the divergence's size, on a grid."""
    steps = np.array([0.0, 1e-3, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
    sizes = divergence.size(np.ones(1), np.ones(1)) + steps
    first, second = np.triu_indices(sizes.size, 1)
    values, middle = (
        np.array([divergence.budget(size, coefficient, exponent).value for size in each.tolist()])
        for each in (sizes, 0.5 * (sizes[first] + sizes[second]))
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
    if isinstance(function, Problem):
        parts = _parts_of_problem(function)
    else:
        parts = _parts_of_distance(function) if isinstance(function, Distance) else _parts_of_divergence(function)
    for what, given, (expected, noise) in parts:
        # Where a function leaves its range there is nothing to compare.
        if math.isfinite(expected) and not abs(given - expected) <= 1e-3 * abs(expected) + noise:
            name = type(function).__name__
            raise InputError(f"{name}: {what.format(f'{given:.6g}')}; it must be about {expected:.6g}.")


#: What is said of a value, the value, and what it must be, with how far off that may be.
_Part = tuple[str, float, tuple[float, float]]


def _parts_of_distance(distance: Distance) -> Iterator[_Part]:
    for b, L in product(_BUDGETS[1:-1:2].tolist(), _RISKS[::3].tolist()):
        try:
            r = distance.derivatives(L, b)
            along_L, along_b = (_quotients(distance.derivatives, (L, b), k) for k in (0, 1))
        except (ArithmeticError, ValueError):
            # Outside of its domain.
            continue
        if distance.below_one and r.value > 0.99:
            # Flat, since it has reached its limit.
            continue
        where = f"at L = {L:g}, b = {b:g}"
        value = (float(distance.invert(L, b)), 0.0)
        wanted = Inverse(value, along_L[0], along_b[0], along_L[1], along_b[1], along_b[2])
        for field, given, expected in zip(Inverse._fields, r, wanted):
            yield f"`derivatives` has {field} = {{}} {where}", given, expected
            if distance.affine and field in ("LL", "Lb", "bb"):
                yield f"it is `affine` and has {field} = {{}} {where}", given, (0.0, 0.0)
        # What says in other terms what `derivatives` says.
        rate = float(r.L / r.b)
        yield f"`rate` is {{}} {where}", float(distance.rate(L, b)), (rate, 0.0)
        for factor, sign in ((0.5, -1.0), (2.0, 1.0)):
            given = float(np.sign(distance.balance(L, b, factor * rate)))
            yield f"`balance` has the sign {{}} {where}, rate {factor * rate:g}", given, (sign, 0.0)
        for factor, reached in ((0.999, 1.0), (1.001, 0.0)):
            given = float(np.all(elementwise(distance).reaches(np.array([L]), np.array([b]), factor * r.value)))
            yield f"`reaches` is {{}} {where}, r = {factor * r.value:g}", given, (reached, 0.0)


def _parts_of_divergence(divergence: Divergence) -> Iterator[_Part]:
    p, q = _PRIOR, _POSTERIOR.tolist()

    def size(*weights: float) -> list[float]:
        return [divergence.size(np.array(weights), p)] * p.size

    def gradient(*weights: float) -> np.ndarray:
        return divergence.gradient(np.array(weights), p, size(*weights)[0])

    def curvature(*weights: float) -> np.ndarray:
        diagonal, multiple = divergence.curvature(np.array(weights), p, size(*weights)[0])
        return diagonal + multiple * gradient(*weights) ** 2

    for function, derivative in ((size, gradient), (gradient, curvature)):
        with suppress(NotImplementedError):
            for i, given in enumerate(derivative(*q).tolist()):
                what = f"`{derivative.__name__}` has {{}} in place {i} at q = {q}, p = {p.tolist()}"
                yield what, given, _quotients(function, q, i)[i]
    at = (size(*q)[0], 0.1, 100)
    budget, expected = divergence.budget(*at), _quotients(divergence.budget, at, 0)
    for k, field in ((1, "slope"), (2, "bend")):
        yield f"`budget` has the {field} {{}} at {at[0]:g}, coefficient 0.1", budget[k], expected[k - 1]
    yield from _parts_of_frontier(divergence)


def _parts_of_frontier(divergence: Divergence) -> Iterator[_Part]:
    """Yield the posteriors and lines of the frontier, which a subclass with another statistic must not inherit."""
    risks, where = np.array([0.1, 0.2, 0.4, 0.7]), "of the risks 0.1, 0.2, 0.4, 0.7"
    try:
        frontier = divergence.frontier(risks, _PRIOR, False)
        lines = [(z, frontier.posterior(z), frontier.line(z)) for z in (0.0, 1.2)]
    except NotImplementedError:
        return
    except (ArithmeticError, ValueError) as reason:
        raise InputError(f"{type(divergence).__name__}: `frontier` {where} cannot be computed: {reason}.") from None
    for z, q, line in lines:
        near = [(1.0 - w) * q + w * to for w in (0.01, 0.3) for to in (_POSTERIOR, _PRIOR, *np.eye(q.size))]
        least = min(divergence.size(w, _PRIOR) + line.slope * float(np.dot(w, risks - 0.1)) for w in near)
        for what, given, expected in (
            ("the size {}", line.T, divergence.size(q, _PRIOR)),
            ("x = {}", line.x, float(np.dot(q, risks - 0.1))),
            ("the height {}", line.height, line.T + line.slope * line.x),
            ("the height {}", max(line.height, least), least),
        ):
            yield f"`frontier` {where} has {what} at z = {z:g}", given, (expected, _ROUNDING)


def _parts_of_problem(problem: Problem) -> Iterator[_Part]:
    """Yield the slopes towards classifiers, at two posteriors without a symmetry."""
    size = problem.size
    for shift in (0.3, 0.7):
        q = problem.prior * (0.5 + (0.618034 * np.arange(1, size + 1) + shift) % 1.0)
        q /= q.sum()
        gradient = np.asarray(problem.gradient(q), dtype=np.float64)
        if gradient.shape != (size,):
            name = type(problem).__name__
            raise InputError(f"{name}: `gradient` has the shape {gradient.shape}; it must have {size} entries.")
        shown = ", ".join([f"{each:.4g}" for each in q[:4].tolist()] + ["..."] * (size > 4))
        for i in np.unique(np.linspace(0, size - 1, 20).astype(int)).tolist() if size > 1 else []:
            at, step = q.item(i), _STEP * q.item(i)
            along = partial(_towards, problem.bound, q, i)
            [(expected, noise)] = _quotients(along, [at], 0)
            # Where the bound has a corner its slopes differ by this.
            corner: float = abs(along(at + step) - 2.0 * along(at) + along(at - step)) / step
            # Flat, where it has reached its limit.
            if expected or corner:
                what = f"`gradient` has the slope {{}} from its mean to classifier {i} at q = [{shown}]"
                yield what, float(gradient[i] - np.dot(gradient, q)), (expected, noise + corner)


def _towards(bound: Callable[[np.ndarray], float], q: np.ndarray, i: int, weight: float) -> float:
    """Return the bound where a posterior has moved towards classifier ``i`` by what its weight has changed."""
    moved = (1.0 - (weight - q[i])) * q
    moved[i] += weight - q[i]
    return float(bound(moved))


def _quotients(function: Callable[..., Any], at: Sequence[float], k: int) -> list[tuple[float, float]]:
    """Return the derivatives of all that a function returns in its ``k``-th argument, by central differences of the
    fourth order, and how far off they may be."""
    step = _STEP * at[k]
    low, below, here, above, high = (
        np.array(function(*at[:k], at[k] + times * step, *at[k + 1 :]), dtype=float, ndmin=1)
        for times in (-2.0, -1.0, 0.0, 1.0, 2.0)
    )
    with np.errstate(all="ignore"):
        near, far = (above - below) / (2.0 * step), (high - low) / (4.0 * step)
        noise = np.abs(near - far) + _ROUNDING * np.abs(here) / at[k]
        return [*zip(((4.0 * near - far) / 3.0).tolist(), noise.tolist())]


#: Once for each object.
_checked = per_object(check_derivatives)


def check_once(problem: Problem) -> None:
    """Check the derivatives of another package's problem, distance and divergence when they are first seen."""
    if problem.kind == "own" and "_checked" not in vars(problem):
        try:
            check_derivatives(problem)
        except InputError:
            raise
        except Exception:
            return  # the solver meets it, too, and tells
        problem._set(_checked=True)
    if problem.kind == "bound":
        for function in (problem.distance_function, problem.divergence_function):
            if not ours(function):
                _checked(function)
