"""Summaries and comparisons of runs against figures worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from pacb_models.benchmarks import summary
from pacb_models.benchmarks.compare import compare
from pacb_models.errors import InputError

from .made_up_log import frame, row, write_log


def test_shifted_geometric_mean_by_hand():
    # (0 + 1)(3 + 1)(15 + 1) = 64, its cube root is 4.
    assert summary.shifted_geometric_mean(pd.Series([0.0, 3.0, 15.0]), shift=1.0) == pytest.approx(3.0, rel=1e-14)


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=20), st.floats(1e-3, 10.0))
def test_shifted_geometric_mean_lies_between_geometric_and_arithmetic(seconds, shift):
    mean = summary.shifted_geometric_mean(pd.Series(seconds), shift)
    geometric = math.exp(sum(map(math.log, seconds)) / len(seconds))
    arithmetic = math.fsum(seconds) / len(seconds)
    tolerance = 1e-9 * (arithmetic + shift)
    assert geometric - tolerance <= mean <= arithmetic + tolerance


@pytest.mark.parametrize(("n", "outside"), [(1, 0), (3, 0), (5, 0), (6, 0), (8, 0), (9, 1), (20, 5), (51, 18)])
def test_median_interval_leaves_out_as_many_as_the_binomial_allows(n, outside):
    """The k-th of n values is above the median with probability P(Binomial(n, 1/2) < k)."""
    low, median, high = summary.median_interval(np.random.default_rng(n).permutation(n))
    assert (low, median, high) == (outside, (n - 1) / 2, n - 1 - outside)
    assert outside == 0 or binom.cdf(outside, n, 0.5) <= 0.025
    assert binom.cdf(outside + 1, n, 0.5) > 0.025 or n == 1


def test_what_is_not_repeated_counts_in_every_repetition():
    cells, repetitions = ["a", "a", "a", "b"], [0, 1, 2, 0]
    found = summary.mean_times(*map(pd.Series, ([0.03, 0.15, 0.03, 0.03], cells, repetitions)))
    # (0.03 + 0.01)² and (0.15 + 0.01)(0.03 + 0.01) = 0.08².
    assert found == pytest.approx((0.03, 0.03, 0.07))


def test_by_solver_counts_and_charges(tmp_path):
    results = frame(
        tmp_path,
        [
            row("good", "one", seconds=0.03, gap=2e-9),
            row("good", "two", seconds=0.15, gap=-1e-16),
            row("poor", "one", seconds=0.02, gap=3e-3),
            row("poor", "two", seconds=9.0, gap=None, status="time_limit"),
            row("poor", "three", seconds=0.01, gap=1e-9, status="acceptable"),
        ],
    )
    table = summary.by_solver(results).set_index("solver")
    assert list(table.index) == ["good", "poor"]
    assert table["cells"].tolist() == [2, 3]
    assert table["success_percent"].tolist() == pytest.approx([100.0, 100.0 / 3])
    # Correct whatever is claimed: of "poor" only the run that claims nothing.
    assert table["correct_percent"].tolist() == pytest.approx([100.0, 100.0 / 3])
    assert table["worst_gap"].tolist() == [2e-9, 3e-3]
    # (0.03 + 0.01)(0.15 + 0.01) = 0.08²; 0.03 · 3.01² is what a run of 0.02 s and two time limits come to.
    by_hand = [0.08 - 0.01, (0.03 * 3.01**2) ** (1 / 3) - 0.01]
    assert table["mean_seconds"].tolist() == pytest.approx(by_hand, rel=1e-12)
    assert table["relative_time"].tolist() == pytest.approx([1.0, by_hand[1] / by_hand[0]], rel=1e-12)
    assert table["failures"].tolist() == ["", "1 time_limit, 1 acceptable"]


def test_settings_make_another_method(tmp_path):
    results = frame(
        tmp_path,
        [
            row("ipopt"),
            row("ipopt", settings='{"starts": 5, "b": "x"}', seed=0),
            row("ipopt", settings='{"starts": 5, "b": "x"}', seed=1),
            row("ipopt", settings='{"merge": true}'),
        ],
    )
    names = ["ipopt", "ipopt b=x starts=5", "ipopt b=x starts=5", "ipopt merged"]
    assert summary.method_names(results).tolist() == names
    assert summary.by_solver(results).set_index("solver")["cells"].to_dict() == {
        "ipopt": 1,
        "ipopt b=x starts=5": 2,
        "ipopt merged": 1,
    }


def test_contradictions_are_denied_claims_and_bounds_below_the_optimum(tmp_path):
    results = frame(
        tmp_path,
        [
            row("fine", gap=-1e-15),
            row("low", gap=-1e-8),
            row("liar", success=False, simplex_residual=0.1),
            row("honest", gap=0.1, status="not_converged", lower_bound=0.25),
            row("prover", gap=0.0, lower_bound=0.26),
        ],
    )
    assert summary.contradictions(results)["solver"].tolist() == ["low", "liar", "prover"]
    text = summary.text(results)
    assert "3 contradictions: low on one; liar on one; prover on one" in text


def test_text_names_failures_and_parallel_timings(tmp_path):
    results = frame(tmp_path, [row("a", parallel=True), row("b", gap=None, status="time_limit", parallel=True)])
    text = summary.text(results)
    assert "100.0%" in text.splitlines()[1] and "1 time_limit" in text.splitlines()[2]
    assert "parallel run" in text.splitlines()[-1]


def test_a_solver_without_successes_has_no_worst_gap(tmp_path):
    table = summary.by_solver(frame(tmp_path, [row("never", gap=None, status="error")]))
    assert math.isnan(table["worst_gap"].item())
    assert table["mean_seconds"].item() == pytest.approx(3.0)


@pytest.fixture
def two_runs(tmp_path):
    """A run and a later one: slower, faster, about as fast; one cell newly wrong, one newly right, one new."""

    def cells(slow, fast, same):
        return [
            *(row("slow", f"p{k}", seconds=slow, key=f"slow{k}") for k in range(3)),
            *(row("fast", f"p{k}", seconds=fast, key=f"fast{k}") for k in range(3)),
            row("same", "p0", seconds=same, key="same0"),
        ]

    before = [
        *cells(0.10, 0.50, 0.100),
        row("changed", "p0", key="lost"),
        row("changed", "p1", key="won", gap=None, status="time_limit"),
        row("gone", "p0", key="gone"),
    ]
    after = [
        *cells(0.20, 0.25, 0.105),
        row("changed", "p0", key="lost", gap=1e-3),
        row("changed", "p1", key="won"),
        row("new", "p0", key="new"),
    ]
    return write_log(tmp_path / "before", before), write_log(tmp_path / "after", after)


def test_compare_says_what_became_faster_slower_and_wrong(two_runs):
    comparison = compare(*two_runs)
    assert len(comparison.cells) == 9
    times = comparison.times().set_index("solver")
    assert times["change"].to_dict() == {"slow": "slower", "fast": "faster", "same": "about as fast"}
    assert times.loc["slow", ["first", "second"]].tolist() == pytest.approx([0.10, 0.20])
    assert times["cells"].to_dict() == {"slow": 3, "fast": 3, "same": 1}
    # A claim that the certified optimum refutes is as wrong as none.
    assert comparison.newly_wrong["problem"].tolist() == ["p0"]
    assert comparison.newly_right["problem"].tolist() == ["p1"]
    text = str(comparison)
    assert "became wrong: 1\n  changed on p0: optimal -> optimal" in text
    assert "became right: 1\n  changed on p1: time_limit -> optimal" in text


def test_compare_from_the_command_line_fails_when_something_became_wrong(two_runs, pacb):
    before, after = two_runs
    worse = pacb("bench", "--compare", before, after)
    assert worse.returncode == 1 and "became wrong: 1" in worse.stdout
    same = pacb("bench", "--compare", after, after)
    assert same.returncode == 0 and "became wrong: 0" in same.stdout, same.stderr


def test_compare_refuses_runs_without_a_common_cell(tmp_path):
    first, second = (write_log(tmp_path / name, [row("a")]) for name in ("first", "second"))
    with pytest.raises(InputError, match="no cell in common"):
        compare(first, second)
