"""The verdict on runs against figures worked out by hand, and that everybody who shows results asks it."""

import math
import re
from typing import Any

import pytest

from pacb_models.benchmarks import report, verdict
from pacb_models.benchmarks.harness.compare import compare
from pacb_models.benchmarks.harness.results import load_results, merge
from pacb_models.benchmarks.verdict import Ending, Judged
from pacb_models.commands.program import main
from pacb_models.errors import InputError

from .made_up_log import frame, judged, row, write_log


def test_found_is_a_success_within_the_gap_or_just_a_success_without_reference(tmp_path):
    rows = [row("a", gap=9e-8), row("b", gap=2e-7), row("c", gap=0.0, status="acceptable")]
    runs = frame(tmp_path, [*rows, row("d", gap=None, bound=0.3, reference_bound=None)])
    assert runs["found"].tolist() == [True, False, False, True]
    assert runs["ending"].tolist() == [Ending.FOUND, Ending.LOCAL, Ending.FAILED, Ending.FOUND]
    # A stationary point that is not the best one is no false claim.
    assert not runs["false_claim"].any()


def test_endings_are_ordered_and_a_gap_that_the_residual_explains_is_no_other_minimum(tmp_path):
    assert list(Ending) == sorted(Ending) and Ending.FOUND > Ending.LESS_ACCURATE > Ending.LOCAL > Ending.FAILED
    rows = [row("a", gap=2.2e-7, kkt_residual=residual) for residual in (2.8e-7, 1e-12, 2e-6)]
    words = frame(tmp_path, rows)["ending"].map(lambda end: Ending(end).words).tolist()
    assert words == ["found, less accurately", "another local minimum", "not a minimum"]


def test_what_is_untrue_is_a_false_claim_also_of_a_repetition_that_is_not_shown(tmp_path):
    rows = [
        row("frontier", gap=1e-3),
        row("high", key="k", repetition=0, gap=1e-3, lower_bound=0.0),
        row("high", key="k", repetition=1, lower_bound=0.26),
        row("denied", kkt_residual=1e-3),
        row("ipopt", gap=1e-3),
        row("silent", gap=None, status="error"),
    ]
    table = judged(tmp_path, rows).by_solver.set_index("method")
    claims = {"frontier": 1, "high": 1, "denied": 1, "ipopt": 0, "silent": 0}
    assert table["false_claims"].to_dict() == claims
    assert table["elsewhere"].to_dict() == {"frontier": 1, "high": 1, "denied": 0, "ipopt": 1, "silent": 0}


def test_a_run_without_facts_gets_those_of_its_problem(tmp_path):
    lost = row("b", gap=None, status="error", size=None, distance=None, divergence=None, minima=None)
    rows = [row("a", size=70, distance="squared", minima=3), lost, row("c", "other", distance=None, size=None)]
    runs = frame(tmp_path, rows)
    assert runs["size"].tolist()[:2] == [70, 70] and math.isnan(runs["size"].iloc[2])
    assert runs["kind"].tolist() == ["squared", "squared", "unknown"]
    assert runs["minima"].tolist()[:2] == [3, 3]


def test_settings_make_another_method_but_starts_and_merging_do_not(tmp_path):
    settings = [{}, {"starts": 5, "b": "x"}, {"merge": True}]
    runs = frame(tmp_path, [row("ipopt", settings=each) for each in settings])
    assert runs["method"].tolist() == ["ipopt", "ipopt b=x starts=5", "ipopt"]
    assert runs["merged"].tolist() == [False, False, True]


def test_of_repetitions_the_worst_outcome_and_the_median_time_count(tmp_path):
    times = {"a": (0.1, 0.5, 0.2), "b": (0.3, 0.3, 0.3)}
    rows = [
        row(name, key=name, repetition=number, seconds=seconds, gap=1e-3 if (name, number) == ("b", 1) else 0.0)
        for name, values in times.items()
        for number, seconds in enumerate(values)
    ]
    # A failure is worse than a local minimum, whatever the order.
    fates = ({"gap": 0.0}, {"gap": None, "status": "error"}, {"gap": 1e-3})
    rows += [row("c", key="c", repetition=number, **fate) for number, fate in enumerate(fates)]
    each = judged(tmp_path, rows).condensed.set_index("method")
    assert each.loc[["a", "b"], "total_seconds"].tolist() == [0.2, 0.3]
    # One repetition that missed the optimum is enough, and it is the one that is shown.
    assert each["ending"].tolist() == [Ending.FOUND, Ending.LOCAL, Ending.FAILED]
    assert each["gap"].tolist()[:2] == pytest.approx([0.0, 1e-3])


def test_solvers_are_compared_on_raw_problems_with_what_is_installed(tmp_path):
    rows = [
        row("a", seconds=1.0),
        row("a", seconds=0.1, settings={"merge": True}),
        row("b", gap=None, status="unavailable", message="buy it"),
    ]
    raw = judged(tmp_path / "raw", rows).comparable
    assert raw[["method", "total_seconds"]].values.tolist() == [["a", 1.0]]
    only_merged = judged(tmp_path / "merged", rows[1:]).comparable
    assert only_merged["total_seconds"].tolist() == [0.1]


def test_methods_are_compared_from_the_starts_that_they_share(tmp_path):
    """The exact solver takes no start; the others do, and one of them had more."""

    rows = [row("frontier"), *(row("fixed-point", start=start) for start in range(3)), row("spg", start=0)]
    for name, given, counts in (("shared", rows, [1, 1, 1]), ("alone", rows[:-1], [1, 3])):
        kept = judged(tmp_path / name, given).comparable
        assert kept.groupby("method", sort=False).size().tolist() == counts


def test_a_problem_that_some_starts_solve_is_neither_found_nor_missed(tmp_path):
    runs = frame(tmp_path, [row("a"), row("a", gap=1e-3), row("b", gap=1e-3), row("b", gap=None, status="error")])
    table = verdict.by_problem(runs)
    assert table.loc["one"].to_dict() == {"a": Ending.SOME, "b": Ending.FAILED}


def test_claims_that_differ_are_counted_by_problem(tmp_path):
    rows = [row("a"), row("b", gap=9e-8), row("a", "two"), row("b", "two", gap=2e-7), row("c", "two", gap=0.1)]
    rows += [row("a", "three"), row("b", "three", gap=0.1, status="acceptable")]
    assert verdict.disagreements(frame(tmp_path, rows)) == 1


def test_by_solver_by_hand(tmp_path):
    rows = [
        row("good", "one", seconds=0.03, setup_seconds=0.01, gradient_evaluations=7),
        row("good", "two", seconds=0.16, gradient_evaluations=9),
        row("poor", "one", seconds=0.02),
        row("poor", "two", seconds=0.01, gap=3e-3),
        row("poor", "three", seconds=9.0, gap=None, status="time_limit"),
    ]
    table = verdict.by_solver(frame(tmp_path, rows)).set_index("method")
    assert list(table.index) == ["good", "poor"]
    assert table[["found", "runs", "false_claims"]].values.tolist() == [[2, 2, 0], [1, 3, 0]]
    # A wrong answer and a time limit have no time.
    assert table["median"].tolist() == pytest.approx([0.1, 0.02])
    assert table["ninety"].tolist() == pytest.approx([0.04 + 0.9 * 0.12, 0.02])
    # Twice the time of the fastest on one problem, the fastest on the other.
    assert table["relative"].tolist() == pytest.approx([1.5, 1.0])
    assert table["evaluations"].tolist()[0] == 8 and math.isnan(table["evaluations"].iloc[1])


def test_a_clock_that_stands_still_makes_nobody_slow(tmp_path):
    """Half a second more than its own clock shows is what checking and the way of the answer may take."""
    rows = [row("still", seconds=0.0, wall_seconds=2.0), row("honest", seconds=0.5, wall_seconds=1.0)]
    runs = frame(tmp_path, rows)
    assert runs["stopped_clock"].tolist() == [True, False]
    table = verdict.by_solver(runs).set_index("method")
    assert table["median"].to_dict() == {"honest": 0.5, "still": 2.0}
    assert table["relative"].to_dict() == {"honest": 1.0, "still": 4.0}


#: Nothing is certified, but somebody attains what another one proves to be impossible; and two repetitions.
OPEN = [
    row(name, gap=None, bound=bound, reference_bound=None, lower_bound=proven)
    for name, bound, proven in (("prover", 0.27, 0.26), ("other", 0.25, None))
]
TWICE = [row("prover", key="k", gap=1e-3), row("prover", key="k", repetition=1, lower_bound=0.26)]
CONTRADICTIONS = [
    ([row("low", gap=-1e-8)], "its bound lies below the certified optimum"),
    ([row("liar", simplex_residual=0.1)], "it claims an optimum that the recomputed residuals deny"),
    *((rows, "its lower bound lies above the optimum") for rows in ([row("prover", lower_bound=0.26)], OPEN, TWICE)),
    ([row("still", seconds=0.0, wall_seconds=2.0)], "its own clock shows much less time than passed"),
]


@pytest.mark.long
@pytest.mark.parametrize(("rows", "reason"), CONTRADICTIONS)
def test_a_contradiction_is_an_exit_code_and_a_sentence_on_the_terminal_and_both_pages(tmp_path, capsys, rows, reason):
    log = write_log(tmp_path / "log", [row("fine", "two", gap=-1e-15, lower_bound=0.25), *rows])
    page = tmp_path / "page.md"
    assert main(["bench", "--report", str(log), "--page", str(page)]) == 1
    sentence = f"1 contradiction! {rows[0].solver} on one: {reason}."
    assert sentence in capsys.readouterr().out
    html = (log / "report.html").read_text()
    assert re.search(rf'<p class="verdict alarm" role="note">{re.escape(sentence)}</p>', html)
    assert f"**{sentence}**" in page.read_text()
    assert "No result contradicts another" not in html + page.read_text()


def test_results_that_can_all_be_true_are_said_to(tmp_path, capsys):
    rows = [row("fine", gap=-1e-15), row("honest", gap=0.1, status="not_converged", lower_bound=0.25)]
    log = write_log(tmp_path / "log", rows)
    assert main(["bench", "--report", str(log)]) == 0
    for text in (capsys.readouterr().out, (log / "report.html").read_text()):
        assert "No result contradicts another" in text and "contradiction!" not in text


def test_the_terminal_names_what_is_missing_and_parallel_timings(tmp_path):
    rows = [row("a", parallel=True), row("b", gap=None, status="unavailable", parallel=True)]
    text = report.text(judged(tmp_path, rows))
    assert "1 of 1" in text.splitlines()[1]
    assert "their software is missing: b" in text and "other runs shared the machine" in text


def test_times_of_two_machines_are_never_mixed(tmp_path):
    """The same cells on a slow and on a fast machine, merged: a line for each, and no ratio between them."""
    here, there, again = (
        write_log(tmp_path / place, [row(name, key=name, seconds=seconds) for name in "ab"], processor=kind, cores=1)
        for place, seconds, kind in (("here", 0.1, "slow"), ("there", 0.001, "fast"), ("again", 0.3, "slow"))
    )
    both = merge([here, there], tmp_path / "both")
    results = load_results(both)
    assert results["machine"].tolist() == [1, 1, 2, 2] and results["source"].tolist() == ["here"] * 2 + ["there"] * 2
    table = Judged(results).by_solver.set_index("method")
    assert table["median"].to_dict() == pytest.approx(
        {f"{name} [machine {m}]": t for name in ("a", "b") for m, t in ((1, 0.1), (2, 0.001))}
    )
    assert table["relative"].tolist() == pytest.approx([1.0] * 4)
    assert "which differ in processor" in report.write_report(both).read_text()
    # Two directories of one machine are repetitions of each other.
    each = Judged(load_results(merge([here, again], tmp_path / "twice"))).condensed
    assert each["method"].tolist() == ["a", "b"] and each["total_seconds"].tolist() == pytest.approx([0.2, 0.2])
    with pytest.raises(InputError, match="holds results already"):
        merge([here, there], tmp_path / "both")
    with pytest.raises(InputError, match="at least two"):
        merge([here, here], tmp_path / "one")
    comparison = compare(here, there)
    assert comparison.times().empty and "different machines" in str(comparison)
    with pytest.raises(InputError, match="no cell in common"):
        compare(here, write_log(tmp_path / "other", [row("a")]))


@pytest.fixture
def two_runs(tmp_path):
    """A run and a later one: slower, faster, about as fast; one cell newly wrong, one newly right, one new."""

    def cells(slow, fast, same, **changes):
        times = [("slow", slow, k) for k in range(3)] + [("fast", fast, k) for k in range(3)] + [("same", same, 0)]
        rows = [row(name, f"p{k}", seconds, key=f"{name}{k}") for name, seconds, k in times]
        return rows + [row("changed", "p0", key="lost", **changes)]

    before, out_of_time = cells(0.10, 0.50, 0.100), {"gap": None, "status": "time_limit"}
    before += [row("changed", "p1", key="won", **out_of_time), row("gone", "p0", key="gone")]
    after = cells(0.20, 0.25, 0.105, gap=1e-3)
    after += [row("changed", "p1", key="won"), row("new", "p0", key="new")]
    return write_log(tmp_path / "before", before), write_log(tmp_path / "after", after)


def test_compare_says_what_became_faster_slower_and_wrong(two_runs):
    comparison = compare(*two_runs)
    assert len(comparison.cells) == 9
    times = comparison.times().set_index("method")
    assert times["change"].to_dict() == {"slow": "slower", "fast": "faster", "same": "about as fast"}
    assert times.loc["slow", ["first", "second"]].tolist() == pytest.approx([0.10, 0.20])
    assert times["cells"].to_dict() == {"slow": 3, "fast": 3, "same": 1}
    # A claim that the certified optimum refutes is as wrong as none.
    assert comparison.newly(found=False)["problem_1"].tolist() == ["p0"]
    assert comparison.newly(found=True)["problem_1"].tolist() == ["p1"]
    text = str(comparison)
    assert "slow    0.10000 s  0.20000 s  slower (3 cells)\n" in text
    assert "became wrong: 1\n  changed on p0: found -> another local minimum" in text
    assert "became right: 1\n  changed on p1: failed -> found" in text


@pytest.mark.outside
def test_compare_from_the_command_line_fails_when_something_became_wrong(two_runs, pacb):
    before, after = two_runs
    for first, wrong in ((before, 1), (after, 0)):
        done = pacb("bench", "--compare", first, after)
        assert done.returncode == wrong and f"became wrong: {wrong}" in done.stdout


def test_a_constrained_problem_is_a_kind_of_its_own_and_breaking_a_row_is_told_beside_the_simplex(tmp_path):
    constrained: dict[str, Any] = {"constraints": "latency at most 25", "family": "latency", "problem": "limited"}
    rows = [row("a", **constrained, constraint_residual=0.0), row("a", problem="free")]
    rows.insert(1, row("b", **constrained, constraint_residual=3e-2, status="not_converged"))
    rows.append(row("b", problem="free", status="not_converged"))
    runs = frame(tmp_path, rows)
    assert list(runs["kind"]) == ["constrained kl", "constrained kl", "kl", "kl"]
    page = report.write_report(tmp_path).read_text()
    table = page[page.index('id="table-misses"') :].partition("</table>")[0]
    assert "off the simplex" in table and "off the constraints" in table and "3.0e-02" in table
    assert not verdict.success(rows[0].told({"constraint_residual": 3e-2}))
