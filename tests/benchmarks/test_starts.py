"""Starts of local methods: counted by minima, the same in every run."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import psutil
import pytest

import pacb_models as pm
from pacb_models.benchmarks.problems.families import instance, instances
from pacb_models.benchmarks.problems.starts import CONCENTRATIONS, random_starts
from pacb_models.benchmarks.studies.starts import ends, local_methods, paper_problems, telling_instances
from pacb_models.benchmarks.studies.starts_page import uniqueness
from pacb_models.commands.program import main

pytestmark = pytest.mark.long

#: Two minima a thousandth apart; the lone classifier's is the better one.
TWO_MINIMA = "one-good-17-H20-chi2-kl"


def test_local_methods_are_those_that_take_a_start():
    methods = local_methods(instance(TWO_MINIMA).build())
    assert {"fixed-point", "ccp"} <= set(methods)
    # SCIP takes a start, too, but searches everywhere.
    assert not {"frontier", "subset-search", "cvxpy", "scip"} & set(methods)


@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_random_starts_are_dirichlet_posteriors_with_every_weight_positive(concentration):
    problem = instance(TWO_MINIMA).build()
    drawn = np.array(list(random_starts(problem, concentration, 400)))
    assert (drawn > 0.0).all()
    assert drawn.sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    # A weight has mean 1/H and variance (1/H)(1 - 1/H)/(H a + 1).
    size = problem.size
    variance = (1.0 - 1.0 / size) / size / (size * concentration + 1.0)
    assert drawn.var() == pytest.approx(variance, rel=0.2)
    assert np.array_equal(drawn, list(random_starts(problem, concentration, 400)))


def test_ends_are_counted_by_minimum():
    """The fixed point ends in the crowd's minimum from the prior, and in the best one from the lone classifier."""
    frozen = instance(TWO_MINIMA)
    counted = {record.start: record for record in ends(frozen.problem, "fixed-point", 20)}
    assert (counted["prior"].best, counted["prior"].other) == (0, 1)
    for record in counted.values():
        assert record.best + record.other + record.nowhere == record.starts
    # Nearly uniform starts are near the prior; of those on few classifiers some are on the good one.
    assert counted["10"].best == 0
    assert 0 < counted["0.01"].best < 20
    problem = frozen.build()
    good = np.full(problem.size, 1e-6)
    good[problem.risks.argmin()] = 1.0
    assert pm.solve(problem, "fixed-point", start=good / good.sum()).bound == pytest.approx(frozen.optimum, abs=1e-9)


def test_every_family_is_represented():
    chosen = telling_instances(each=2, largest=60)
    sizes = {frozen.family: frozen.size for frozen in chosen}
    # All of that one are large, and none has a second minimum.
    assert set(sizes) == {frozen.family for frozen in instances()} - {"many"}
    assert (sizes["one-good"], sizes["staircase"], sizes["natural"]) == (20, 111, 200)
    assert all(size <= 60 for family, size in sizes.items() if family not in ("staircase", "natural", "extreme-prior"))
    assert sum(frozen.minima > 1 for frozen in chosen) >= len(chosen) / 2


def test_the_paper_s_claim_is_measured_on_its_own_problems():
    """One stationary point, whatever the start: that holds on the paper's data, and not on the hard problems."""
    recipes = paper_problems()
    assert len(recipes) == 18 and {recipe.build().size for recipe in recipes} == {50}
    chosen = [recipes[0], recipes[-1], instance(TWO_MINIMA).problem]
    found = pd.DataFrame([vars(record) for recipe in chosen for record in ends(recipe, "fixed-point", 5)])
    own, others = uniqueness(found).split("Here")
    assert "2 of 2 bounds have a single local minimum" in own and "100.0 % end in the best one" in own
    assert "0 of 1 bounds" in others and "100.0 % end in the best" not in others


@pytest.mark.outside
def test_the_command_writes_tables_and_a_picture(tmp_path, capsys):
    arguments = ["starts", TWO_MINIMA, "--starts", "5", "--solvers", "fixed-point", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert "| one-good | fixed-point | 0 |" in capsys.readouterr().out
    records = pd.read_csv(tmp_path / "starts.csv")
    assert len(records) == 1 + len(CONCENTRATIONS)
    assert "| one-good | 1 |" in (tmp_path / "starts.md").read_text()
    assert (tmp_path / "starts.svg").read_bytes().lstrip().startswith(b"<?xml")


def test_no_local_method_is_an_error(tmp_path, capsys):
    assert main(["starts", TWO_MINIMA, "--solvers", "frontier", "--out", str(tmp_path)]) == 2
    assert "--solvers names 'frontier', which is no local method" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--jobs", "0"], "--jobs is 0"),
        (["--jobs", "-7"], "--jobs is -7"),
        (["--each", "3"], "--each chooses instances, and they are named"),
        (["--solvers", "fixed-point,nosuch"], "'nosuch'"),
        (["--solvers", "fixed-point,frontier"], "--solvers names 'frontier', which is no local method"),
        (["--starts", "0"], "--starts is 0"),
        (["--largest", "0"], "--largest is 0"),
        (["--out", "/dev/null"], "--out is '/dev/null'"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_measured(arguments, named, tmp_path, capsys):
    assert main(["starts", TWO_MINIMA, "--solvers", "fixed-point", "--out", str(tmp_path / "out"), *arguments]) == 2
    complaint = capsys.readouterr().err
    assert named in complaint and complaint.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.outside
def test_an_instance_that_is_named_twice_is_measured_once(tmp_path):
    arguments = ["starts", TWO_MINIMA, TWO_MINIMA, "--starts", "1", "--solvers", "fixed-point", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert len(pd.read_csv(tmp_path / "starts.csv")) == 1 + len(CONCENTRATIONS)


@pytest.mark.outside
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_was_measured_is_kept_and_not_measured_again(tmp_path, how, capsys):
    """However it is stopped; and joblib's processes are gone soon, unless it had no time to end them."""
    journal = tmp_path / "starts-40.jsonl"
    arguments = ["starts", TWO_MINIMA, "--starts", "40", "--solvers", "fixed-point,ccp,slsqp,spg"]
    arguments += ["--jobs", "2", "--out", str(tmp_path)]
    with open(tmp_path / "messages", "w") as messages:
        running = subprocess.Popen([sys.executable, "-m", "pacb_models", *arguments], stderr=messages)
    while not journal.exists() or not journal.read_bytes().count(b"\n"):
        assert running.poll() is None
        time.sleep(0.01)
    children = psutil.Process(running.pid).children()
    helpers = [child for child in children if "loky.backend.popen" in str(child.cmdline())]
    running.send_signal(how)
    running.wait(timeout=60)
    assert helpers and "Traceback" not in (tmp_path / "messages").read_text()
    if how != signal.SIGKILL:
        assert psutil.wait_procs(helpers, timeout=20)[1] == []
    for helper in helpers:
        with suppress(psutil.NoSuchProcess):
            helper.kill()
    before = journal.read_text().splitlines()
    assert main(arguments) == 2 and "--resume" in capsys.readouterr().err
    assert main([*arguments, "--resume"]) == 0
    assert journal.read_text().splitlines()[: len(before)] == before
    assert len(journal.read_text().splitlines()) == 4
    assert len(pd.read_csv(tmp_path / "starts.csv")) == 4 * (1 + len(CONCENTRATIONS))
