"""Many problems: the solutions of ``solve``, in the order of the problems."""

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.problem import Problem


def mixture() -> list[Problem]:
    random = np.random.default_rng(3)
    problems = [
        kind(random.random(size), m, distance=distance, divergence=divergence)
        for kind in (pm.BoundProblem, pm.DirectProblem)
        for size in (3, 5)
        for m in (10, 100)
        for distance in ("linear", "squared", "kl")
        for divergence in ("chi2", "kl")
    ]
    random.shuffle(problems)
    return problems


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_mixture_keeps_its_order(n_jobs):
    problems = mixture()
    for problem, solution in zip(problems, pm.solve_many(iter(problems), n_jobs=n_jobs), strict=True):
        alone = pm.solve(problem)
        np.testing.assert_array_equal(solution.posterior, alone.posterior)
        assert (solution.bound, solution.status, solution.is_global) == (alone.bound, alone.status, alone.is_global)
    assert pm.solve_many([], n_jobs=n_jobs) == []


def test_another_solver():
    problems = [pm.BoundProblem([0.1, 0.2, 0.3], m=m, distance="squared") for m in (100, 200)]
    solutions = pm.solve_many(problems, "fixed-point")
    assert [(each.solver, each.is_global) for each in solutions] == [("fixed-point", False)] * 2
    assert [each.bound for each in solutions] == pytest.approx(
        [each.bound for each in pm.solve_many(problems)], abs=1e-9
    )


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "two"])
def test_a_number_of_processes_that_is_none(n_jobs):
    with pytest.raises(pm.InputError, match=r"n_jobs is .*; it must be a whole number other than 0, or None"):
        pm.solve_many([], n_jobs=n_jobs)
