"""The certified minimum under constraints against SCIP and Ipopt, on a share of the study's random problems."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import pacb_models as pm
from pacb_models.benchmarks.studies.constrained import (
    COMBINATIONS,
    STUDY,
    by_everybody,
    counts_of,
    random_problem,
    what_contradicts,
)

#: One of each pair of distance and divergence, from all over the study's 500 seeds.
SEEDS = [place + len(COMBINATIONS) * (6 * place + 1) for place in range(len(COMBINATIONS))]


@pytest.mark.outside
def test_nobody_contradicts():
    rows = pd.DataFrame([row for seed in SEEDS for row in by_everybody(seed, seconds=3.0)])
    assert "0 contradictions" in counts_of(rows)
    assert rows["global"].all()
    # The others have something to say.
    assert (rows["scip_status"] == "optimal").sum() >= 3
    assert (rows["ipopt"] <= rows["bound"] + 1e-6).sum() >= 6
    rows.loc[0, "contradictions"] = "ours is above scip"
    assert counts_of(rows).endswith(f"1 contradictions\n  {SEEDS[0]}: ours is above scip")


def test_a_version_is_raised_when_rows_change():
    total = sum(pm.solve(random_problem(seed), "frontier").bound for seed in SEEDS)
    assert (STUDY.version, total) == (1, pytest.approx(2.7570122060746325, rel=1e-9))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"bound": -1e-3}, "slsqp is below our lower bound"),
        ({"bound": -1e-5}, "ours is above slsqp"),
        ({"claimed_lower_bound": 1e-3}, "the lower bound of slsqp is above our minimum"),
    ],
)
def test_what_contradicts(changes, complaint):
    problem = random_problem(0)
    ours, other = pm.solve(problem, "frontier"), pm.solve(problem, "slsqp")
    assert what_contradicts(ours, [other]) == []
    wrong = replace(other, **{name: ours.bound + change for name, change in changes.items()})
    assert complaint in what_contradicts(ours, [wrong])
    assert what_contradicts(replace(ours, is_global=False), [other]) == ["ours is open"]


@pytest.mark.parametrize("seed", [103, 490])
def test_steep_lines_at_the_end_do_not_spoil_the_proof(seed):
    solution = pm.solve(random_problem(seed), "frontier")
    assert solution.is_global
    assert "gap" not in solution.message
