"""What is noticed of a third party's distance before anything is claimed of its bounds."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.distances import BY_NAME, Distance, Inverse
from pacb_models.distances.checks import concave_on_grid

from ..own_bounds import Relative


class Variance(Distance):
    """φ = (l − l̂)²/(l̂(1 − l̂)), which is not convex: r = L + √(b L(1 − L)) falls just below L = 1."""

    name = "variance"
    additive = False

    def derivatives(self, L, b):
        with np.errstate(all="ignore"):
            v, d = np.asarray(L * (1.0 - L)), 1.0 - 2.0 * L
            s = np.sqrt(b * v)
            first, second = b * d / (2.0 * s), v / (2.0 * s)
            LL = -b / s - first**2 / s
            return Inverse(L + s, 1.0 + first, second, LL, d / (2.0 * s) - first * second / s, -(second**2) / s)

    def log_constant(self, m, divergence, order, constant):
        return -math.log(m)


def test_an_inverse_that_falls_next_to_one_is_no_ground_for_a_claim():
    """Two classifiers: with all weight on the poor one the bound is smaller than on the way there."""
    assert not concave_on_grid(Variance())
    solution = pm.solve(pm.BoundProblem([0.93, 1.0], m=3, delta=0.5, distance=Variance()), "frontier")
    assert not solution.is_global and solution.lower_bound is None


@pytest.mark.parametrize("distance", [*BY_NAME.values(), Relative()], ids=lambda each: each.name)
def test_distances_that_are_convex_pass_to_the_corners(distance):
    assert concave_on_grid(distance)


@dataclass
class Scaled(Distance):
    """φ = s (l − l̂)², s not a part of what makes two of them equal; mutable, so that it cannot be hashed."""

    scale: float
    name: str = "scaled"

    def derivatives(self, L, b):
        root = np.sqrt(b / self.scale)
        return Inverse(L + root, 1.0, 0.5 * root / b, 0.0, 0.0, -0.25 * root / b**2)

    def moment(self, m, power, constant):
        exact = BY_NAME["squared"].moment(m, power, constant)
        return exact._replace(value=exact.value * self.scale**2, log_value=exact.log_value + 2 * math.log(self.scale))


class Forgetful(Scaled):
    """One whose equality forgets the scale."""

    def __eq__(self, other):
        return isinstance(other, Forgetful)

    def __hash__(self):
        return 0


@pytest.mark.parametrize("kind", [Scaled, Forgetful])
def test_distances_that_are_mutable_or_equal_are_each_its_own(kind):
    """The scale cancels: all of these bounds are those of the squared distance."""
    expected = pm.solve(pm.BoundProblem([0.1, 0.12, 0.3], m=300, distance="squared")).bound
    for scale in (1.0, 4.0, 0.25):
        problem = pm.BoundProblem([0.1, 0.12, 0.3], m=300, distance=kind(scale))
        for name in ("frontier", "mirror"):
            solution = pm.solve(problem, name)
            assert solution.bound == pytest.approx(expected, abs=1e-9), (scale, name, solution.message)


def test_a_mutable_distance_is_checked_each_time():
    class Turning(Scaled):
        wrong = False

        def derivatives(self, L, b):
            r = super().derivatives(L, b)
            return r._replace(b=-r.b) if self.wrong else r

    distance = Turning(1.0)
    problem = pm.BoundProblem([0.1, 0.2], m=100, distance=distance)
    assert pm.solve(problem, "mirror").status == "optimal"
    distance.wrong = True
    with pytest.raises(pm.InputError, match="`derivatives` has b = "):
        pm.solve(problem, "mirror")


def test_an_equal_object_with_a_fault_is_not_taken_for_the_good_one():
    class Wrong(Forgetful):
        def derivatives(self, L, b):
            return super().derivatives(L, b)._replace(b=-1.0)

        def __hash__(self):
            return 0

    pm.solve(pm.BoundProblem([0.1, 0.2], m=100, distance=Forgetful(1.0)), "mirror")
    with pytest.raises(pm.InputError, match="Wrong: `derivatives` has b = -1"):
        pm.solve(pm.BoundProblem([0.1, 0.2], m=100, distance=Wrong(1.0)), "mirror")


@pytest.mark.parametrize(
    ("method", "wrong", "complaint"),
    [
        ("slopes", lambda self, L, b: (L, 1.0, 1.0), "`slopes` has value = "),
        ("slopes", lambda self, L, b: (*self.derivatives(L, b)[:2], -1.0), "`slopes` has b = -1"),
        ("rate", lambda self, L, b: 3.0, "`rate` is 3"),
        ("balance", lambda self, L, b, rate: 1.0 - rate, "`balance` has the sign"),
        ("reaches", lambda self, L, b, r: np.asarray(L >= r), "`reaches` is 0"),
        ("reaches", lambda self, L, b, r: np.ones(np.shape(L), bool), "`reaches` is 1"),
        ("invert", lambda self, L, b: L, "`derivatives` has value = "),
    ],
)
def test_a_method_that_disagrees_with_the_derivatives_is_named(method, wrong, complaint):
    distance = type("Odd", (Relative,), {method: wrong})()
    with pytest.raises(pm.InputError, match=complaint):
        pm.check_derivatives(distance)
    with pytest.raises(pm.InputError, match=complaint):
        pm.solve(pm.BoundProblem([0.1, 0.2, 0.3], m=100, distance=distance), "frontier")


def test_a_comparison_that_disagrees_with_the_inverse_is_no_ground_for_a_proof():
    """`reaches` decides in the checker."""
    always = type("Always", (Relative,), {"reaches": lambda self, L, b, r: np.ones(np.shape(L), bool)})
    assert not concave_on_grid(always())
