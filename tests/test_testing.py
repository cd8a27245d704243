"""The tests' own rules: the same examples everywhere, what may be skipped, what is ended, what a search prints."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Each test runs pytest several times.
pytestmark = [pytest.mark.outside, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"

DRAWING = """
from hypothesis import given, strategies as st

@given(st.integers())
def test_it(n):
    with open("drawn", "a") as file:
        file.write(f"{n} ")
"""
ENDLESS = """
import time
from hypothesis import given, strategies as st

def test_asleep(): time.sleep(600)

@given(st.integers())
def test_endless_property(n):
    while True: pass

def test_another(): pass
"""
SKIPPING = """
import pytest

@pytest.mark.skip(reason="no_engine_here")
def test_skipped(): ...

@pytest.mark.xfail(reason="known")
def test_expected_failure(): assert False

def test_of_raw_files(data_dir): ...
"""
FALSE = """
from hypothesis import given, settings, strategies as st

@settings(max_examples=5)
@given(st.integers(0, 2**60))
def test_large(n):
    assert n % 3 != 1
"""


@pytest.fixture
def suite(tmp_path):
    """Run a program on a test file of its own, below the rules of this directory."""
    shutil.copy(TESTS / "conftest.py", tmp_path)

    def run(text: str, *command: object, **variables: str) -> subprocess.CompletedProcess:
        (tmp_path / "test_it.py").write_text(text)
        kept = {name: value for name, value in os.environ.items() if name not in ("CI", "PACB_DATA")}
        keywords = {"cwd": tmp_path, "env": kept | variables, "capture_output": True, "text": True}
        return subprocess.run([sys.executable, *map(str, command)], **keywords)

    run.directory = tmp_path
    return run


def test_the_same_examples_with_and_without_ci(suite):
    """And whatever else is imported: Hypothesis would try the numbers that stand there."""
    drawn = []
    numbers = "\n".join(f"NUMBER_{k} = {k**5 + 12345}" for k in range(200))
    (suite.directory / "numbers_of_ours.py").write_text(f"{numbers}\n")
    for text, variables in ((DRAWING, {}), (DRAWING, {"CI": "true"}), (f"import numbers_of_ours\n{DRAWING}", {})):
        assert suite(text, "-m", "pytest", "-q", **variables).returncode == 0
        drawn.append((suite.directory / "drawn").read_text())
        (suite.directory / "drawn").unlink()
    assert drawn[0] == drawn[1] == drawn[2] and len(drawn[0].split()) >= 100


@pytest.mark.parametrize(("ci", "summary"), [("", "3 skipped, 1 xfailed"), ("true", "1 skipped, 1 xfailed, 2 errors")])
def test_nothing_is_skipped_in_ci_but_for_want_of_raw_files(suite, ci, summary):
    (suite.directory / "test_module.py").write_text("import pytest; pytest.importorskip('no_engine_here')")
    done = suite(SKIPPING, "-m", "pytest", "-ra", "--continue-on-collection-errors", CI=ci)
    assert summary in done.stdout and done.stdout.count("no_engine_here") >= 2
    assert ("nothing may be skipped where CI=true" in done.stdout) == bool(done.returncode) == bool(ci)
    assert re.search(r"^SKIPPED \[1\] test_it.py.*: no raw UCI files: set PACB_DATA", done.stdout, re.MULTILINE)


def test_what_does_not_end_is_ended_and_named(suite):
    """A property would be run again by Hypothesis: its process is ended, and another one goes on."""
    done = suite(ENDLESS, "-m", "pytest", "-n", "1", "-o", "timeout=2", "-ra")
    assert "2 failed, 1 passed" in done.stdout
    for name in ("test_asleep", "test_endless_property"):
        assert re.search(rf"^FAILED test_it.py::{name}", done.stdout, re.MULTILINE)


def test_a_search_says_how_to_repeat_what_it_found(suite):
    done = suite(FALSE, "-P", TESTS / "fuzz.py", "--minutes", "5", "-n", "0")
    assert done.returncode == 1
    seed = re.search(r"^== found something; again: make fuzz SEED=(\d+) ARGS='-n 0'$", done.stdout, re.MULTILINE)[1]
    again = suite(FALSE, "-P", TESTS / "fuzz.py", "--seed", seed, "-n", "0")
    assert again.returncode == 1 and "test_large" in again.stdout


def test_a_search_ends_in_time_and_draws_other_examples(suite):
    done = suite(DRAWING, "-P", TESTS / "fuzz.py", "--minutes", "0.05", "-n", "0")
    assert done.returncode == 0
    passes = int(re.search(r"^== nothing found: (\d+) seeds", done.stdout, re.MULTILINE)[1])
    seeds = re.findall(r"^== seed (\d+)", done.stdout, re.MULTILINE)
    assert len(seeds) == len(set(seeds)) == passes


def test_a_search_whose_time_is_over_skips_the_rest(suite):
    done = suite(FALSE, "-m", "pytest", "-q", "-ra", CI="true", PACB_FUZZ_UNTIL="1")
    assert done.returncode == 0 and "the time of the search is over" in done.stdout


def test_properties_draw_numbers_and_not_seeds():
    """A generator's seed does not shrink. The splits of the experiment are drawn by theirs, an argument like others."""
    drawn = re.compile(r"seed\w*=st\.|st\.randoms|default_rng\((draw|data)|RandomState\((draw|data)")
    files = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    assert not [path.name for path in files if drawn.search(path.read_text())]
