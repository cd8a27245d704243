"""The guarantees hold in simulation, and the simulation would notice if they did not."""

import math
import runpy
import sys

import numpy as np
import pytest
from scipy.stats import binom

from pacb_models.benchmarks.studies import simulation
from pacb_models.benchmarks.studies.simulation import NAMED_BOUNDS, breaking_factor, table, tally, tally_certificates
from pacb_models.errors import InputError

pytestmark = pytest.mark.long

IDS = [f"{distance}-{divergence}" for distance, divergence in NAMED_BOUNDS]
SCENARIOS = {scenario.name: scenario for scenario in simulation.scenarios()}


ONE = [SCENARIOS["one at the worst case of kl"], SCENARIOS["one at a half"]]
every_bound = pytest.mark.parametrize(("distance", "divergence"), NAMED_BOUNDS, ids=IDS)


@every_bound
@pytest.mark.parametrize("direct", [False, True])
def test_every_bound_holds_in_every_scenario(distance, divergence, direct):
    """Also without change of measure and with one-sided constants, the tightest of all."""
    for scenario in SCENARIOS.values():
        constant = "one-sided" if direct else "exact"
        result = tally(scenario, distance, divergence, 0.05, draws=150, seed=1, constant=constant, direct=direct)
        assert result.valid and result.mean_bound > result.mean_true_risk, result


@every_bound
def test_a_constant_far_too_small_is_noticed(distance, divergence):
    factor = breaking_factor(distance, divergence)
    assert factor < 1.0
    small = max(0.5 * factor, simulation.smallest_factor(distance, divergence, 100, 0.05))
    results = [tally(each, distance, divergence, delta=0.05, draws=4000, seed=2, factor=small) for each in ONE]
    assert not all(result.valid for result in results), results


@pytest.mark.parametrize("distance", ["squared", "kl"])
def test_direct_bounds_with_a_constant_too_small_are_noticed(distance):
    factor = 0.5 * breaking_factor(distance, "chi2")
    results = [tally(each, distance, "chi2", 0.05, 4000, 2, factor, "one-sided", direct=True) for each in ONE]
    assert not all(result.valid for result in results), results


@pytest.mark.parametrize("risk", [0.0264, 0.5])
def test_simulated_rate_is_the_exact_probability(risk):
    factor, draws = 0.05, 20_000
    simulated = tally(ONE[risk == 0.5], "kl", "chi2", delta=0.05, draws=draws, seed=3, factor=factor).rate
    exact = simulation.violation_probability("kl", "chi2", 100, 0.05, factor, np.array([risk]))
    assert abs(simulated - exact) <= 5 * math.sqrt(exact * (1 - exact) / draws)
    assert exact > 0.05


def test_draws_have_the_right_margins():
    random = np.random.default_rng(0)
    for draw in (simulation.independent, simulation.blocks, simulation.disjoint, simulation.nested):
        risks = np.array([0.3, 0.1, 0.3, 0.2 if draw is simulation.disjoint else 0.6])
        counts = draw(random, risks, 50, 20_000)
        for column, risk in enumerate(risks):
            shares = np.cumsum(np.bincount(counts[:, column], minlength=51)) / 20_000
            # Dvoretzky–Kiefer–Wolfowitz: larger with probability under 1e-6.
            assert abs(shares - binom.cdf(range(51), 50, risk)).max() <= math.sqrt(math.log(2e6) / (2 * 20_000))
        assert draw is not simulation.disjoint or counts.sum(axis=1).max() <= 50
    assert (counts[:, 1] <= counts[:, 0]).all() and (counts[:, 0] == counts[:, 2]).all()


def test_validity_needs_more_than_bad_luck():
    def make(violations):
        return simulation.Tally("x", "kl", "chi2", 0.05, 1.0, 1000, violations, 0.5, 0.1)

    assert make(50).valid and make(60).valid and not make(90).valid
    # Clopper–Pearson by its definition: at the lower limit so many violations have probability 1 - confidence.
    assert binom.sf(89, 1000, make(90).lower_limit) == pytest.approx(0.001, rel=1e-6)


@pytest.mark.parametrize("scenario", simulation.critical_scenarios(), ids=lambda scenario: scenario.name)
def test_certificates_from_counts_hold_in_their_worst_case_and_no_smaller_ones_do(scenario):
    result = tally_certificates(scenario, delta=0.05, draws=5000, seed=4)
    assert result.valid, result
    if scenario.name.endswith(("independent", "disjoint")):  # nested errors of equal risks are those of one classifier
        assert result.rate > 0.04
        assert not tally_certificates(scenario, delta=0.05, draws=5000, seed=4, factor=0.7).valid


def test_certificates_from_counts_hold_in_ordinary_cases():
    for scenario in SCENARIOS.values():
        result = tally_certificates(scenario, delta=0.05, draws=2000, seed=5)
        assert result.valid and result.mean_bound > result.mean_true_risk, result


def test_lines_that_are_computed_are_kept(tmp_path):
    """A run that is stopped after five lines; the rest is computed, and the table is that of a run in one go."""

    class Stopped(Exception):
        pass

    printed = []

    def stop_after_five(line):
        printed.append(line)
        if len(printed) == 6:  # the head is the first
            raise Stopped

    whole = table(20, report=lambda line: None)
    with pytest.raises(Stopped):
        table(20, report=stop_after_five, directory=tmp_path)
    journal = tmp_path / "simulation.jsonl"
    before = journal.read_text().splitlines()
    assert 5 <= len(before) < len(whole)
    with pytest.raises(InputError, match="holds results already"):
        table(20, report=lambda line: None, directory=tmp_path)
    assert table(20, report=lambda line: None, directory=tmp_path, resume=True) == whole
    lines = journal.read_text().splitlines()
    assert lines[: len(before)] == before and len(lines) == len(whole)
    # Otherwise a resumed table would mix its lines with former ones: raise the version, and freeze its sums here.
    same = [line for line in whole if (line.distance, line.divergence) in (("kl", "chi2"), ("squared", "kl"))]
    sums = (sum(line.violations for line in same), sum(line.mean_bound for line in same))
    assert (simulation.LINES_VERSION, sums) == (1, (2, pytest.approx(3.651077224875207, rel=1e-9)))
    # Another number of draws is another table.
    printed.clear()
    with pytest.raises(Stopped):
        table(10, report=stop_after_five, directory=tmp_path, resume=True)
    assert len(journal.read_text().splitlines()) > len(whole)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--delta", "7"), "--delta is 7.0; it must be a number strictly between 0 and 1."),
        (("--jobs", "0"), "--jobs is 0; it must be a positive number, or -1 for one per core."),
    ],
)
def test_bad_input_is_one_line(arguments, complaint, capsys, monkeypatch):
    """As a program, in this process."""
    monkeypatch.setattr(sys, "argv", ["simulation", *arguments])
    monkeypatch.delitem(sys.modules, simulation.__name__)
    with pytest.raises(SystemExit) as left:
        runpy.run_module(simulation.__name__, run_name="__main__")
    assert (left.value.code, capsys.readouterr().err) == (2, f"simulation: {complaint}\n")
