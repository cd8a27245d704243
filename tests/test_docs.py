"""The documentation does what it says: code prints what is shown, links lead somewhere, commands exist, it builds."""

import ast
import configparser
import importlib.util
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from markdown.extensions.toc import slugify

import pacb_models

from .benchmarks.browser import Browser

# A page runs dozens of commands, one after the other.
pytestmark = [pytest.mark.outside, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def run_page(raw_files, tmp_path_factory):
    """Run the code of a page; the exit status, and what it printed."""
    # -P: a script's folder comes first on the path, and tests/pacb_models is not the package.
    command = [sys.executable, "-P", ROOT / "tests" / "run_page.py"]
    variables = {**os.environ, "PACB_DATA": str(raw_files)} if raw_files else os.environ
    printed = tmp_path_factory.mktemp("printed") / "printed"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=variables, **pipes) as serving:

        def run(page, directory):
            print(json.dumps([str(page), str(directory), str(printed)]), file=serving.stdin, flush=True)
            return int(serving.stdout.readline()), printed.read_text()

        yield run


#: Its commands are run in a changed copy of the tree, by tests/test_recipes.py.
RECIPES = ROOT / "docs" / "recipes.md"


@pytest.mark.parametrize("page", [page for page in PAGES if "```" in page.read_text() and page != RECIPES], ids=name_of)
def test_code_of_the_page_runs(page, tmp_path, run_page, without_raw_files):
    status, printed = run_page(page, tmp_path)
    assert status == 0, printed
    if without := re.search(rf"^{page.name}: not run: .*", printed, re.MULTILINE):
        without_raw_files(without[0])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Text\n\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", "line 3: --- shown"),
        ("```python\nraise KeyError('x')\n```\n", "KeyError: 'x'"),
        ("```console\n$ pacb constants --m 1\nnothing\n```\n", "line 1: --- shown"),
        ("```console\n$ pacb constants --m 0\n```\n", "exit status 2"),
        ("```sh\nfalse\ntrue\n```\n", "exit status 1"),
        ("```sh\npacb constants --m 1\npacb constants --m 0\n```\n", "exit status 2"),
        ("```sh\nmake coffee\n```\n", "No rule to make target"),
        ("```perl\nprint 1\n```\n", "'perl' is not run by anything"),
    ],
)
def test_a_page_that_is_wrong_is_noticed(text, complaint, tmp_path, run_page):
    page = tmp_path / "page.md"
    page.write_text(text)
    status, printed = run_page(page, tmp_path)
    assert status == 1 and complaint in printed


def test_the_solver_of_the_page_can_be_installed(tmp_path):
    """The files that the page shows are a package: pip installs it, and ``pacb`` finds the solver by its name."""
    package, site = tmp_path / "package", tmp_path / "site"
    package.mkdir()
    text = (ROOT / "docs" / "your-solver.md").read_text()
    shown = re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', text, re.M | re.S)
    for name in ("conditional.py", "pyproject.toml"):
        (package / name).write_text(next(text for title, text in shown if title == name))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", site]
    subprocess.run([*pip, package], check=True, capture_output=True)
    solve = "-m pacb_models solve - --m 549 --solver conditional --json".split()
    variables, risks = {**os.environ, "PYTHONPATH": str(site)}, "0.046\n0.042\n0.038\n"
    given = {"input": risks, "env": variables, "cwd": tmp_path, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, *solve], **given)
    assert done.returncode == 0 and json.loads(done.stdout)["solver"] == "conditional", done.stderr


def test_the_package_is_described_by_the_same_sentence_everywhere():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    sentence = settings["metadata"]["description"]
    assert sentence.startswith("Compare ") and not sentence.endswith(".")
    for place in ("README.md", "docs/index.md", "mkdocs.yml", "CITATION.cff", "pacb_models/commands/program.py"):
        words = re.sub(r'["\s]+', " ", (ROOT / place).read_text())
        assert sentence in words, place


def test_the_gallery_shows_what_its_code_writes():
    """Each picture that the code saves is shown, and nothing else."""
    page = (ROOT / "docs" / "gallery.md").read_text()
    saved = set(re.findall(r'save\("(gallery-[a-z]+\.svg)"\)', page))
    shown = set(re.findall(r"\(images/(gallery-[a-z]+\.svg)\)", page))
    assert saved == shown == {path.name for path in (ROOT / "docs" / "images").glob("gallery-*")}


def test_the_design_page_lists_every_public_name():
    names = (ROOT / "docs" / "design.md").read_text().partition("## Names")[2].partition("\n## ")[0]
    for name in set(pacb_models.__all__) - {"Solution", "Certificate"}:
        assert re.search(rf"`{name}\b", names), name


@pytest.mark.parametrize("name", pacb_models.__all__)
def test_the_first_of_the_choices_is_the_default(name):
    """That is how the reference reads ``{"kl", "linear"}``."""
    thing = getattr(pacb_models, name)
    for argument, first in re.findall(r"^ *(\w+) : \{([^,}]+)", thing.__doc__ or "", re.MULTILINE):
        default = inspect.signature(thing).parameters[argument].default
        assert default in (inspect.Parameter.empty, ast.literal_eval(first)), argument


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for link in _LINK.findall(_FENCED.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            assert link.startswith("https://"), f"{link} is no https address"
            continue
        path, _, anchor = unquote(link).partition("#")
        # Two pages come from the root of the checkout (docs/hooks.py).
        path = {"contributing.md": "../CONTRIBUTING.md", "changelog.md": "../CHANGELOG.md"}.get(path, path)
        target = page.parent / path if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            headings = _HEADING.findall(_FENCED.sub("", target.read_text()))
            assert anchor in {slugify(heading, "-") for heading in headings}, f"{link}: the page has no such heading"


@pytest.mark.parametrize("page", [page for page in PAGES if "$" in page.read_text()], ids=name_of)
def test_formulas_pass_through_markdown(page):
    """GitHub reads Markdown before formulas: what Markdown takes for its own must not be in them."""
    from markdown_it import MarkdownIt

    for paragraph in MarkdownIt("commonmark").enable("table").parse(page.read_text()):
        if paragraph.type != "inline":
            continue
        source = re.sub(r"(`+).+?\1", "`", paragraph.content, flags=re.DOTALL)
        left = "".join(
            {"softbreak": "\n", "code_inline": "`"}.get(part.type, part.content) if not part.nesting else "*"
            for part in paragraph.children
            if part.type != "html_inline"
        )
        where = f"{page.name}, line {paragraph.map[0] + 1}"
        for formula in _FORMULA.findall(source):
            assert formula in left, f"{where}: Markdown changes {formula}"
            inline = not formula.startswith("$$")
            assert not (inline and re.match(r"\$\s|.*\n|.*\s\$$", formula)), f"{where}: no formula to GitHub: {formula}"
        text = _FORMULA.sub("$", source)
        assert not re.search(r"[\w$]\$|\$[\w$]", text), f"{where}: a formula touches a word: {text}"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as a fork builds it that has filled in its addresses."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    addresses = {"SITE_URL": "https://example.org/docs/", "REPO_URL": "https://example.org/code"}
    done = subprocess.run(build, cwd=ROOT, env={**os.environ, **addresses}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds_without_warning(site):
    home = (site / "index.html").read_text()
    assert "data-md-component=source" not in home.replace('"', ""), "the theme asks GitHub how many stars there are"
    assert not re.findall(r'(?:src|href)="(https?://[^"]*\.(?:js|css|woff2?)[^"]*)', home), "a page fetches something"
    for said in (f"pacb-models {pacb_models.__version__}", "https://example.org/docs/", "https://example.org/code"):
        assert said in home
    references = [page.read_text() for page in (site / "api").glob("*.html")]
    assert any("<math" in page for page in references)
    for page in site.rglob("*.html"):
        wrong = [formula for formula in re.findall(r"<math.*?</math>", page.read_text()) if "\\" in formula]
        assert not wrong, f"{page.stem}: a command that MathML does not know: {wrong[0]}"
    problems = (site / "api" / "problems.html").read_text()
    for name in ("bound", "gradient", "kkt_residual", "replace", "from_counts", "merged", "pyomo_model"):
        assert f'id="pacb_models.BoundProblem.{name}"' in problems, name
    for page in references:
        assert not re.search(r":(math|class|func|meth|mod|data):|\.\. math::|arithmatex", page)


def test_the_site_opens_from_files(site, tmp_path):
    """Every link of a page leads to a file, and the search finds without a server."""
    with Browser(tmp_path / "profile") as browser:
        browser.open(site / "index.html")
        links = browser.evaluate("[...document.links].map(link => link.href.split('#')[0])")
        for link in {unquote(link) for link in links if link.startswith("file:")}:
            assert Path(link.removeprefix("file://")).is_file(), link
        browser.evaluate(
            "(() => { const field = document.querySelector('.md-search__input'); field.focus();"
            "field.value = 'Clopper Pearson'; field.dispatchEvent(new KeyboardEvent('keyup')) })()"
        )
        found = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.pathname)"
        waited = "new Promise(done => { const ask = () => (%s).length ? done(%s) : setTimeout(ask, 50); ask() })"
        assert str(site / "certificates.html") in browser.evaluate(waited % (found, found))
        assert not browser.problems


# --- commands that pages and docstrings show -------------------------------------------------------------------------

CODE = ("benchmarks", "examples", "pacb_models", "solvers", "tools")
SHOWN = [*PAGES, *(path for folder in CODE for path in (ROOT / folder).rglob("*.py"))]
_PROGRAM = re.compile(r"\bpython (?:-m (pacb_models[\w.]*)|([\w/]+/\w+\.py))")
PROGRAMS = sorted({found for path in SHOWN for found in _PROGRAM.findall(path.read_text(encoding="utf-8"))})


@pytest.mark.parametrize(("module", "script"), PROGRAMS, ids="".join)
def test_a_program_that_is_shown_can_be_started(module, script):
    assert ("pacb_models.benchmarks.studies.speed.startup", "") in PROGRAMS
    if module:
        assert importlib.util.find_spec(module) is not None
        return
    # By its path a script has no package: it imports nothing relative to one.
    tree = ast.parse((ROOT / script).read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]


def test_make_starts_measures_what_its_page_shows():
    page = (ROOT / "docs" / "starts.md").read_text(encoding="utf-8")
    made = subprocess.run(["make", "-n", "starts"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    starts = re.search(r"pacb bench --suite starts --starts (\d+) .*--page docs/starts\.md", made)
    assert starts and f"at {starts[1]} random posteriors" in page


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_workflows_run_targets_that_exist(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    steps = [step for job in content.get("jobs", {}).values() for step in job["steps"]]
    for command in (step["run"] for step in steps if step.get("run", "").startswith("make ")):
        subprocess.run(["make", "-n", *shlex.split(command)[1:]], cwd=ROOT, capture_output=True, check=True)


def test_workflows_test_every_python_that_is_declared():
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]["test"]["strategy"]
    declared = re.findall(r"Python :: (3\.\d+)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE)
    assert set(declared) <= set(matrix["matrix"]["python"])
