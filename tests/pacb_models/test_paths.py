"""The optimum along a parameter: the same as one by one, and what is drawn of it."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import pacb_models as pm
from pacb_models.errors import InputError
from pacb_models.plots import SolutionPathDisplay

ERRORS = [51, 55, 58, 60, 66, 70, 75, 82, 88, 95, 101, 110]
LATENCY = [90, 60, 55, 40, 30, 24, 20, 16, 12, 9, 6, 4]
FREE = pm.BoundProblem.from_counts(ERRORS, m=549)
ROW = pm.average(LATENCY, at_most=25, name="latency")
BUDGET = FREE.replace(constraints=[ROW, pm.weights(at_most=0.4)])


def one_by_one(problem, changes):
    return [pm.solve(problem.replace(**change)).bound for change in changes]


@pytest.mark.parametrize("problem", [FREE, BUDGET], ids=["free", "budget"])
@pytest.mark.parametrize(("parameter", "values"), [("delta", [0.2, 0.001, 0.05]), ("m", [200, 2000, 549])])
def test_parameters_of_the_bound(problem, parameter, values):
    path = pm.path(problem, parameter, values)
    assert path.values.tolist() == values and len(path) == 3
    assert path.bounds == pytest.approx(one_by_one(problem, [{parameter: value} for value in values]), abs=1e-10)
    assert all(solution.is_global for solution in path)
    assert path.supports.tolist() == [solution.support_size for solution in path.solutions]
    assert path[1] is path.solutions[1] and path.problem is problem


def test_a_budget():
    values = [12.0, 20.0, 25.0, 80.0]
    path = pm.path(BUDGET, "latency", values)
    rows = [[pm.average(LATENCY, at_most=value, name="latency"), pm.weights(at_most=0.4)] for value in values]
    assert path.bounds == pytest.approx(one_by_one(FREE, [{"constraints": row} for row in rows]), abs=1e-10)
    assert np.all(np.diff(path.bounds) <= 1e-12)
    rates = path.multipliers["latency"]
    assert rates[0] > rates[1] > 0.0 and rates[-1] == 0.0
    frame = path.to_frame()
    assert frame["latency"].tolist() == values
    assert frame["multiplier of latency"].tolist() == rates.tolist()
    assert frame["bound"].tolist() == path.bounds.tolist()
    assert frame["is_global"].all()
    near = pm.path(BUDGET, "latency", [20.0 - 1e-3, 20.0 + 1e-3]).bounds
    assert rates[1] == pytest.approx(-(near[1] - near[0]) / 2e-3, rel=1e-4)


def test_other_limits():
    asked = FREE.replace(constraints=[pm.average(LATENCY, at_most=25, at_least=5), pm.weights(0.4, [0.0] * 12)])
    for parameter, values in (
        ("average 1", [20, 30]),
        ("average 1 (at least)", [5, 20]),
        ("weights at most", [0.2, 1]),
    ):
        assert len(pm.path(asked, parameter, values)) == 2
    counted = FREE.replace(constraints=[pm.support(at_most=3)])
    path = pm.path(counted, "support", [1, 2, 12])
    assert path.supports[0] == 1 and path.supports[1] <= 2
    assert path.bounds[-1] == pytest.approx(pm.solve(FREE).bound, abs=1e-10)
    assert np.all(np.diff(path.bounds) <= 1e-12)


@pytest.mark.parametrize(
    ("problem", "parameter", "values", "sentence"),
    [
        (FREE, "latency", [1], "parameter is 'latency'; it must be one of 'delta', 'm'."),
        (BUDGET, "speed", [1], "parameter is 'speed'; it must be one of 'delta', 'm', 'latency', 'weights at most'."),
        (BUDGET, "latency", [30, 3], "values[1] is 3: constraints cannot hold"),
        (FREE, "m", [10, 1.5], "values[0] is 10.0: m is 10.0; a sample size must be a whole number"),
        (FREE, "delta", [0.1, 2.0], "values[1] is 2.0: delta is 2.0; it must be a number strictly between 0 and 1."),
        (FREE, "delta", [], "values must be a sequence of numbers; its shape is (0,)."),
        (FREE, "delta", 0.1, "values must be a sequence of numbers; its shape is ()."),
        (FREE, "delta", [[0.1, 0.2]], "values must be a sequence of numbers; its shape is (1, 2)."),
        (FREE, "delta", ["a"], "values[0] is 'a'; every entry must be a number."),
        (3, "delta", [0.1], "problem is 3; it must be a BoundProblem."),
        (
            FREE.replace(constraints=[pm.average(LATENCY, 25, name="m")]),
            "m",
            [100],
            "parameter is 'm', which is a row of the problem, too; give the row another name.",
        ),
    ],
)
def test_bad_input_is_one_sentence(problem, parameter, values, sentence):
    with pytest.raises(InputError) as caught:
        pm.path(problem, parameter, values)
    assert str(caught.value).startswith(sentence)


# -- The picture -------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_picture_shows_bounds_supports_and_multipliers(tmp_path):
    path = pm.path(BUDGET, "latency", [40.0, 12.0, 20.0, 80.0, 65.0])
    display = path.plot()
    bound, supports, rates = display.figure_.axes
    order = np.argsort(path.values)
    assert np.array_equal(bound.lines[0].get_xdata(), path.values[order])
    assert np.array_equal(bound.lines[0].get_ydata(), path.bounds[order])
    assert np.array_equal(supports.lines[0].get_ydata(), path.supports[order])
    assert np.array_equal(rates.lines[0].get_ydata(), path.multipliers["latency"][order])
    assert rates.get_xlabel() == "latency" and bound.get_ylabel() == "bound"
    free = pm.solve(BUDGET.replace(constraints=[pm.weights(at_most=0.4)])).bound
    assert path.bounds.min() == pytest.approx(free, abs=1e-10)
    assert display.title().startswith("From latency 65 on the bound stays at ")
    display.save(tmp_path / "path.svg")
    assert (tmp_path / "path.svg").read_text().startswith("<?xml")


def test_the_picture_of_one_panel_and_its_titles():
    ax = Figure().add_subplot()
    display = SolutionPathDisplay.from_path(pm.path(FREE, "delta", [0.0001, 0.5])).plot(ax)
    assert display.ax_ is ax and ax.get_xscale() == "log"
    assert display.title().startswith("The bound falls from ")
    assert pm.path(FREE, "delta", [0.05]).plot().title().startswith("The bound is ")
    assert pm.path(BUDGET, "latency", [80, 90]).plot().title().startswith("The bound stays at ")
    assert pm.path(BUDGET, "weights at most", [0.15, 0.1]).plot().title().endswith("rises from 0.1 to 0.15")
