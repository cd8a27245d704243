"""The report: its six parts against a made-up log, and the page in a real browser."""

import itertools
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import pacb_models as pm
from pacb_models.benchmarks import verdict
from pacb_models.benchmarks.harness.environment import Environments
from pacb_models.benchmarks.problems.families import CONSTRAINED, instance, instances
from pacb_models.benchmarks.problems.problem import UCI_FAMILY
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.benchmarks.report import content, missed, pictures, tables, write_report
from pacb_models.benchmarks.report.drawing import PALE, Looks
from pacb_models.benchmarks.verdict import Ending
from pacb_models.errors import InputError
from pacb_models.plots.palette import KINDS
from pacb_models.plots.style import PURPLE, styled

from ..policies import allows_what_it_has_and_no_more
from .browser import Browser
from .made_up_log import frame, judged, row, write_log

# The first test of several draws every figure.
pytestmark = [pytest.mark.outside, pytest.mark.long, pytest.mark.timeout(300)]

TIMES = {"frontier": 2e-4, "fixed-point": 1e-3, "ipopt": 4e-2, "stubborn": 5e-2}
HARD = "one-good-07-H50-chi2-squared"


def hard_rows():
    """An instance of the collection on which two solvers end in another minimum, with real ends."""
    problem = instance(HARD).build()
    best, local = pm.solve(problem), pm.solve(problem, "fixed-point")
    facts = {"family": "one-good", "size": problem.size, "m": problem.m, "delta": problem.delta, "distance": "squared"}
    facts |= {"minima": 1 + len(best.local_minima), "reference_bound": best.bound}
    return [
        row(solver, HARD, TIMES[solver], bound=end.bound, empirical_risk=end.empirical_risk, **facts)
        for solver, end in {"frontier": best, "fixed-point": local, "ipopt": local}.items()
    ]


@pytest.fixture(scope="module")
def rows_of_all():
    """Three distances, three sizes; one solver that fails with markup in its text; and the hard instance."""
    table = load_risk_table("wdbc")
    rows = []
    for size, distance in itertools.product((20, 50, 100), ("linear", "squared", "kl")):
        bound = pm.solve(pm.BoundProblem(table.risks(size), m=table.m, delta=0.01, distance=distance)).bound
        facts = {"family": UCI_FAMILY, "dataset": "wdbc", "size": size, "m": table.m, "delta": 0.01}
        facts |= {"distance": distance, "reference_bound": bound}
        for solver, seconds in TIMES.items():
            taken = seconds * size / 20
            more = {"bound": bound, "gradient_evaluations": 10 * size, "seconds_to_3_digits": taken / 2}
            more |= {"lower_bound": bound if solver == "frontier" else None}
            if solver == "stubborn":
                more = {"bound": None, "status": "error", "message": 'boom <script>alert("x")</script> | 50 % & a_b\\'}
            rows.append(row(solver, f"wdbc-H{size}-{distance}", taken, **facts, **more))
    return rows + hard_rows()


@pytest.fixture(scope="module")
def full(rows_of_all, tmp_path_factory):
    return judged(tmp_path_factory.mktemp("full"), rows_of_all)


@pytest.fixture(scope="module")
def report(rows_of_all, tmp_path_factory):
    facts = {"processor": "Abacus <9>", "cores": 2, "memory_bytes": 2**33, "versions": {"numpy": "2.0", "dask": None}}
    log = write_log(tmp_path_factory.mktemp("report"), rows_of_all, suite="made up", cells=len(rows_of_all), **facts)
    return write_report(log)


@pytest.mark.parametrize(("load", "busy"), [(2, False), (3, True), (None, False)])
def test_a_report_says_that_other_programs_ran(full, load, busy):
    found = content.describe(full, Environments({}, [{"cores": 2, "load": load}]))
    assert any("times are upper limits" in point for point in found.parts[-1].points) == busy


class Reader(HTMLParser):
    """The tags of a page with their attributes, and its words before the second picture."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words, self._depth = [], 0, 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._depth += tag in ("svg", "style", "script", "title")

    def handle_endtag(self, tag):
        self._depth -= tag in ("svg", "style", "script", "title")

    def handle_data(self, data):
        if not self._depth and [tag for tag, _ in self.tags].count("figure") < 2:
            self.words += len(data.split())

    def of(self, *names):
        return [attributes for tag, attributes in self.tags if tag in names]


def test_the_page_holds_all_it_needs_in_three_megabytes(report):
    page = report.read_text()
    read = Reader(page)
    assert len(read.of("script")) == 1, "a message from the log became a script"
    loaded = ("src", "href", "srcset", "data", "action", "xlink:href")
    assert all(given.get(name, "#").startswith("#") for _, given in read.tags for name in loaded)
    assert allows_what_it_has_and_no_more(page) and "@import" not in page
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    assert report.stat().st_size < 3e6
    assert {path.name for path in report.parent.iterdir()} == {"results.jsonl", "environment.json", "report.html"}
    # Few words stand before the second picture.
    parts = ["overview", "matrix", "growth", "ends", "solvers", "environment", "details"]
    assert [given["id"] for given in read.of("section")] == parts and 10 < read.words <= 400
    assert not any("open" in given for given in read.of("details"))


def test_the_page_says_what_the_log_says(report):
    page = report.read_text()
    for words in (
        *("frontier finds every optimum, in 500 µs (median)", "No solver makes a false claim", "8.0 GiB"),
        # Nine failures of one solver, two local minima of others.
        "11 of 39 runs missed the optimum; 2 ended in another local minimum",
        *("At H = 100, frontier takes 1.0 ms, ipopt 200 ms", "Methods that missed ended in another local minimum"),
        *("boom &lt;script&gt;", "Abacus &lt;9&gt;, 2 cores"),
    ):
        assert words in page
    assert "Unfinished" not in page and "shared the machine" not in page


def test_the_one_table_has_a_row_for_each_solver(full):
    table = content.solvers_table(full)
    assert table.columns == (
        "solver", "found, one minimum", "found, several minima", "another minimum", "false claims", "median [ms]",
        "90 % [ms]", "× fastest", "gradients",
    )  # fmt: skip
    # What has no number has no key to sort by.
    assert [(cells[6].sort_key, cells[5].sort_key != "") for cells in table.rows][-1] == ("", False)
    rows = {cells[0].text: [cell.text for cell in cells[1:]] for cells in table.rows}
    assert list(rows) == ["frontier", "fixed-point", "ipopt", "stubborn"]
    assert rows["fixed-point"][:6] == ["9/9", "0/1", "1", "0", "2.5", "5.0"]
    assert rows["stubborn"] == ["0/9", "–", "0", "0", "–", "–", "–", "–"]


def test_up_to_twelve_problems_have_a_table_of_their_bounds(tmp_path):
    """By hand: gaps where the minimum is known, in bold what found it; bounds where it is not."""
    rows = [row("a", gap=0.0), row("a", gap=2e-3), row("b")]
    rows.append(row("b", "open", gap=None, bound=0.3, reference_bound=None))
    found = content.describe(judged(tmp_path, rows), Environments())
    [part] = [part for part in found.details if part.anchor == "bounds"]
    [table] = part.tables
    assert table.columns == ("problem", "minimum", "b", "a")
    assert [[cell[:2] for cell in cells] for cells in table.rows] == [
        [("one", ""), ("0.25000000", ""), ("0", "best"), ("2.0e-03", "")],
        [("open", ""), ("–", ""), ("0.30000000", "best"), ("–", "")],
    ]
    latex = tables.as_latex(table, part.title)
    assert r"\caption{Bounds, problem by problem}" in latex and r"& \textbf{0} &" in latex
    many = judged(tmp_path / "many", [row("a", f"p{number}") for number in range(13)])
    assert "bounds" not in [part.anchor for part in content.describe(many, Environments()).details]


def test_problems_that_nobody_missed_take_no_more_room_than_the_others(tmp_path):
    rows = [row("a", f"easy{number}", family="easy") for number in range(30)]
    rows += [row("a", f"hard{number}", family="hard", gap=1e-3) for number in range(5)]
    svg = ElementTree.fromstring(pictures.matrix(judged(tmp_path, rows)).svg)
    widths = {group.get("data-family"): group.get("data-width") for group in svg.iter("{http://www.w3.org/2000/svg}g")}
    assert float(widths["easy"]) == pytest.approx(float(widths["hard"]), abs=0.02)


def test_the_matrix_colours_every_problem_of_every_solver(full):
    svg = ElementTree.fromstring(pictures.matrix(full).svg)
    space = "{http://www.w3.org/2000/svg}"
    families = {group.get("data-family"): group for group in svg.iter(f"{space}g")}
    # The family that is missed most comes first.
    assert list(families) == ["one-good", "UCI data sets"]
    tips = [tip.text for tip in families["one-good"].iter(f"{space}title")]
    assert tips == [f"{HARD} (H = 50)\nanother local minimum: fixed-point, ipopt\nfound: 1 solver"]
    # Neighbours of equal outcome are one rectangle: four rows of nine problems.
    expected = {"one-good": [Ending.FOUND, Ending.LOCAL, Ending.LOCAL]}
    expected["UCI data sets"] = [Ending.FOUND] * 3 + [Ending.FAILED]
    for name, endings in expected.items():
        fills = [rect.get("fill") for rect in families[name].iter(f"{space}rect") if rect.get("class") is None]
        assert fills[1:] == [pictures.FILLS[ending] for ending in endings]


def test_who_found_nothing_is_named_in_the_first_picture(full):
    with styled():
        drawn = pictures.overview(full.runs, pictures.looks_for(verdict.by_solver(full.runs)))
    easy, hard = ({text.get_text() for text in picture.figure.axes[0].texts} for picture in drawn)
    assert easy == {"frontier", "fixed-point", "ipopt", "found none: stubborn"}
    assert hard == {"frontier", "found none: fixed-point, ipopt"}


def test_at_most_seven_curves_are_named_and_other_peoples_solvers_are_among_them(tmp_path):
    ours = ["frontier", "mirror", "spg", "lbfgsb", "softmax", "ccp", "ipopt", "casadi", "dnlp", "fixed-point"]
    rows = [row(name, f"{size}", seconds=0.1, size=size) for name in [*ours, "mine"] for size in (10, 100)]
    each = frame(tmp_path, rows)
    looks = pictures.looks_for(verdict.by_solver(each))
    assert looks.named[:5] == ["frontier", "fixed-point", "ipopt", "ccp", "mine"] and len(looks.named) == 7
    with styled():
        [picture] = pictures.growth(each, looks, ["kl"])
    assert sorted(text.get_text() for text in picture.figure.axes[0].texts) == sorted(looks.named)
    assert looks["dnlp"]["color"] == PALE


#: Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB; and what grey paper shows.
SIGHT = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
GREY = {"grey paper": [[0.2126, 0.7152, 0.0722]] * 3}


def seen(colour, matrix):
    """The colour in CIELAB as somebody sees it."""
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255.0
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(matrix) @ linear, 0.0, 1.0)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ linear / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", [*SIGHT, "grey paper"])
def test_colours_differ_for_every_eye(eyes):
    """By ten units of CIELAB at least; two or three are seen as a difference side by side."""
    curves = (*(colour for colour, _ in KINDS.values()), PURPLE, PALE) if eyes in SIGHT else ()
    for colours in (curves, (*pictures.FILLS.values(), "#ffffff")):
        for pair in itertools.combinations(colours, 2):
            one, other = (seen(colour, (SIGHT | GREY)[eyes]) for colour in pair)
            assert np.linalg.norm(one - other) > 10.0


def test_starts_become_a_curve_of_how_many_are_needed(tmp_path):
    """Of four starts one finds the optimum: the chance is n/4 by hand."""
    rows = [row("fixed-point", gap=0.0 if start == 2 else 1e-3, minima=2) for start in range(4)]
    each = frame(tmp_path, rows).assign(start=range(4))
    with styled():
        picture = pictures.starts_needed(each, ["fixed-point", "ccp"], Looks(["fixed-point"]))
    [line] = picture.figure.axes[0].lines
    assert line.get_ydata() == pytest.approx([25.0, 50.0, 75.0, 100.0])


def test_the_papers_methods_have_a_section_with_starts(tmp_path):
    exact, *others = hard_rows()
    pairs = itertools.product(others, (None, 0, 1, 2, 3))
    rows = [exact, *(made.told({"key": f"{made.key}-{start}", "start": start, "seed": 0}) for made, start in pairs)]
    found = content.describe(judged(tmp_path, rows), Environments())
    assert [part.anchor for part in found.paper] == ["paper-found", "paper-starts", "paper-why"]
    # The comparison is from the prior, where all of them began.
    assert "2 of 3 runs missed the optimum" in found.parts[1].title


def test_the_papers_methods_are_compared_on_the_problems_that_all_of_them_take(tmp_path):
    rows = [row(solver, "shared", gap=1e-3, minima=2) for solver in ("fixed-point", "ipopt", "ccp")]
    rows += [row(solver, "not for ccp", minima=2) for solver in ("fixed-point", "ipopt")]
    each = frame(tmp_path, rows)
    with styled():
        [when] = content.paper_parts(each, each)
    assert when.title.endswith("fixed-point 0 %, ipopt 0 % and ccp 0 %")
    assert "on the 1 problem that all of them take" in when.text and "fixed-point 2, ipopt 2 and ccp 1" in when.text


def test_the_local_minimum_of_the_fixed_point_is_found_on_the_path(tmp_path):
    """A problem that nobody can build again is passed over."""
    rows = [*hard_rows(), *(made.told({"problem": "unknown", "family": "mine"}) for made in hard_rows())]
    [case] = missed.missed_problems(frame(tmp_path, rows), most=4)
    assert (case.name, case.words) == (HARD, "2 local minima, 2 of 3 missed the best")
    places = {name: end.place for end in case.display.ends for name in end.names}
    assert places["frontier"] == "the minimum"
    assert places["fixed-point"] == places["ipopt"] == f"local minimum 2 of {len(case.display.minima)}"


def test_a_problem_of_another_optimum_is_not_built_again(tmp_path):
    made = frame(tmp_path, hard_rows()).iloc[0]
    problem, solution = missed.certified(made)
    assert np.array_equal(problem.risks, instance(HARD).build().risks) and solution.bound == made["reference_bound"]
    assert missed.certified(made.replace({made["reference_bound"]: made["reference_bound"] - 1e-3})) is None
    known = [("wdbc-H50-kl-exact", None), ("wdbc-H50-kl-exact", 0.123), (instances(CONSTRAINED)[0].name, None)]
    rows = frame(tmp_path / "known", [row("a", name, reference_bound=bound) for name, bound in known])
    assert [missed.certified(made) is not None for _, made in rows.iterrows()] == [True, False, False]


@pytest.mark.parametrize(
    "rows",
    [
        [row("a", gap=None, status="error", reference_bound=None, distance=None, size=None, divergence=None)],
        [row("a", gap=None, status="time_limit"), row("b", gap=None, status="unavailable")],
        [row("a", gap=None, status="unavailable")],
        [row("a", parallel=True), row("a", "two", parallel=True, minima=None)],
        [row("a", gap=None, bound=0.3, reference_bound=None, divergence="renyi", order=3.0, family="me/mine.csv")],
        [row(f"$x_{k}$ <b>", f"p{k} & {j}", minima=None, gap=1e-3 * (k == j)) for k in range(3) for j in range(70)],
        [row("frontier", str(size), size=size, peak_memory_bytes=8 * size) for size in (10, 100, 1000)],
        [row("frontier", lower_bound=0.25), row("frontier", settings={"merge": True}), row("scip", lower_bound=0.2)],
    ],
    ids=["nothing known", "no success", "nobody there", "one solver", "no reference", "many", "memory", "merged"],
)  # fmt: skip
def test_whatever_a_log_holds_there_is_a_report(tmp_path, rows):
    page = write_report(write_log(tmp_path, rows, cells=500), tmp_path / "page.md").read_text()
    assert f"Unfinished: {len(rows)} of 500 runs are in the log." in page
    assert ("All times were measured while other runs shared the machine" in page) == rows[0].parallel
    assert (tmp_path / "page.md").exists()


def test_an_unfinished_run_is_reported_on_from_the_command_line(tmp_path, pacb):
    """Also a log that was torn while it was written."""
    log = write_log(tmp_path / "log", [row("a"), row("b")], cells=9)
    with open(log / "results.jsonl", "a") as file:
        file.write('{"key": "half')
    done = pacb("bench", "--report", log)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"report: {log / 'report.html'}"
    assert "Unfinished: 2 of 9" in (log / "report.html").read_text()


def test_the_help_has_a_line_on_every_suite(pacb):
    from pacb_models.benchmarks.harness.suites import suite_lines

    shown = pacb("bench", "--help").stdout.partition("suites:\n")[2].splitlines()
    lines = [line.split() for line in shown if line]
    # Another package's come after ours.
    ours = [*suite_lines()]
    assert [words[0] for words in lines][: len(ours)] == ours and len(lines) > len(ours)
    assert all(len(words) > 3 for words in lines)


def test_figures_and_tables_are_files_when_they_are_asked_for_and_the_same_again(tmp_path, rows_of_all):
    log = write_log(tmp_path, rows_of_all)
    before = write_report(log, files=True).read_bytes()
    assert write_report(log).read_bytes() == before
    figures = {path.name: path for path in (tmp_path / "figures").iterdir()}
    assert {"overview-1.svg", "overview-1.pdf", "matrix.svg", "path-1.svg", "growth-1.pdf"} <= figures.keys()
    for path in figures.values():
        pdf = path.suffix == ".pdf"
        assert path.read_bytes()[:4] == b"%PDF" if pdf else ElementTree.parse(path).getroot().tag.endswith("svg")
    for path in (tmp_path / "tables").glob("*.tex"):
        latex = path.read_text()
        alignment = re.search(r"\\begin{tabular}{([lr]+)}", latex)[1]
        body = latex.split(r"\toprule")[1].split(r"\bottomrule")[0].replace(r"\midrule", "").strip().splitlines()
        assert {len(re.findall(r"(?<!\\)&", line)) for line in body if line} == {len(alignment) - 1}
        assert latex.isascii()
        lines = path.with_suffix(".md").read_text().splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines if line.startswith("|")}) == 1
    assert "boom $<$script$>$" in (tmp_path / "tables" / "misses.tex").read_text()


@pytest.mark.parametrize(("make", "words"), [(False, "holds no results"), (True, "holds no finished run")])
def test_a_directory_without_runs_is_refused_in_a_sentence(tmp_path, make, words):
    if make:
        (tmp_path / "results.jsonl").touch()
    with pytest.raises(InputError, match=words):
        write_report(tmp_path)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def page(browser, report):
    browser.resize(1280, 900)
    browser.open(report)
    return browser


COLUMN = "Array.from(document.querySelectorAll('#table-solvers tbody tr'), row => row.cells[{column}].textContent)"
SORTED = "document.querySelector('#table-solvers th:nth-child({place})').getAttribute('aria-sort')"


def test_the_page_opens_without_errors_and_the_first_picture_is_seen_at_once(page):
    assert page.problems == []
    top, bottom = page.evaluate(
        "(box => [box.top, box.bottom])(document.querySelector('#overview svg').getBoundingClientRect())"
    )
    assert 0 < top and bottom < 900
    # What found the optimum is bold in the table of bounds.
    weights = "Array.from(document.querySelectorAll('#table-bounds td.best'), e => getComputedStyle(e).fontWeight)"
    assert set(page.evaluate(weights)) == {"700"}


def test_clicking_a_heading_sorts_by_it_and_again_turns_it_round(page):
    by_speed = ["frontier", "fixed-point", "ipopt"]
    # A solver without a time stays at the end.
    orders = [(6, [*by_speed, "stubborn"], "ascending"), (6, [*by_speed[::-1], "stubborn"], "descending")]
    for place, order, sorting in (*orders, (1, sorted([*by_speed, "stubborn"]), None)):
        page.click(f"#table-solvers th:nth-child({place}) button")
        assert page.evaluate(COLUMN.format(column=0)) == order
        assert page.evaluate(SORTED.format(place=6)) == sorting
    # And from the keyboard.
    page.evaluate("document.querySelector('#table-solvers th:nth-child(3) button').focus()")
    page.press("Tab", 9)
    page.press("Enter", 13)
    assert page.evaluate(SORTED.format(place=4)) == "ascending"
    assert page.evaluate(COLUMN.format(column=3))[0] == "0" and page.problems == []


def test_one_family_of_the_matrix_can_be_chosen(page):
    shown = "Array.from(document.querySelectorAll('.family')).filter(e => e.style.display !== 'none').length"
    choose = "(s => {{ s.value = '{}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('select'))"
    width = "document.querySelector('[data-family=one-good]').getBoundingClientRect().width"
    found = [(page.evaluate(shown), page.evaluate(width))]
    for name in ("one-good", "all families"):
        page.evaluate(choose.format(name))
        found.append((page.evaluate(shown), page.evaluate(width)))
    assert [count for count, _ in found] == [2, 1, 2] and found[1][1] > found[0][1] == found[2][1]


def test_a_solver_that_is_pointed_at_stands_out_in_every_picture(page):
    row = "document.querySelector('#table-solvers tbody tr')"
    page.evaluate(f"{row}.dispatchEvent(new Event('pointerover', {{bubbles: true}}))")
    lit = page.evaluate("Array.from(document.querySelectorAll('svg .mark.on'), e => e.dataset.solver)")
    assert len(lit) >= 4 and set(lit) == {"frontier"}
    words = page.evaluate("document.querySelector('svg .mark.on title').textContent")
    assert words.startswith("frontier: 9 of 9 found")


def test_what_was_smuggled_in_does_nothing(browser, report, tmp_path):
    evil = "document.title = 'evil'"
    evil = f'<script>{evil}</script><img src=x onerror="{evil}"><style>h1 {{ display: none }}</style>'
    (tmp_path / "page.html").write_text(report.read_text().replace("<main>", f"<main>{evil}"))
    browser.open(tmp_path / "page.html")
    assert browser.evaluate("document.title").startswith("Solver benchmark")
    assert browser.evaluate("getComputedStyle(document.querySelector('h1')).display") == "block"
    assert len([problem for problem in browser.problems if "Content Security Policy" in problem]) >= 3
    browser.problems.clear()


def test_without_scripts_everything_is_there(browser, report):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.resize(1280, 900)
        browser.open(report)
        # The protocol's own evaluation works on.
        assert browser.evaluate("document.querySelectorAll('.filter, thead button').length") == 0
        assert browser.evaluate("document.querySelectorAll('main > section').length") == 7
        browser.click("#levels summary")
        assert browser.evaluate("document.querySelector('#levels').open")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_a_phone_scrolls_boxes_not_the_page(browser, report):
    browser.resize(390, 844, mobile=True)
    browser.open(report)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    rights = browser.evaluate("Array.from(document.querySelectorAll('.scroll'), e => e.getBoundingClientRect().right)")
    assert max(rights) <= 390
    more = "Array.from(document.querySelectorAll('section > .gallery .scroll.more svg'), e => e.getAttribute('class'))"
    # Observers are told a moment later.
    wait = f"(async () => {{ for (let n = 0; n < 100 && {more}.length !== COUNT; n++) "
    wait += "await new Promise(done => setTimeout(done, 50)); })()"
    for left, expected in ((0, ["matrix"]), (5000, [])):
        browser.evaluate(f"document.querySelector('.scroll:has(.matrix)').scrollLeft = {left}")
        browser.evaluate(wait.replace("COUNT", str(len(expected))))
        assert browser.evaluate(more) == expected
    # All pictures but the matrix fit.
    fitting = "document.querySelectorAll('section > .gallery svg:not(.matrix)')"
    widths = browser.evaluate(f"Array.from({fitting}, e => e.getBoundingClientRect().width)")
    assert len(widths) >= 4 and max(widths) <= 390
    assert browser.problems == []


def test_pictures_are_dark_in_the_dark_and_paper_is_light_without_boxes_or_arrows(page):
    def look(of, *what):
        style = f"getComputedStyle(document.querySelector('{of}'){', '.join(['', *what[:-1]])})"
        return page.evaluate(f"{style}.{what[-1]}")

    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    try:
        page.call("Emulation.setEmulatedMedia", features=dark)
        assert look(".drawing svg", "filter").startswith("invert(")
        page.call("Emulation.setEmulatedMedia", media="print", features=dark)
        assert look(".drawing svg", "filter") == "none" and look(".scroll", "overflowX") == "visible"
        assert look("thead button", "'::after'", "display") == look(".filter", "display") == "none"
    finally:
        page.call("Emulation.setEmulatedMedia", media="", features=[])
    assert look(".drawing svg", "filter") == "none"
