"""The report as a page of the documentation."""

import re
import runpy
from pathlib import Path

import pandas as pd
import pytest

from pacb_models.benchmarks.harness.results import load_results
from pacb_models.benchmarks.report import write_report
from pacb_models.errors import InputError

from .made_up_log import row, write_log

DOCS = Path(__file__).parents[2] / "docs"

# Draws every figure.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

GAPS = {"frontier": 0.0, "fixed-point": 1e-3, "ipopt": 0.0}
ROWS = [row(name, "one", family="one-good", minima=2, gap=gap) for name, gap in GAPS.items()]
ROWS += [row(name, "two", family="ties") for name in GAPS]


def words(text):
    """How many a reader reads: no marks, no addresses."""
    return len(re.findall(r"[^\s|*#\[\]!`-]+", re.sub(r"\]\([^)]*\)", "]", text)))


def test_the_page_has_its_pictures_and_data_beside_it(tmp_path):
    directory = write_log(tmp_path / "run", ROWS, processor="Abacus", cores=1)
    page = tmp_path / "docs" / "made.md"
    write_report(directory, page=page)
    text = page.read_text()
    assert text.startswith("# How the solvers compare: the suite `made up`\n")
    assert "Abacus" in text and "| fixed-point | 1/1 | 0/1 | 1 |" in text
    # There is no suite of that name, hence no command to measure it again.
    assert "Made by" not in text and text.endswith("environment.json).\n")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and all((page.parent / link).exists() for link in links)
    assert sum(link.endswith(".svg") for link in links) == len(list((page.parent / "made").glob("*.svg")))
    assert len(pd.read_parquet(page.parent / "made" / "results.parquet")) == len(ROWS)


def test_files_that_the_page_did_not_write_are_left_alone(tmp_path):
    """Not other pictures in the folder beside it, and no page that is somebody else's."""
    directory = write_log(tmp_path / "run", ROWS)
    images, page = tmp_path / "images", tmp_path / "images.md"
    images.mkdir()
    (images / "headline.svg").write_text("<svg/>")
    write_report(directory, page=page)
    assert (images / "headline.svg").exists() and len(list(images.glob("*.svg"))) > 1
    # A figure that an earlier page showed and this one does not is removed.
    page.write_text(page.read_text() + "\n![old](images/old.svg)\n")
    (images / "old.svg").write_text("<svg/>")
    write_report(directory, page=page)
    assert (images / "headline.svg").exists() and not (images / "old.svg").exists()
    page.write_text("# My pictures\n")
    with pytest.raises(InputError, match="it is no page of ours"):
        write_report(directory, page=page)
    assert page.read_text() == "# My pictures\n"


def test_the_picture_comes_before_the_words_and_the_papers_methods_have_a_section(tmp_path):
    write_report(write_log(tmp_path / "run", ROWS), page=tmp_path / "made.md")
    text = (tmp_path / "made.md").read_text()
    for part in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
        lines = [line for line in part.splitlines()[1:] if line]
        if any(line.startswith("![") for line in lines):
            assert lines[0].startswith("![")
    assert "## The paper's methods: fixed point, Ipopt and CCP\n" in text and "### When (optima found with " in text
    assert words(text.partition("![")[2].partition("![")[0]) < 400


def test_a_part_of_a_suite_is_called_a_part(tmp_path):
    name = "one-good-17-H20-chi2-kl"
    directory = write_log(tmp_path / "run", [row("frontier", name, family="one-good", suite="certify-optimum")])
    write_report(directory, page=tmp_path / "page.md")
    assert re.search(r"\*\*A part of the suite: 1 of its \d+ problems", (tmp_path / "page.md").read_text())


def test_the_page_on_the_field_is_short_and_shows_the_papers_methods():
    text = (DOCS / "field.md").read_text()
    assert words(text) <= 1500
    assert text.count("![") >= 8 and "## The paper's methods" in text
    assert max(len(table.splitlines()) for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)) <= 22


def test_the_readme_and_the_field_show_the_same_measurements():
    """``python tools/solver_table.py`` copies them, and knows every solver that was measured."""
    tool = runpy.run_path(str(DOCS.parent / "tools" / "solver_table.py"))
    shown = tool["solver_table"](load_results(DOCS / "field"))
    assert shown in (DOCS.parent / "README.md").read_text()


def test_a_foreign_directory_s_words_are_words_on_the_page(tmp_path):
    """As a renderer of Markdown sees it, which lets HTML through."""
    markdown_it = pytest.importorskip("markdown_it")
    evil = "<script>alert(1)</script> `<script>` [x](javascript:1) \x1b[31m | *a* _b_\n# a title"
    facts = dict.fromkeys(("distance", "divergence", "constant", "message", "suite"), evil)
    rows = [each.told({**facts, "solver": each.solver + evil, "problem": each.problem + evil}) for each in ROWS]
    directory = write_log(tmp_path / "run", rows, processor=evil, system=evil, versions={evil: evil})
    page = tmp_path / "made.md"
    report = write_report(directory, page=page)
    shown = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").render(page.read_text())
    assert shown.count("&lt;script&gt;") > 5 and not re.search(r"<(script|em)|javascript:1\)\"", shown)
    assert "| *a* _b_ # a title</td>" in shown
    assert "\x1b" not in page.read_text() + report.read_text() and "# a title\n" not in page.read_text()
