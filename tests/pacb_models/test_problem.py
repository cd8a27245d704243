"""BoundProblem against forty-digit arithmetic, for every distance, divergence and constant there is."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import pacb_models as pm

from ..drawn import some_weights, weights, with_orders
from .mp_reference import Reference, numbers

#: (divergence, distance, order, constant): all that exist. Rényi orders on both sides of two.
COMBINATIONS = [
    (*bound, which)
    for bound in with_orders(1.5, 3.0)
    for which in (("exact",) if bound[0] == "renyi" else ("exact", "paper"))
]
SAMPLES = (1, 2, 9, 30)

# Risks are multiples of a thousandth, zero and one among them; weights may be zero, priors not.
risk_vectors = arrays(int, st.integers(1, 6), elements=st.integers(0, 1000)).map(lambda k: k / 1000)
deltas = st.sampled_from([0.001, 0.01, 0.05, 0.5])


@st.composite
def cases(draw, combinations=tuple(COMBINATIONS)):
    """A problem, its reference and a posterior."""
    divergence, distance, order, which = draw(st.sampled_from(combinations))
    risks = draw(risk_vectors)
    prior, posterior = draw(weights(risks.size)), draw(some_weights(risks.size))
    m, delta = draw(st.sampled_from(SAMPLES)), draw(deltas)
    problem = pm.BoundProblem(
        risks, m=m, delta=delta, distance=distance, divergence=divergence, prior=prior, constant=which, order=order
    )
    return problem, Reference(risks, prior, m, delta, distance, divergence, which, order), posterior


@pytest.mark.long
@pytest.mark.parametrize("combination", COMBINATIONS)
@settings(max_examples=15)
@given(st.data())
def test_bound_agrees_with_forty_digits(combination, data):
    problem, reference, posterior = data.draw(cases([combination]))
    assert problem.constant_value == pytest.approx(float(reference.constant), rel=1e-11)
    value, exact = problem.bound(posterior), reference(numbers(posterior))
    # Far inside the digits that a certificate shows; never below by more than the rounding of L + ….
    assert abs(value - exact) <= 1e-11 * exact
    assert value >= exact * (1 - 1e-14)


@settings(max_examples=80)
@given(cases())
def test_gradient_agrees_with_differences_in_forty_digits(case):
    problem, reference, posterior = case
    exact = numbers(posterior)
    # The kl bound has infinite slope at L = 0, and is flat in double precision at one.
    assume(
        problem.distance != "kl" or (problem.empirical_risk(posterior) > 0.0 and problem.bound(posterior) < 1 - 1e-9)
    )
    slopes = problem.gradient(posterior)
    # At weight zero only the one-sided slope exists (and for the KL divergence none).
    for i in np.flatnonzero(posterior):
        assert slopes[i] == pytest.approx(float(reference.partial(exact, i)), rel=1e-8, abs=1e-8)


def test_gradient_at_weight_zero_is_the_one_sided_slope():
    problem = pm.BoundProblem([0.1, 0.3], m=30, distance="kl", divergence="chi2")
    step = 1e-7
    sizes = math.sqrt(2.0), math.sqrt(2.0 + 2.0 * step**2)
    slope = (problem.bound_at(0.1 + 0.3 * step, sizes[1]) - problem.bound_at(0.1, sizes[0])) / step
    assert problem.gradient([1.0, 0.0])[1] == pytest.approx(slope, rel=1e-5)


def test_prior_left_out_is_uniform():
    problem = pm.BoundProblem([0.1, 0.2, 0.3, 0.4], m=10)
    assert problem.uniform_prior
    assert problem.prior.tolist() == [0.25] * 4
    assert not pm.BoundProblem([0.1, 0.2], m=10, prior=[0.5, 0.5]).uniform_prior


def test_arrays_are_copies_that_cannot_be_changed():
    risks = np.array([0.1, 0.2])
    problem = pm.BoundProblem(risks, m=10)
    risks[0] = 0.9
    assert problem.risks[0] == 0.1
    with pytest.raises(ValueError):
        problem.risks[0] = 0.5
    with pytest.raises(ValueError):
        problem.prior[0] = 0.5


def test_a_problem_never_changes():
    """The constant is computed once: another m, δ or order under it would be a false guarantee."""
    problem = pm.BoundProblem([0.1, 0.2], m=1000, divergence="renyi", order=3.0)
    before = problem.constant_value
    for name in [*vars(problem), "size", "order", "distance", "divergence", "not_an_attribute"]:
        with pytest.raises(AttributeError, match=f"{name} of a BoundProblem cannot be set.*replace"):
            setattr(problem, name, 10)
    with pytest.raises(AttributeError, match="cannot assign to field 'order'"):
        problem.divergence_function.order = 1.5
    assert (problem.m, problem.order, problem.constant_value) == (1000, 3.0, before)


@pytest.mark.parametrize("evaluated", [False, True])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda problem: pickle.loads(pickle.dumps(problem))])
def test_copies_never_change_either(duplicate, evaluated):
    problem = pm.BoundProblem([0.1, 0.2], m=30, divergence="renyi", order=3.0, prior=[0.3, 0.7])
    if evaluated:
        problem.bound(problem.prior)
    other = duplicate(problem)
    assert repr(other) == repr(problem)
    assert other.bound(other.prior) == problem.bound(problem.prior)
    with pytest.raises(AttributeError, match="cannot be set"):
        other.m = 10
    with pytest.raises(AttributeError, match="cannot assign"):
        other.divergence_function.order = 10


class TestReplace:
    problem = pm.BoundProblem([0.1, 0.3], m=20, delta=0.1, distance="squared", prior=[0.3, 0.7], constant="paper")

    def test_keeps_the_rest(self):
        other = self.problem.replace(delta=0.01)
        kept = (other.m, other.distance, other.divergence, other.constant)
        assert other.delta == 0.01 and kept == (20, "squared", "chi2", "paper")
        assert other.prior.tolist() == [0.3, 0.7]

    def test_keeps_the_order(self):
        renyi = pm.BoundProblem([0.1, 0.3], m=20, divergence="renyi", order=3.5)
        assert renyi.replace(m=30).order == 3.5
        assert renyi.replace(order=1.5).order == 1.5
        assert renyi.replace(divergence="renyi").order == 3.5
        assert renyi.replace(divergence="chi2").order == 2.0
        assert renyi.replace(divergence="kl").replace(divergence="renyi").order == 2.0

    def test_uniform_prior_follows_the_number_of_risks(self):
        assert pm.BoundProblem([0.1, 0.3], m=20).replace(risks=[0.1, 0.2, 0.3]).prior.tolist() == [1 / 3] * 3

    def test_names(self):
        other = self.problem.replace(distance="kl", divergence="kl")
        assert (other.distance, other.divergence) == ("kl", "kl")
        with pytest.raises(pm.InputError, match="pinsker"):
            self.problem.replace(distance="pinsker")


def test_repr_names_everything():
    problem = pm.BoundProblem([0.1, 0.3], m=20, delta=0.1, divergence="renyi", order=1.5, prior=[0.3, 0.7])
    assert repr(problem) == (
        "BoundProblem(H=2, m=20, delta=0.1, distance='kl', divergence='renyi', order=1.5, "
        "prior=given, constant='exact')"
    )


def test_rounded_weights_do_not_carry_the_empirical_risk_out_of_its_range():
    """A solver's iterate may be a rounding error outside of the simplex."""
    iterate = np.array([1.0 + 1e-12, -1e-12])
    assert pm.BoundProblem([0.0, 0.5], m=50).empirical_risk(iterate) == 0.0
    assert pm.BoundProblem([1.0, 0.5], m=50).empirical_risk(iterate) == 1.0


# --- changed, sent and judged ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound, vote", [(0.1, 0.2), (0.5, 1.0), (0.7, 1.0)])
def test_a_vote_errs_at_most_twice_as_often_as_its_members(bound, vote):
    assert pm.BoundProblem([0.1], m=50).vote_bound(bound) == vote


def test_residuals_are_relative_to_bounds_above_one():
    """A vacuous bound, as the linear distance has them, with a residual that is computed here from its gradient."""
    problem = pm.BoundProblem([0.1, 0.9, 0.5], m=1, delta=0.01, distance="linear", divergence="chi2")
    q = np.array([0.2, 0.5, 0.3])
    slopes = problem.gradient(q)
    assert problem.bound(q) > 2.0 and q @ slopes - slopes.min() > 0.1
    assert problem.kkt_residual(q) == pytest.approx((q @ slopes - slopes.min()) / problem.bound(q), rel=1e-12)
