"""The report: its figures against hand computations, its files, and the page in a real browser."""

from __future__ import annotations

import math
import re
import shutil
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks import summary
from pacb_models.benchmarks.compare import compare
from pacb_models.benchmarks.merge import merge
from pacb_models.benchmarks.report import analysis, findings, posteriors, tables, write_report
from pacb_models.benchmarks.results import LEVELS, load_results
from pacb_models.benchmarks.risks import load_risk_table
from pacb_models.errors import InputError

from .browser import Browser, executable
from .made_up_log import frame, row, write_log

DISTANCES = ("linear", "squared", "kl")
FIGURES = ("profile", "pairs", "levels", "evaluations", "time")
TIMES = {"frontier": 2e-4, "fixed-point": 1e-3, "ipopt": 4e-2, "stubborn": 5e-2}


def runs_of(directory, rows):
    return analysis.prepare(frame(directory, rows))


def test_a_run_without_facts_gets_those_of_its_problem(tmp_path):
    lost = row("b", gap=None, status="error", H=None, distance=None, divergence=None)
    runs = runs_of(tmp_path, [row("a", H=70, distance="squared"), lost, row("c", "other", distance=None, H=None)])
    assert runs["H"].tolist()[:2] == [70, 70] and math.isnan(runs["H"].iloc[2])
    assert runs["kind"].tolist() == ["squared", "squared", "unknown"]


def test_found_is_a_success_within_the_gap_or_just_a_success_without_reference(tmp_path):
    runs = runs_of(
        tmp_path,
        [
            row("a", gap=9e-8),
            row("b", gap=2e-7),
            row("c", gap=0.0, status="acceptable"),
            row("d", gap=None, bound=0.3, reference_bound=None),
        ],
    )
    assert runs["found"].tolist() == [True, False, False, True]
    assert runs["outcome"].tolist() == ["optimal", analysis.NOT_GLOBAL, "acceptable", "optimal"]


def test_performance_profile_by_hand(tmp_path):
    runs = runs_of(
        tmp_path,
        [
            row("a", "one", seconds=1.0),
            row("b", "one", seconds=3.0, setup_seconds=1.0),
            row("a", "two", seconds=6.0),
            row("b", "two", seconds=2.0),
            # A wrong answer has no time, however fast it came.
            row("a", "three", seconds=0.5, gap=1e-3),
            row("b", "three", seconds=1.0),
            row("a", "four", seconds=3.0, gap=None, status="time_limit"),
            row("b", "four", seconds=3.0, gap=None, status="time_limit"),
        ],
    )
    ratios = analysis.performance_profiles(runs)
    assert ratios["a"].tolist() == [1.0, 3.0, math.inf, math.inf]
    assert ratios["b"].tolist() == [1.0, 1.0, 4.0, math.inf]


def test_level_profile_by_hand(tmp_path):
    """The quickest of several tolerances counts, whatever is claimed."""
    loose, tight = '{"tolerance": 0.01}', '{"tolerance": 1e-9}'
    runs = runs_of(
        tmp_path,
        [
            row("a", "one", settings=loose, gap=1e-4, status="acceptable", **{"seconds_to_1e-03": 1.0}),
            row("a", "one", settings=tight, **{"seconds_to_1e-03": 4.0, "seconds_to_1e-06": 5.0}),
            row("b", "one", **{"seconds_to_1e-03": 2.0, "seconds_to_1e-06": 2.0}),
            row("b", "two", gap=None, status="error"),
        ],
    )
    profiles = {level: analysis.level_profiles(runs, level) for level in LEVELS}
    assert {name: list(ratios) for name, ratios in profiles[1e-3].items()} == {"a": [1.0], "b": [2.0, math.inf]}
    assert {name: list(ratios) for name, ratios in profiles[1e-6].items()} == {"a": [2.5], "b": [1.0, math.inf]}
    assert {name: list(ratios) for name, ratios in profiles[1e-9].items()} == {"a": [math.inf], "b": [math.inf] * 2}
    [first, second] = tables.levels_table(runs).rows
    assert [cell.text for cell in first][1:] == ["a", "1", "1", "1000", "1", "5000", "0", "–"]
    assert [cell.text for cell in second][1:] == ["b", "2", "1", "2000", "1", "2000", "0", "–"]


def test_pairs_are_compared_on_their_common_problems(tmp_path):
    runs = runs_of(
        tmp_path,
        [
            row("a", "one", seconds=1.0),
            row("b", "one", seconds=2.0),
            row("a", "two", seconds=3.0),
            row("b", "two", seconds=2.0),
            row("a", "three", seconds=0.1, gap=1e-3),
            row("b", "three", seconds=9.0),
            row("a", "four", gap=None, status="error"),
            row("b", "four", gap=None, status="error"),
            row("c", "one", seconds=0.5),
        ],
    )
    faster, common = analysis.pairwise(runs)
    assert common.values.tolist() == [[4, 4, 1], [4, 4, 1], [1, 1, 1]]
    assert faster.values.tolist() == [[0, 1, 0], [2, 0, 0], [1, 1, 0]]
    shown = [[cell.text for cell in line] for line in tables.pairwise_table("kl", runs).rows]
    assert shown[0] == ["a", "–", "1/4", "0/1"]


def test_data_profile_counts_gradient_evaluations_to_the_optimum(tmp_path):
    runs = runs_of(
        tmp_path,
        [
            row("a", "one", gradient_evaluations=30),
            row("a", "two", gradient_evaluations=10),
            row("a", "three", gradient_evaluations=5, gap=1e-3),
            row("a", "four", gap=None, status="time_limit"),
            row("b", "one"),
        ],
    )
    profiles = analysis.data_profiles(runs)
    assert list(profiles) == ["a"] and profiles["a"].tolist() == [10.0, 30.0, math.inf, math.inf]


def test_repetitions_are_condensed_to_medians(tmp_path):
    times = {"a": (0.1, 0.5, 0.2), "b": (0.3, 0.3, 0.3)}
    rows = [
        row(name, key=name, repetition=number, seconds=seconds, gap=1e-3 if (name, number) == ("b", 1) else 0.0)
        for name, values in times.items()
        for number, seconds in enumerate(values)
    ]
    runs = runs_of(tmp_path, rows)
    each = analysis.condense(runs).set_index("method")
    assert each["total_seconds"].tolist() == [0.2, 0.3]
    # One repetition that missed the optimum is enough, and it is the one that is shown.
    assert each["found"].tolist() == [True, False] and each["gap"].tolist() == [0.0, 1e-3]
    table = analysis.by_kind(runs).set_index("method")
    assert table["found"].tolist() == [1, 0] and table["runs"].tolist() == [1, 1]
    assert table.loc["a", ["low", "mean_seconds", "high"]].tolist() == pytest.approx([0.1, 0.2, 0.5])


def test_merging_is_set_beside_the_raw_problem(tmp_path):
    merged = {"settings": '{"merge": "auto"}', "merged_size": 7}
    runs = runs_of(
        tmp_path,
        [
            row("a", "one", seconds=1.0),
            row("a", "one", seconds=0.1, gap=1e-12, **merged),
            row("a", "two", seconds=4.0),
            row("a", "two", seconds=0.1, **merged),
            row("a", "three", gap=None, status="time_limit"),
            row("a", "three", seconds=0.1, **merged),
            row("b", "one", seconds=1.0),
        ],
    )
    [line] = analysis.merging(runs).to_dict("records")
    assert (line["method"], line["problems"], line["merged"]) == ("a", 3, 7)
    assert (line["raw_found"], line["merged_found"]) == (2, 3)
    assert (line["raw"], line["with"]) == pytest.approx((2.0, 0.1))
    assert line["difference"] == pytest.approx(1e-12, rel=1e-3)
    assert tables.merging_table(runs_of(tmp_path / "raw", [row("a")])) is None


def test_the_choice_names_the_best_of_each_class_and_the_price_of_the_others(tmp_path):
    runs = runs_of(
        tmp_path,
        [
            row("quick", "one", seconds=0.01),
            row("slow", "one", seconds=0.5),
            row("quick", "two", H=5000, seconds=0.01, gap=1e-3),
            row("slow", "two", H=5000, seconds=0.7),
        ],
    )
    shown = [[cell.text for cell in line] for line in tables.choices_table(runs).rows]
    assert shown == [
        ["kl", "up to 100", "1", "quick", "1", "10.0", "slow ×\u00a050"],
        ["kl", "up to 10000", "1", "slow", "1", "700", "quick ×\u00a04.3, misses 1 of 1"],
    ]


def test_times_of_two_machines_are_never_mixed(tmp_path):
    """The same cells on a slow and on a fast machine, merged: every table of times has both, apart."""
    here, there = tmp_path / "here", tmp_path / "there"
    write_log(here, [row(name, key=name, seconds=0.1) for name in ("a", "b")], processor="slow", cores=1)
    write_log(there, [row(name, key=name, seconds=0.001) for name in ("a", "b")], processor="fast", cores=1)
    merged = merge([here, there], tmp_path / "both")
    results = load_results(merged)
    assert results["environment"].tolist() == [1, 1, 2, 2] and results["machine"].tolist() == [1, 1, 2, 2]
    assert results["source"].tolist() == ["here", "here", "there", "there"]
    by_solver = summary.by_solver(results).set_index("solver")["mean_seconds"]
    assert by_solver.to_dict() == pytest.approx(
        {f"{name} [machine {m}]": t for name in ("a", "b") for m, t in ((1, 0.1), (2, 0.001))}
    )
    runs = analysis.prepare(results)
    assert runs["kind"].unique().tolist() == ["kl, machine 1", "kl, machine 2"]
    assert analysis.by_kind(runs)["relative_time"].tolist() == pytest.approx([1.0] * 4)
    page = write_report(merged).read_text()
    assert "2 machines" in page and "which differ in processor" in page
    # Two directories of one machine are repetitions of each other.
    again = merge([here, _copy(here, tmp_path / "again")], tmp_path / "twice")
    each = analysis.condense(analysis.prepare(load_results(again)))
    assert each["method"].tolist() == ["a", "b"] and load_results(again)["machine"].unique().tolist() == [1]
    with pytest.raises(InputError, match="holds results already"):
        merge([here, there], tmp_path / "both")
    with pytest.raises(InputError, match="at least two"):
        merge([here, here], tmp_path / "one")
    comparison = compare(here, there)
    assert comparison.times().empty and "different machines" in str(comparison)


def _copy(directory, target):
    shutil.copytree(directory, target)
    return target


def test_agreement_by_hand(tmp_path):
    runs = runs_of(
        tmp_path,
        [
            row("a", "one"),
            row("b", "one", gap=9e-8),
            row("a", "two"),
            row("b", "two", gap=2e-7),
            row("a", "three"),
            row("b", "three", gap=1e-3, status="acceptable"),
            row("a", "four"),
            row("b", "four", gap=None, status="time_limit"),
            row("c", "five"),
        ],
    )
    shares, common = analysis.agreement(runs, claims_only=True)
    assert common.loc["a"].tolist() == [4, 2, 0] and shares.loc["a", "b"] == shares.loc["b", "a"] == 0.5
    assert math.isnan(shares.loc["a", "c"]) and shares.loc["c", "c"] == 1.0
    shares, common = analysis.agreement(runs, claims_only=False)
    assert common.loc["a", "b"] == 3 and shares.loc["a", "b"] == pytest.approx(1 / 3)
    assert analysis.worse_claims(runs)[["method", "problem"]].values.tolist() == [["b", "two"]]


def test_exponents_are_those_of_a_power_law(tmp_path):
    rows = []
    for size in (100, 1000, 10_000):
        for factor in (0.5, 2.0):  # their geometric mean is 1
            seconds = factor * 1e-6 * size**1.5
            rows.append(row("a", f"{size}-{factor}", H=size, seconds=seconds, peak_memory_bytes=8 * size))
    # A third size at which it fails is none to fit.
    rows += [
        row("b", f"{size}-0.5", H=size, seconds=0.1, status=status)
        for size, status in ((100, "optimal"), (1000, "optimal"), (10_000, "error"))
    ]
    runs = runs_of(tmp_path, rows)
    fitted = analysis.exponents(analysis.growth(runs))
    assert fitted["method"].tolist() == ["a"]
    assert fitted["exponent"].item() == pytest.approx(1.5, abs=1e-9)
    assert fitted["memory_exponent"].item() == pytest.approx(1.0, abs=1e-9)
    assert fitted["seconds_there"].item() == pytest.approx(1.0, rel=1e-9)


def test_mean_times_by_kind_charge_wrong_answers(tmp_path):
    runs = runs_of(tmp_path, [row("a", gap=1e-3, seconds=0.01), row("b", seconds=0.02), row("b", "two", seconds=0.02)])
    table = analysis.by_kind(runs).set_index("method")
    assert table.index.tolist() == ["b", "a"]
    assert table["found"].to_dict() == {"b": 2, "a": 0}
    assert table["mean_seconds"].tolist() == pytest.approx([0.02, 3.0])
    assert table["relative_time"].tolist() == pytest.approx([1.0, 150.0])


def test_a_solver_with_fewer_problems_is_compared_on_those(tmp_path):
    """A dense method that was spared the large problems is neither the best for that, nor the faster."""
    rows = [row("all", "small", seconds=0.02), row("all", "large", seconds=2.0)]
    rows += [row("dense", "small", seconds=0.04), row("none", "other", gap=None, status="time_limit")]
    runs = runs_of(tmp_path, rows)
    table = analysis.by_kind(runs).set_index("method")
    assert table.index.tolist() == ["all", "dense", "none"]
    assert table["relative_time"].tolist()[:2] == pytest.approx([1.0, 2.0]) and math.isnan(
        table.at["none", "relative_time"]
    )
    [finding] = findings.winners(runs)
    assert finding.text.startswith("take all: all 2 optima found")
    assert "All of the fewer problems that they were given, by dense (1, ×\u00a02.0)." in finding.text


def test_merged_problems_are_a_class_of_their_own(tmp_path):
    """A solver is not the faster for having been given a smaller problem than the others."""
    rows = [row("a", seconds=1.0), row("b", seconds=2.0), row("b", seconds=0.1, settings='{"merge": true}')]
    table = analysis.by_kind(runs_of(tmp_path, rows))
    assert table[["kind", "method"]].to_numpy().tolist() == [["kl", "a"], ["kl", "b"], ["kl, merged", "b"]]


def test_sentences_name_winner_misses_and_contradictions(tmp_path):
    runs = runs_of(
        tmp_path,
        [
            *(row("quick", p, seconds=0.01) for p in ("one", "two")),
            *(row("slow", p, seconds=0.5) for p in ("one", "two")),
            row("local", "one", gap=2e-3),
            row("local", "two", gap=None, status="time_limit", H=1990),
            row("absent", "one", gap=None, status="unavailable", message="solver 'absent' cannot run here: buy it."),
            row("low", "one", gap=-1e-6, success=False),
        ],
    )
    [winner] = findings.winners(runs)
    assert winner.subject == "kl"
    assert winner.text.startswith("take quick: all 2 optima found, in 10.0 ms on average.")
    assert "by slow (×\u00a050)." in winner.text and "local found 0 of 2" in winner.text
    weaknesses = dict(findings.weaknesses(runs))
    assert weaknesses["quick and slow"] == "found the optimum in every run."
    assert weaknesses["local"] == (
        "missed the optimum in 2 of 2 runs: 1 × optimal claimed, gap above 1e-7 (kl at H\u00a0=\u00a050, "
        "gap up to 2.0e-03); 1 × time limit (kl at H\u00a0=\u00a050)."
    )
    assert weaknesses["absent"] == "did not run: solver 'absent' cannot run here: buy it."
    verdicts = dict(findings.verdicts(runs))
    assert "low on one" in verdicts["Certified optimum"] and "low on one" in verdicts["Claims"]
    assert "local (1 run)" in verdicts["Agreement"]


def test_posterior_by_risk_sums_the_weights_of_equal_risks(tmp_path):
    table = load_risk_table("wdbc")
    bound = pm.solve(pm.BoundProblem(table.risks(50), m=table.m, delta=0.01, distance="kl")).bound
    facts = {"dataset": "wdbc", "m": table.m, "delta": 0.01, "reference_bound": bound}
    [found] = posteriors.of_runs(runs_of(tmp_path / "a", [row("a", **facts), row("b", H=20, **facts)]))
    [posterior] = found.posteriors
    risks, weights, mass = posterior.by_risk()
    every = posterior.solution.posterior
    assert posterior.problem.size == 50 and posterior.solution.bound == bound
    for risk, weight, total in zip(risks, weights, mass):
        assert np.allclose(every[posterior.problem.risks == risk], weight, rtol=1e-12, atol=0.0)
        assert total == pytest.approx(every[posterior.problem.risks <= risk].sum(), rel=1e-12)
    assert mass[-1] == pytest.approx(1.0, rel=1e-12)
    assert posterior.test_risk == pytest.approx((every * table.test_errors[:50]).sum() / table.test_size, rel=1e-12)


@pytest.mark.parametrize("changes", [{"m": 99}, {"reference_bound": 0.123}, {"prior": "given"}, {"H": 5000}])
def test_another_table_under_the_same_name_gets_no_posterior(tmp_path, changes):
    table = load_risk_table("wdbc")
    facts = {"dataset": "wdbc", "m": table.m, "delta": 0.01, "reference_bound": None, **changes}
    assert posteriors.of_runs(runs_of(tmp_path, [row("a", **facts)])) == []


def full_log(directory):
    """Three distances, three sizes; two solvers without a miss, one local, one that fails with markup in its text."""
    table = load_risk_table("wdbc")
    rows = []
    for size in (20, 50, 100):
        for distance in DISTANCES:
            bound = pm.solve(pm.BoundProblem(table.risks(size), m=table.m, delta=0.01, distance=distance)).bound
            for solver, seconds in TIMES.items():
                gap, changes = 0.0, {}
                if solver == "ipopt":
                    gap = 1e-3 if distance == "squared" and size == 50 else 1e-11
                    changes = {"empirical_risk": 0.08}
                if solver == "stubborn":
                    gap, changes = (
                        None,
                        {"status": "error", "message": 'boom <script>alert("x")</script> | 50 % & a_b\\'},
                    )
                problem = f"wdbc-H{size}-{distance}"
                facts = {"dataset": "wdbc", "H": size, "m": table.m, "delta": 0.01, "distance": distance}
                value = None if gap is None else bound + gap
                taken = seconds * size / 20
                if gap is not None:
                    changes = changes | {"seconds_to_1e-03": taken / 2, "gradient_evaluations": 10 * size}
                rows.append(row(solver, problem, taken, gap, bound=value, reference_bound=bound, **facts, **changes))
    return write_log(
        directory,
        rows,
        suite="made up",
        cells=len(rows),
        processor="Abacus <9>",
        cores=2,
        memory_bytes=2**33,
        versions={"numpy": "2.0", "dask": None},
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write_report(full_log(tmp_path_factory.mktemp("report")))


class Resources(HTMLParser):
    """What a page would load or run."""

    def __init__(self):
        super().__init__()
        self.addresses, self.scripts = [], 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]


def test_page_holds_all_it_needs(report):
    page = report.read_text()
    resources = Resources()
    resources.feed(page)
    assert resources.scripts == 1, "a message from the log became a script"
    assert resources.addresses and all(
        address.startswith(("data:image/svg+xml;base64,", "#")) for address in resources.addresses
    )
    assert "Content-Security-Policy" in page and "@import" not in page and "url(" not in page
    anchors = [address[1:] for address in resources.addresses if address.startswith("#")]
    assert all(f'id="{anchor}"' in page for anchor in anchors)


def test_page_says_what_the_log_says(report):
    page = report.read_text()
    assert page.count("take frontier: all 3 optima found") == 3
    assert "missed the optimum in 1 of 9 runs: 1 × optimal claimed, gap above 1e-7 (squared at H" in page
    assert "9 × error" in page
    assert "Abacus &lt;9&gt;, 2 cores" in page and "8.0 GiB" in page and "not installed" in page
    assert "Unfinished" not in page and "shared the machine" not in page


def test_tables_are_written_as_markdown_and_latex(report):
    folder = report.parent / "tables"
    names = {
        "choices",
        "solvers",
        "distances",
        "failures",
        "missed",
        "agreement-claims",
        "agreement-bounds",
        *(f"pairs-{distance}" for distance in DISTANCES),
        "levels",
        "growth",
        "gaps",
        "posteriors",
        "environment",
    }
    assert {path.name for path in folder.iterdir()} == {f"{name}.{kind}" for name in names for kind in ("md", "tex")}
    for name in names:
        lines = (folder / f"{name}.md").read_text().splitlines()[2:]
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert len(bars) == 1, f"{name}.md has rows of different lengths"
        latex = (folder / f"{name}.tex").read_text()
        alignment = re.search(r"\\begin{tabular}{([lr]+)}", latex)[1]
        body = latex.split(r"\toprule")[1].split(r"\bottomrule")[0].replace(r"\midrule", "").strip().splitlines()
        assert {len(re.findall(r"(?<!\\)&", line)) for line in body if line} == {len(alignment) - 1}
        assert all(line.endswith(r" \\") for line in body if line)
        assert latex.isascii()
        assert len(re.findall(r"(?<!\\){", latex)) == len(re.findall(r"(?<!\\)}", latex))
        assert len(lines) - 2 == len([line for line in body if line]) - 1
    assert "| frontier | 9 | 100 | 100 | 0 |" in (folder / "solvers.md").read_text()
    assert (
        r"boom $<$script$>$alert(\"x\")$<$/script$>$ | 50 \% \& a\_b\textbackslash{}".replace(r"\"", '"')
        in (folder / "failures.tex").read_text()
    )


def test_figures_are_written_as_svg_and_pdf(report):
    folder = report.parent / "figures"
    names = {
        *(f"{what}-{distance}" for what in FIGURES for distance in DISTANCES),
        "gaps",
        "weights-wdbc",
        "cdf-wdbc",
        "path-wdbc-h50-squared",
    }
    assert {path.name for path in folder.iterdir()} == {f"{name}.{kind}" for name in names for kind in ("svg", "pdf")}
    for name in names:
        assert ElementTree.parse(folder / f"{name}.svg").getroot().tag.endswith("svg")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    "rows",
    [
        [row("a", gap=None, status="error", bound=None, reference_bound=None, distance=None, H=None, divergence=None)],
        [row("a", gap=None, status="time_limit"), row("b", gap=None, status="unavailable")],
        [row("a", parallel=True), row("a", "two", parallel=True)],
        [row("a", gap=None, bound=0.3, reference_bound=None, divergence="renyi", order=3.0, dataset="me/mine.csv")],
    ],
    ids=["nothing known", "no success", "one solver", "no reference"],
)
def test_whatever_a_log_holds_there_is_a_report(tmp_path, rows):
    steps = []
    page = write_report(write_log(tmp_path, rows, cells=5), steps.append).read_text()
    assert f"Unfinished: {len(rows)} of 5 runs are in the log." in page
    assert ("All times were measured while other runs shared the machine" in page) == rows[0]["parallel"]
    assert "summary" in steps and "writing report.html" in steps


def test_a_log_torn_while_writing_and_no_environment_will_do(tmp_path):
    write_log(tmp_path, [row("a")])
    with open(tmp_path / "results.jsonl", "a") as file:
        file.write('{"key": "half')
    assert "take a:" in write_report(tmp_path).read_text()


def test_an_unfinished_run_is_reported_on_from_the_command_line(tmp_path, pacb):
    log = write_log(tmp_path / "log", [row("a"), row("b", gap=-1e-3)], cells=9)
    done = pacb("bench", "--report", log)
    # A bound below the certified optimum is a failure of somebody's.
    assert done.returncode == 1, done.stderr
    assert (
        "1 contradictions: b on one" in done.stdout and done.stdout.splitlines()[-1] == f"report: {log / 'report.html'}"
    )
    assert "Unfinished: 2 of 9" in (log / "report.html").read_text()
    empty = pacb("bench", "--report", tmp_path)
    assert empty.returncode == 2 and "holds no results" in empty.stderr


def test_writing_again_gives_the_same_files(tmp_path):
    log = write_log(tmp_path, [row("a"), row("b", gap=1e-3)])
    files = [write_report(log), tmp_path / "figures" / "gaps.svg", tmp_path / "figures" / "gaps.pdf"]
    before = [file.read_bytes() for file in files]
    write_report(log)
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize(("make", "words"), [(False, "holds no results"), (True, "holds no finished run")])
def test_a_directory_without_runs_is_refused_in_a_sentence(tmp_path, make, words):
    if make:
        write_log(tmp_path, [])
    with pytest.raises(InputError, match=words):
        write_report(tmp_path)


def test_cells_without_a_number_have_no_key_to_sort_by():
    assert tables.Cell("–", math.nan).sort_key == ""
    assert tables.Cell("1.0e-07", 1e-7).sort_key == "1e-07"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = executable()
    if program is None:
        pytest.skip("no Chromium on PATH; Debian: apt-get install chromium")
    with Browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def page(browser, report):
    browser.resize(1280, 900)
    browser.open(report)
    return browser


COLUMN = "Array.from(document.querySelectorAll('#table-{name} tbody tr'), row => row.cells[{column}].textContent)"
SORTED = "document.querySelector('#table-{name} th:nth-child({place})').getAttribute('aria-sort')"


def test_page_opens_without_errors_or_missing_images(page, report):
    images = page.evaluate("Array.from(document.images, image => [image.complete, image.naturalWidth, image.alt])")
    assert len(images) == len(list((report.parent / "figures").glob("*.svg")))
    assert all(complete and width > 0 and alt for complete, width, alt in images)
    assert page.problems == []


def test_clicking_a_heading_sorts_by_it_and_again_turns_it_round(page):
    by_speed = ["frontier", "fixed-point", "ipopt", "stubborn"]
    page.click("#table-solvers th:nth-child(6) button")
    assert page.evaluate(COLUMN.format(name="solvers", column=0)) == by_speed
    assert page.evaluate(SORTED.format(name="solvers", place=6)) == "ascending"
    page.click("#table-solvers th:nth-child(6) button")
    assert page.evaluate(COLUMN.format(name="solvers", column=0)) == by_speed[::-1]
    assert page.evaluate(SORTED.format(name="solvers", place=6)) == "descending"
    page.click("#table-solvers th:nth-child(1) button")
    assert page.evaluate(COLUMN.format(name="solvers", column=0)) == sorted(by_speed)
    assert page.evaluate(SORTED.format(name="solvers", place=6)) is None
    assert page.problems == []


def test_numbers_are_sorted_as_numbers_and_dashes_stay_last(page):
    for place in ("ascending", "descending"):
        page.click("#table-gaps th:nth-child(5) button")
        shown = page.evaluate(COLUMN.format(name="gaps", column=4))
        assert page.evaluate(SORTED.format(name="gaps", place=5)) == place
        assert shown == {"ascending": ["0", "0", "1.0e-03", "–"], "descending": ["1.0e-03", "0", "0", "–"]}[place]


def test_tables_can_be_sorted_from_the_keyboard(page):
    page.evaluate("document.querySelector('#table-solvers th:nth-child(2) button').focus()")
    page.press("Tab", 9)
    page.press("Enter", 13)
    assert page.evaluate(SORTED.format(name="solvers", place=3)) == "ascending"
    assert page.evaluate(COLUMN.format(name="solvers", column=2))[0] == "0"


def test_a_phone_scrolls_tables_not_the_page(browser, report):
    browser.resize(390, 844, mobile=True)
    browser.open(report)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    assert (
        browser.evaluate("Array.from(document.images, image => image.getBoundingClientRect().right <= 390)").count(
            False
        )
        == 0
    )
    assert browser.evaluate(
        "(box => box.scrollWidth > box.clientWidth)(document.querySelector('#table-failures .scroll'))"
    )
    assert browser.problems == []


def test_print_has_no_scroll_boxes_and_no_arrows(page):
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"
        assert page.evaluate("getComputedStyle(document.querySelector('thead button'), '::after').display") == "none"
        assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    finally:
        page.call("Emulation.setEmulatedMedia", media="")
