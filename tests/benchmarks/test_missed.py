"""What solvers returned instead of the optimum: real solvers in known local minima, and imagined rows."""

from __future__ import annotations

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks.families import instance
from pacb_models.benchmarks.report import analysis, missed, rebuilt
from pacb_models.plots.style import Style

from .made_up_log import frame, row

NAME = "one-good-07-H50-chi2-squared"


@pytest.fixture(scope="module")
def hard():
    """An instance of the collection with several minima, its optimum, and what the fixed point makes of it."""
    problem = instance(NAME).build()
    found = pm.solve(problem)
    local = pm.solve(problem, "fixed-point")
    assert found.local_minima and local.bound > found.bound + 1e-4
    return problem, found, local


def rows_of(problem, optimum, points):
    facts = {
        "dataset": "one-good",
        "H": problem.size,
        "m": problem.m,
        "delta": problem.delta,
        "distance": problem.distance,
        "reference_bound": optimum.bound,
    }
    return [
        row(name, NAME, gap=bound - optimum.bound, **{**facts, "bound": bound, "empirical_risk": risk, **changes})
        for name, (bound, risk, changes) in points.items()
    ]


def test_the_local_minimum_of_the_fixed_point_is_named(hard, tmp_path):
    problem, optimum, local = hard
    points = {
        "frontier": (optimum.bound, optimum.empirical_risk, {}),
        "fixed-point": (local.bound, local.empirical_risk, {}),
        "another": (local.bound + 1e-9, local.empirical_risk, {"status": "acceptable"}),
        "tired": (local.bound + 0.01, local.empirical_risk, {"status": "time_limit"}),
    }
    runs = analysis.prepare(frame(tmp_path, rows_of(problem, optimum, points)))
    [case] = missed.cases(runs)
    # A claim first, then by gap.
    assert case.missed["method"].tolist() == ["fixed-point", "tired", "another"]
    count = 1 + len(optimum.local_minima)
    place = 2 + sorted(minimum.bound for minimum in optimum.local_minima).index(
        min((minimum.bound for minimum in optimum.local_minima), key=lambda bound: abs(bound - local.bound))
    )
    assert case.missed["place"].tolist() == [
        f"local minimum {place} of {count}",
        "no minimum",
        f"local minimum {place} of {count}",
    ]
    assert case.sentence().startswith(f"{NAME}: 3 of 4 solvers ended up to ")
    table = missed.missed_table([case], 3)
    assert [cell.text for cell in table.rows[1]][:3] == [NAME, "tired", "time limit"]
    figure = missed.path_figure(case, Style(list(points)))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "frontier: the minimum" in labels
    assert any(label.startswith(f"fixed-point, another: local minimum {place} of {count}, ") for label in labels)
    assert any(label.startswith("tired: no minimum, ") for label in labels)
    assert figure.axes[0].get_legend() is None


def test_problems_take_turns_family_by_family_and_only_so_many_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(missed, "LISTED", 3)
    gaps = {"a1": 0.1, "a2": 0.2, "b1": 0.01}
    rows = [row("x", name, gap=gap, dataset=name[0]) for name, gap in gaps.items()]
    rows += [row("y", "a1", gap=0.3, dataset="a"), row("y", "b1", gap=5e-8, dataset="b"), row("z", "c", gap=None)]
    runs = analysis.prepare(frame(tmp_path, rows))
    above = missed.missed_runs(runs)
    assert list(zip(above["problem"], above["method"])) == [("a1", "y"), ("a1", "x"), ("b1", "x"), ("a2", "x")]
    found = missed.cases(runs)
    assert [case.name for case in found] == ["a1", "b1"] and all(case.display is None for case in found)
    table = missed.missed_table(found, len(above))
    assert len(table.rows) == 3 and "The first 3 of 4 runs" in table.caption
    assert {line[-1].text for line in table.rows} == {"–"}  # nobody knows these problems


def test_a_problem_of_another_optimum_is_not_drawn(hard, tmp_path):
    problem, optimum, local = hard
    points = {"x": (local.bound, local.empirical_risk, {})}
    [made] = frame(tmp_path, rows_of(problem, optimum, points)).iloc
    again, solution = rebuilt.certified(made)
    assert np.array_equal(again.risks, problem.risks) and solution.bound == pytest.approx(optimum.bound, abs=1e-12)
    assert rebuilt.certified(made.replace({made["reference_bound"]: optimum.bound - 1e-3})) is None
