"""The minimisers of T + γL over boxes and rows: duality gaps, computed without the code that found them."""

import math
import time

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.constraints.posteriors import Posteriors, cheapest
from pacb_models.constraints.tilting import Tilting
from pacb_models.divergences import ChiSquared, KullbackLeibler, Renyi

from ..own_bounds import Mixed

ORDERS = [1.1, 1.5, 3.0, 10.0, 50.0]
OURS = [KullbackLeibler(), ChiSquared(), *map(Renyi, ORDERS)]


def size_and_plane(divergence, q, p):
    """The size, a gradient ``v`` and a number ``c`` with T(q') ≥ v·q' - c for all posteriors q'."""
    if isinstance(divergence, KullbackLeibler):
        # Donsker and Varadhan, for any v.
        v = np.log(np.maximum(q, 1e-300) / p)
        return float(q @ v), v, math.log(p @ np.exp(v))
    if divergence.homogeneous:
        # Hölder: T is a norm.
        x = q / p
        size = x.max() * float(p @ (x / x.max()) ** divergence.order) ** (1.0 / divergence.order)
        with np.errstate(under="ignore"):
            return size, (x / size) ** (divergence.order - 1.0), 0.0
    size = divergence.size(q, p)
    v = divergence.gradient(q, p, size)
    return size, v, float(v @ q) - size


def gap(divergence, y, p, posteriors, found):
    """By how much T + γL is above what the tangent plane and the rows' multipliers prove, relative to it."""
    q = found.posterior
    size, v, c = size_and_plane(divergence, q, p)
    costs = v + found.gamma * y + found.multipliers @ posteriors.matrix
    lowest = float(costs @ cheapest(costs, posteriors.lower, posteriors.upper)) - c
    value = size + found.gamma * float(y @ q)
    return (value - lowest) / max(abs(value), 1.0)


def draw(rng, rows):
    """Risks, a prior down to 1e-12, constraints that some posterior keeps, and γ from 1e-3 to 1e6."""
    H = int(rng.integers(2, 51))
    y = rng.random(H) * 10.0 ** rng.uniform(-2, 0)
    y = np.round(y, 2) if rng.random() < 0.3 else y
    p = rng.dirichlet(np.full(H, 10.0 ** rng.uniform(-1, 2))) ** (rng.uniform(1, 4) if rng.random() < 0.3 else 1.0)
    p = np.maximum(p, 1e-12)
    lower, upper, constraints = np.zeros(H), np.ones(H), []
    if rng.random() < 0.8:
        upper = np.full(H, rng.uniform(1.0001, 3.0) / H) if rng.random() < 0.5 else rng.uniform(0.05, 1.0, H)
        upper = np.minimum(upper * max(1.0, 1.001 / upper.sum()), 1.0)
        upper = np.maximum(upper, 1.0001 / H)
        constraints.append(pm.weights(at_most=upper))
    if rng.random() < 0.4:
        lower = np.minimum(rng.random(H) * rng.uniform(0.0, 0.95) / H, upper) * (rng.random(H) < 0.7)
        constraints.append(pm.weights(at_least=lower))
    inside = lower + (upper - lower) * (1.0 - lower.sum()) / (upper - lower).sum()
    kept = inside + rng.uniform(0.1, 0.95) * (cheapest(rng.random(H), lower, upper) - inside)
    for k in range(rows):
        values = rng.random(H) if rng.random() < 0.7 else rng.integers(0, 2, H) * 1.0
        values = values + (1.0 - y if rng.random() < 0.3 else 0.0)
        limit = float(values @ kept) + (0.05 if rng.random() < 0.3 else 0.0)
        constraints.append(pm.average(values, at_most=limit, name=f"row {k}"))
    return y - y.min(), p / p.sum(), constraints, 10.0 ** rng.uniform(-3, 6)


def check_weights(found, posteriors):
    q = found.posterior
    assert (q >= posteriors.lower).all() and (q <= posteriors.upper).all()
    assert abs(q.sum() - 1.0) <= 2e-15
    slack = posteriors.matrix @ q
    broken = np.where(found.multipliers > 0.0, np.abs(slack), np.maximum(slack, 0.0)).max(initial=0.0)
    assert (found.multipliers >= 0.0).all() and broken <= found.error + 1e-15


@pytest.mark.parametrize("divergence", [*OURS, Mixed()], ids=repr)
def test_boxes(divergence):
    for seed in range(60):
        y, p, constraints, gamma = draw(np.random.default_rng([1, seed]), 0)
        # The size of our own divergence grows as the cube of the ratios, and so do rounding errors of its statistic.
        p = np.maximum(p, 1e-4) if isinstance(divergence, Mixed) else p
        p = p / p.sum()
        posteriors = Posteriors(y.size, constraints)
        found = Tilting(divergence, y, p, posteriors).at(gamma)
        check_weights(found, posteriors)
        assert gap(divergence, y, p, posteriors, found) < 1e-10
        assert found.size == (pytest.approx(divergence.size(found.posterior, p)) if divergence.homogeneous else 1.0)
        if divergence.order <= 2.0:
            # At larger orders 16 digits of θ do not tell the smallest weights.
            again = p * divergence.ratios(found.theta - gamma * y, found.size)
            again = np.clip(again, posteriors.lower, posteriors.upper)
            assert again == pytest.approx(found.posterior, rel=1e-6, abs=1e-7)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("divergence", "closed"), [(each, 0.98) for each in OURS[:-1]] + [(OURS[-1], 0.9)], ids=repr)
def test_rows(divergence, closed):
    done, longest = 0, 0.0
    for seed in range(50):
        rng = np.random.default_rng([2, seed])
        y, p, constraints, gamma = draw(rng, int(rng.integers(1, 6)))
        posteriors = Posteriors(y.size, constraints)
        begun = time.process_time()
        found = Tilting(divergence, y, p, posteriors).at(gamma)
        longest = max(longest, time.process_time() - begun)
        check_weights(found, posteriors)
        done += found.error <= 1e-10 and gap(divergence, y, p, posteriors, found) < 1e-8
    assert done >= closed * 50
    assert longest < 1.0


@pytest.mark.parametrize(
    ("risks", "prior", "constraints", "divergence"),
    [
        ([0.344, 0.348, 0.243, 0.127, 0.328], None, [pm.weights(at_most=0.76)], KullbackLeibler()),
        ([0.1, 0.3, 0.35, 0.4], None, [pm.weights(at_most=0.7)], KullbackLeibler()),
        ([0.675, 0.973], [0.2, 0.8], [pm.average([1.0, 2.0], at_most=3.0)], Renyi(50.0)),
        ([0.253, 0.259, 0.043], None, [pm.average([3.24, 2.31, 8.38], at_most=2.32)], Renyi(10.0)),
        ([0.451, 0.463, 0.428, 0.096], None, [pm.weights(at_most=[0.58, 0.52, 0.4, 0.48])], KullbackLeibler()),
    ],
)
def test_problems_that_once_failed(risks, prior, constraints, divergence):
    y = np.array(risks) - min(risks)
    p = np.full(y.size, 1.0 / y.size) if prior is None else np.array(prior)
    posteriors = Posteriors(y.size, constraints)
    found = None
    for gamma in np.geomspace(1e-3, 1e6, 40):
        # How much work there may be is counted for each set.
        found = Tilting(divergence, y, p, posteriors).at(gamma, found)
        check_weights(found, posteriors)
        assert found.error < 1e-11
        assert gap(divergence, y, p, posteriors, found) < 1e-9


@pytest.mark.parametrize("divergence", OURS, ids=repr)
def test_sets_without_an_inside(divergence, capfd):
    y, p = np.array([0.0, 0.1, 0.3, 0.2]), np.array([0.1, 0.2, 0.3, 0.4])
    for constraints, only in (
        ([pm.weights(at_most=0.25)], [0.25] * 4),
        ([pm.weights(at_least=[0.4, 0.3, 0.2, 0.1])], [0.4, 0.3, 0.2, 0.1]),
        ([pm.weights(at_least=0.1), pm.weights(at_most=[0.1, 0.1, 0.1, 0.7])], [0.1, 0.1, 0.1, 0.7]),
        ([pm.average([1.0, 0.0, 0.0, 1.0], at_most=0.0), pm.average([0.0, 1.0, 0.0, 0.0], at_most=0.0)], [0, 0, 1, 0]),
    ):
        posteriors = Posteriors(4, constraints)
        for gamma in (0.0, 1.0, 1e4):
            found = Tilting(divergence, y, p, posteriors).at(gamma)
            assert np.isfinite(found.posterior).all() and np.isfinite(found.multipliers).all()
            assert math.isfinite(found.theta) and math.isfinite(found.size)
            check_weights(found, posteriors)
            assert found.posterior == pytest.approx(np.array(only), abs=10.0 * found.error + 1e-9)
            assert found.error < 1e-6
    assert capfd.readouterr() == ("", "")


def test_the_nearest_posterior():
    p = np.array([0.1, 0.2, 0.3, 0.4])
    posteriors = Posteriors(4, [pm.weights(at_most=0.35), pm.average([0.0, 1.0, 2.0, 3.0], at_most=1.5)])
    q = posteriors.nearest(p)
    assert posteriors.violation(q) < 1e-14
    # Between the bounds ln(q/p) is linear in the row.
    logs = np.log(q / p)
    assert (q < 0.35).all() and np.diff(logs) == pytest.approx(np.full(3, logs[1] - logs[0]), abs=1e-12)
