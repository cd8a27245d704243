"""Every erratum has a script, which the page shows; the test of the page compares what it prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted((ROOT / "examples" / "errata").glob("*.py"))
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
#: About what a theorem says: there is nothing to compute.
WITHOUT = {29}


def test_every_item_shows_its_script():
    items = {int(part.split(".")[0]): part for part in re.split(r"^#{2,3} (?=\d+\. )", PAGE, flags=re.MULTILINE)[1:]}
    shown = {number: re.findall(r"^\$ python (\S+)$", text, re.MULTILINE) for number, text in items.items()}
    assert {number for number, scripts in shown.items() if not scripts} == WITHOUT
    named = [str(path.relative_to(ROOT)) for path in SCRIPTS]
    assert sorted(script for scripts in shown.values() for script in scripts) == named
    assert all(Path(scripts[0]).name.startswith(f"{number:02}_") for number, scripts in shown.items() if scripts)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_says_what_it_checks(script):
    text = script.read_text(encoding="utf-8")
    assert text.startswith('"""') and len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.outside
def test_a_script_runs_from_any_directory(tmp_path):
    done = subprocess.run([sys.executable, SCRIPTS[0]], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout in PAGE and not done.stderr
