"""The recipes of docs/recipes.md, followed to the letter in a copy of the tree that is then installed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .run_page import Block, blocks_of, run_shell
from .test_wheel import NOT_SOURCE

# The first test copies and installs the tree.
pytestmark = [pytest.mark.outside, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parent.parent
#: Files that a recipe takes from another page.
MOVED = {
    "pacb_models/divergences/mixed.py": ("extending.md", "mixed.py"),
    "solvers/first_order/conditional.py": ("your-solver.md", "conditional.py"),
}


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


RECIPES = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page("recipes.md"), re.MULTILINE | re.DOTALL))


def changed(text: str, difference: str) -> str:
    """The text with a shown change, whose old lines stand there once each."""
    lines, position = text.splitlines(), 0
    for line in difference.splitlines():
        sign, content = line[:1], line[1:]
        if sign == "+":
            lines.insert(position, content)
            position += 1
            continue
        assert lines.count(content) == 1, f"{lines.count(content)} lines are {content!r}"
        position = lines.index(content)
        if sign == "-":
            del lines[position]
        else:
            position += 1
    return "\n".join(lines) + "\n"


def follow(block: Block, tree: Path) -> None:
    """Write the file of a block, or change it."""
    target = tree / block.title
    if block.language == "diff":
        target.write_text(changed(target.read_text(encoding="utf-8"), block.text), encoding="utf-8")
    else:
        target.write_text(block.text, encoding="utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree in which all recipes were followed, and the folder it is installed in."""
    folder = tmp_path_factory.mktemp("recipes")
    copy, site = folder / "tree", folder / "site"
    shutil.copytree(ROOT, copy, ignore=NOT_SOURCE, symlinks=True)
    for path, (name, title) in MOVED.items():
        assert path in page("recipes.md")
        [text] = [block.text for block in blocks_of(page(name)) if block.title == title]
        (copy / path).write_text(text, encoding="utf-8")
    for block in blocks_of(page("recipes.md")):
        if block.title:
            follow(block, copy)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", site]
    subprocess.run([*pip, copy], check=True, capture_output=True)
    return copy, site


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works(recipe, tree, monkeypatch):
    copy, site = tree
    [commands] = [block.text for block in blocks_of(RECIPES[recipe]) if block.language == "sh"]
    monkeypatch.chdir(copy)
    monkeypatch.setenv("PYTHONPATH", str(site))
    assert "skipped" not in run_shell(commands)


def test_a_change_that_does_not_fit_is_noticed():
    assert changed("a\nb\nc\n", " a\n+x\n-c\n") == "a\nx\nb\n"
    with pytest.raises(AssertionError, match="0 lines are 'd'"):
        changed("a\nb\n", "-d\n")
