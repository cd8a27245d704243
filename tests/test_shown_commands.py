"""Commands that pages and docstrings show exist: Python can start them, and the Makefile does what its pages say."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.outside

ROOT = Path(__file__).resolve().parent.parent
SHOWN = [
    *(path for pattern in ("*.md", "docs/**/*.md") for path in ROOT.glob(pattern)),
    *(
        path
        for folder in ("benchmarks", "examples", "pacb_models", "solvers", "tools")
        for path in (ROOT / folder).rglob("*.py")
    ),
]
_PROGRAM = re.compile(r"\bpython (?:-m (pacb_models[\w.]*)|([\w/]+/\w+\.py))")
PROGRAMS = sorted({found for path in SHOWN for found in _PROGRAM.findall(path.read_text(encoding="utf-8"))})


@pytest.mark.parametrize(("module", "script"), PROGRAMS, ids="".join)
def test_a_program_that_is_shown_can_be_started(module, script):
    if module:
        assert importlib.util.find_spec(module) is not None
        return
    # By its path a script has no package: it imports nothing relative to one.
    tree = ast.parse((ROOT / script).read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]


def test_programs_are_found():
    assert ("pacb_models.benchmarks.studies.speed.startup", "") in PROGRAMS


@pytest.mark.outside
def test_make_starts_measures_what_its_page_shows():
    page = (ROOT / "docs" / "starts.md").read_text(encoding="utf-8")
    made = subprocess.run(["make", "-n", "starts"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    starts = re.search(r"pacb bench --suite starts --starts (\d+) .*--page docs/starts\.md", made)
    assert starts and f"at {starts[1]} random posteriors" in page


@pytest.mark.outside
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
