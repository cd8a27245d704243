"""The report as a page of the documentation, and its tables about hard problems and lower bounds."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from pacb_models.benchmarks.report import analysis, write_report
from pacb_models.benchmarks.report.families import families_table, lower_bounds_table, overview_table
from pacb_models.cli import main

from .made_up_log import frame, row, write_log

ROWS = [
    row("frontier", "one", dataset="one-good", lower_bound=0.25),
    row("frontier", "two", dataset="ties", lower_bound=0.25),
    row("mirror", "one", dataset="one-good", gap=1e-3),
    row("mirror", "two", dataset="ties"),
    row("scip", "one", dataset="one-good", lower_bound=0.25 - 1e-6),
    row("scip", "two", dataset="ties", lower_bound=0.25 - 1e-3),
]


def texts(table):
    return {cells[0].text: [cell.text for cell in cells[1:]] for cells in table.rows}


def test_families_are_set_against_solvers(tmp_path):
    table = families_table(analysis.prepare(frame(tmp_path, ROWS)))
    assert table.titles == ("solver", "one-good", "ties", "all")
    assert texts(table)["mirror"] == ["0 %", "100 %", "50 %"]
    assert texts(table)["frontier"] == ["100 %", "100 %", "100 %"]


def test_problems_with_several_minima_are_told_apart(tmp_path):
    rows = [
        row("mirror", "one-good-17-H20-chi2-kl", dataset="one-good", gap=1e-3),
        row("mirror", "ties-01-H50-chi2-squared", dataset="ties"),
    ]
    table = families_table(analysis.prepare(frame(tmp_path, rows)))
    assert table.titles == ("solver", "one-good", "ties", "one minimum", "several minima", "all")
    assert texts(table)["mirror"] == ["0 %", "100 %", "100 %", "0 %", "50 %"]


def test_the_overview_has_data_sets_and_hard_problems_side_by_side(tmp_path):
    rows = [
        row("mirror", "one-good-17-H20-chi2-kl", dataset="one-good", gap=1e-3),
        row("mirror", "ties-01-H50-chi2-squared", dataset="ties"),
        row("mirror", "wdbc-H50-kl-exact", dataset="wdbc", seconds=0.1),
        row("mirror", "wdbc-H50-kl-exact", dataset="wdbc", seconds=0.001, settings='{"merge": true}'),
        row("slow", "wdbc-H50-kl-exact", dataset="wdbc", gap=None, status="time_limit"),
    ]
    table = overview_table(analysis.prepare(frame(tmp_path, rows)))
    assert table.titles == ("solver", "data sets", "hard, one minimum", "hard, several minima", "ms at H = 50")
    assert texts(table) == {
        "mirror": ["1 of 1", "1 of 1", "0 of 1", "100"],
        "slow": ["0 of 1", "–", "–", "–"],
    }
    assert overview_table(analysis.prepare(frame(tmp_path / "easy", rows[2:]))) is None


def test_the_pages_on_solvers_and_on_the_field_show_the_same_measurements():
    """The table is copied: docs/solvers.md follows from what was measured."""
    docs = Path(__file__).parents[2] / "docs"
    shown = re.search(r"\| solver \| data sets \|.*?\n\n", (docs / "solvers.md").read_text(), re.DOTALL)
    assert shown and shown[0] in (docs / "field.md").read_text()


def test_lower_bounds_are_set_against_the_certified_minimum(tmp_path):
    table = lower_bounds_table(analysis.prepare(frame(tmp_path, ROWS)))
    assert texts(table)["scip"] == ["2", "50 %", "5.0e-04", "1.0e-03", "0"]


def test_a_lower_bound_above_the_minimum_is_counted(tmp_path):
    wrong = [*ROWS, row("scip", "three", dataset="ties", lower_bound=0.2501)]
    table = lower_bounds_table(analysis.prepare(frame(tmp_path, wrong)))
    assert texts(table)["scip"][-1] == "1"


def test_runs_without_hard_problems_have_neither_table(tmp_path):
    runs = analysis.prepare(frame(tmp_path, [row("frontier", lower_bound=0.25), row("mirror")]))
    assert families_table(runs) is None and lower_bounds_table(runs) is None


def test_the_page_has_its_figures_and_data_beside_it(tmp_path):
    directory = write_log(tmp_path / "run", ROWS, processor="Abacus", cores=1)
    page = tmp_path / "docs" / "made.md"
    (tmp_path / "docs" / "made").mkdir(parents=True)
    (tmp_path / "docs" / "made" / "stale.svg").write_text("<svg/>")
    write_report(directory, page=page)
    text = page.read_text()
    assert text.startswith("# Results of the suite `made up`\n")
    assert "Abacus" in text and "| mirror | 0 % | 100 % | 50 % |" in text
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and all((page.parent / link).exists() for link in links)
    assert sum(link.endswith(".svg") for link in links) == len(list((page.parent / "made").glob("*.svg")))
    assert len(pd.read_parquet(page.parent / "made" / "results.parquet")) == len(ROWS)


def test_a_part_of_a_suite_is_called_a_part(tmp_path):
    name = "one-good-17-H20-chi2-kl"
    directory = write_log(tmp_path / "run", [row("frontier", name, dataset="one-good", suite="certify-optimum")])
    write_report(directory, page=tmp_path / "page.md")
    assert re.search(r"\*\*A part of the suite: 1 of its \d+ problems", (tmp_path / "page.md").read_text())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--page", "page.html"], "it must end in '.md'"), (["--page", "page.md", "--no-report"], "--no-report")],
)
def test_a_page_that_cannot_be_is_refused_before_anything_runs(arguments, complaint, tmp_path, capsys):
    assert main(["bench", *arguments, "--out", str(tmp_path / "run")]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
