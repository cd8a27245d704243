"""The certified minimum under constraints against SCIP and Ipopt, on a share of the study's random problems."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import pacb_models as pm
from pacb_models.benchmarks.studies.constrained import PAIRS, compared, contradictions, counted, random_problem

#: One of each pair of distance and divergence, from all over the study's 500 seeds.
SEEDS = [place + len(PAIRS) * (6 * place + 1) for place in range(len(PAIRS))]


@pytest.mark.outside
def test_nobody_contradicts():
    rows = pd.DataFrame([compared(seed, seconds=3.0) for seed in SEEDS])
    assert "0 contradictions" in counted(rows)
    assert rows["global"].all()
    # The others have something to say.
    assert (rows["scip_status"] == "optimal").sum() >= 3
    assert (rows["ipopt"] <= rows["bound"] + 1e-6).sum() >= 6
    rows.loc[0, "contradictions"] = "ours is above scip"
    assert counted(rows).endswith(f"1 contradictions\n  {SEEDS[0]}: ours is above scip")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"bound": -1e-3}, "slsqp is below our lower bound"),
        ({"bound": -1e-5}, "ours is above slsqp"),
        ({"lower_bound": 1e-3}, "the lower bound of slsqp is above our minimum"),
    ],
)
def test_what_contradicts(changes, complaint):
    problem = random_problem(0)
    ours, other = pm.solve(problem, "frontier"), pm.solve(problem, "slsqp")
    assert contradictions(ours, [other]) == []
    wrong = replace(other, **{name: ours.bound + change for name, change in changes.items()})
    assert complaint in contradictions(ours, [wrong])
    assert contradictions(replace(ours, is_global=False), [other]) == ["ours is open"]
