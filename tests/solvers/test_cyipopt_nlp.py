"""Ipopt with hand-written derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacb_models as pm
from pacb_models.solvers.nonlinear.cyipopt_nlp import lifted

from ..drawn import arrays, weights
from .solver_checks import PAIRS, TWO_MINIMA, make

RNG = np.random.default_rng(5)
RISKS = np.append(RNG.binomial(200, 0.2, 9) / 200, [0.0, 0.0])
PRIOR = RNG.dirichlet(np.ones(11))


@st.composite
def points(draw, problem):
    """Interior points of the lifted problem's domain, with L and T not tied to the weights."""
    q, T = 0.9 * draw(weights(problem.size)) + 0.1 * problem.prior, problem.divergence_size(problem.prior)
    return np.append(q, (draw(st.floats(0.05, 0.6)), T + draw(st.floats(0.1, 2.0))))


def check_derivatives(derivatives, function, x, rel=1e-6):
    """Fourth-order central differences, one row per component of the function, within what rounding does to them."""
    for i in range(x.size):
        h = 1e-3 * x[i] * np.eye(x.size)[i]
        near, far = function(x + h) - function(x - h), function(x + 2 * h) - function(x - 2 * h)
        rounding = 2.0**-50 * np.abs(function(x)).max() / h[i]
        assert derivatives[..., i] == pytest.approx((8 * near - far) / (12 * h[i]), rel=rel, abs=rounding)


@pytest.mark.long
@pytest.mark.parametrize("divergence, distance", PAIRS)
@settings(max_examples=8)
@given(data=st.data())
def test_derivatives_against_finite_differences(divergence, distance, data):
    nlp = lifted(make(RISKS, distance, divergence, prior=PRIOR))
    x = data.draw(points(nlp.problem))
    check_derivatives(nlp.gradient(x), nlp.objective, x)

    jacobian = np.zeros((3, x.size))
    jacobian[nlp.jacobianstructure()] = nlp.jacobian(x)
    check_derivatives(jacobian, nlp.constraints, x)

    multipliers, factor = data.draw(arrays(st.floats(-2.0, 2.0), 3)), data.draw(st.floats(0.1, 2.0))

    def slope_of_the_lagrangian(at):
        rows = np.zeros((3, at.size))
        rows[nlp.jacobianstructure()] = nlp.jacobian(at)
        return factor * nlp.gradient(at) + multipliers @ rows

    hessian = np.zeros((x.size, x.size))
    rows, columns = nlp.hessianstructure()
    assert (rows >= columns).all()
    hessian[rows, columns] = nlp.hessian(x, multipliers, factor)
    hessian[columns, rows] = hessian[rows, columns]
    check_derivatives(hessian, slope_of_the_lagrangian, x)


@pytest.mark.parametrize("divergence, distance", PAIRS)
def test_many_copies_of_a_classifier_change_nothing(divergence, distance):
    """Scaling: with each classifier 500 times the bound and its accuracy stay the same."""
    few = make(RISKS, distance, divergence, prior=PRIOR)
    many = make(np.repeat(RISKS, 500), distance, divergence, prior=np.repeat(PRIOR / 500, 500))
    one, other = pm.solve(few, "cyipopt"), pm.solve(many, "cyipopt")
    assert one.status == other.status == "optimal"
    assert other.bound == pytest.approx(one.bound, abs=1e-9)
    assert other.kkt_residual <= 1e-7


def test_weights_that_should_be_zero_are_zero():
    problem = make([0.1, 0.11, 0.5, 0.9], "squared", "chi2", m=5000)
    reference, solution = pm.solve(problem, "frontier"), pm.solve(problem, "cyipopt")
    assert 0 < reference.support_size < 4
    assert (solution.posterior > 0).tolist() == (reference.posterior > 0).tolist()

    # A start with weights of zero is moved inside.
    vertex = pm.solve(TWO_MINIMA, "cyipopt", start=np.eye(50)[0])
    assert vertex.status == "optimal" and vertex.support_size > 1


def test_time_limit_between_the_starts():
    """The limit is for all starts together; what was found by then is reported."""
    problem = make(np.random.default_rng(1).binomial(200, 0.2, 2000) / 200, "kl", "chi2")
    solution = pm.solve(problem, "cyipopt", starts=100_000, time_limit=1.0)
    assert 1 <= len(solution.details["bounds"]) < 100_000
    assert solution.status == "time_limit" or (solution.status == "optimal" and "starts" in solution.message)


def test_raw_options_override_ours():
    loose = pm.solve(TWO_MINIMA, "cyipopt", options={"tol": 1e-2, "acceptable_tol": 1e-2})
    tight = pm.solve(TWO_MINIMA, "cyipopt", options={"tol": 1e-10})
    assert loose.iterations < tight.iterations and loose.kkt_residual > tight.kkt_residual
