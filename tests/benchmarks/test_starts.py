"""Starts of local methods: the same for every method, and what the suite ``starts`` makes of them."""

import numpy as np
import pytest

from pacb_models.benchmarks import verdict
from pacb_models.benchmarks.harness.results import load_results
from pacb_models.benchmarks.harness.suites import suite, telling_instances
from pacb_models.benchmarks.problems.families import instance, instances
from pacb_models.benchmarks.problems.starts import CONCENTRATIONS, numbered_start
from pacb_models.commands.program import main

pytestmark = pytest.mark.long

#: Two minima a thousandth apart; the lone classifier's is the better one.
TWO_MINIMA = "one-good-17-H20-chi2-kl"


@pytest.mark.parametrize("place", range(len(CONCENTRATIONS)))
def test_random_starts_are_dirichlet_posteriors_with_every_weight_positive(place):
    problem = instance(TWO_MINIMA).build()
    numbers = range(place, 400 * len(CONCENTRATIONS), len(CONCENTRATIONS))
    drawn = np.array([numbered_start(problem, 0, number) for number in numbers])
    assert (drawn > 0.0).all()
    assert drawn.sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    # A weight has mean 1/H and variance (1/H)(1 - 1/H)/(H a + 1).
    size = problem.size
    variance = (1.0 - 1.0 / size) / size / (size * CONCENTRATIONS[place] + 1.0)
    assert drawn.var() == pytest.approx(variance, rel=0.2)
    assert np.array_equal(drawn[3], numbered_start(problem, 0, numbers[3]))


def test_every_family_is_represented():
    chosen = telling_instances()
    sizes = {frozen.family: frozen.size for frozen in chosen}
    # All of that one are large, and none has a second minimum.
    assert set(sizes) == {frozen.family for frozen in instances()} - {"many"}
    assert (sizes["one-good"], sizes["staircase"], sizes["natural"]) == (20, 111, 200)
    assert all(size <= 60 for family, size in sizes.items() if family not in ("staircase", "natural", "extreme-prior"))
    assert sum(frozen.minima > 1 for frozen in chosen) >= len(chosen) / 2


def test_the_suite_has_local_methods_and_the_paper_s_own_problems():
    cells = suite("starts").cells
    solvers = {cell.solver for cell in cells}
    assert {"frontier", "fixed-point", "ccp", "cyipopt"} <= solvers
    # SCIP takes a start, too, but searches everywhere.
    assert not {"subset-search", "cvxpy", "scip"} & solvers
    own = {cell.problem.name: cell.problem for cell in cells if cell.problem.family.startswith("the paper's")}
    assert len(own) == 18 and {problem.build().size for problem in own.values()} == {50}


@pytest.mark.outside
def test_rates_are_counted_by_family(tmp_path):
    """One stationary point, whatever the start: that holds on the paper's data, and not on the hard problems."""
    out = str(tmp_path / "out")
    arguments = ["--suite=starts", "--starts=6", "--solvers=frontier,fixed-point", f"--out={out}", "--resume"]
    for problems in ("one-good", "wdbc"):
        assert main(["bench", *arguments, "--problems", problems]) == 0
    runs = verdict.Judged(load_results(out)).runs
    rates = runs[runs["solver"] == "fixed-point"].groupby("family")["found"].mean()
    assert rates["the paper's, squared"] == rates["the paper's, kl"] == 1.0 and 0.0 < rates["one-good"] < 1.0
    assert set(runs.loc[runs["solver"] == "fixed-point", "start"]) == set(range(6))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Random starts lead to the optimum in 100 % of runs on the paper" in page
