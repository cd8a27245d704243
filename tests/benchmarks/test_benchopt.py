"""The benchopt adapter, run by benchopt itself, without a network and away from the user's configuration."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import pacb_models as pm
import pacb_models.benchmarks
from pacb_models.benchmarks.problems.problem import synthetic, table_problem
from pacb_models.proofs import verify

# benchopt runs in processes of its own, several times.
pytestmark = [pytest.mark.outside, pytest.mark.timeout(300)]

ADAPTER = Path(pacb_models.benchmarks.__path__[0]) / "benchopt"

SOLVERS = ("frontier", "subset-search", "ccp")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What benchopt printed and its table of results."""
    pytest.importorskip("benchopt", reason="pip install benchopt")
    folder = tmp_path_factory.mktemp("benchopt")
    # benchopt writes its cache and results beside the adapter.
    shutil.copytree(ADAPTER, folder / "bounds", ignore=shutil.ignore_patterns("outputs", "__cache__", "__pycache__"))
    command = [sys.executable, "-m", "benchopt", "run", "bounds", "-r", "1", "--no-plot", "--output", "ours"]
    command += ["-d", "uci[dataset=wdbc,H=50]", "-d", "synthetic[H=40,prior=random]"]
    command += ["-o", "*[distance=[linear,kl]]", "-s", f"pacb[solver=[{','.join(SOLVERS)}]]"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "HOME": str(folder)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, pd.read_parquet(folder / "bounds" / "outputs" / "ours.parquet")


def test_benchopt_records_the_bound_and_its_gap(run):
    _, results = run
    able = {"linear": SOLVERS[:2], "kl": SOLVERS}
    problems = {}
    for distance in able:
        problems["uci", distance] = table_problem("wdbc", 50, distance).build()
        problem = problems["synthetic", distance] = synthetic(40, prior="random", distance=distance, delta=0.01)
        assert not problem.uniform_prior
    expected = {place: pm.solve(problem).bound for place, problem in problems.items()}
    seen = set()
    for _, line in results.iterrows():
        place = line["dataset_name"].partition("[")[0], line["p_obj_distance"]
        seen.add((*place, line["p_solver_solver"]))
        # The exact solver is the reference; the others come to it by other ways.
        assert line["objective_value"] == pytest.approx(expected[place], abs=1e-7)
        assert line["objective_gap"] == pytest.approx(line["objective_value"] - expected[place], abs=1e-12)
        assert line["objective_kkt_residual"] <= 1e-6
        assert line["objective_support_size"] >= 1
        assert line["objective_optimum"] == expected[place]
        record = json.loads(Path(line["objective_proof"]).read_text())
        assert verify.verify(line["objective_proof"])[0] == verify.PROVEN
        assert record["lower_bound"] <= line["objective_optimum"] <= record["lower_bound"] + 1e-9
        assert record["problem"]["distance"] == place[1]
        assert line["time"] > 0.0
    assert seen == {(*place, solver) for place in problems for solver in able[place[1]]}


def test_benchopt_says_why_a_solver_is_skipped(run):
    printed, _ = run
    assert "skip" in printed and "that bound is convex" in printed
