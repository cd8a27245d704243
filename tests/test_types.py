"""Types: what mypy is told to overlook is little and has its reason, and public arrays say what they hold."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import pacb_models

pytestmark = pytest.mark.outside

ROOT = Path(__file__).resolve().parent.parent
IGNORED = "# type: " + "ignore"


def sources():
    folders = ("pacb_models", "solvers", "benchmarks")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_exceptions_are_few_and_say_why():
    """One rule each, a comment beside or above; how many there are stands on the page about testing."""
    excepted = []
    for path in sources():
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if IGNORED in line:
                above = "\n".join(lines[max(number - 2, 0) : number])
                assert re.search(rf"{IGNORED}\[[a-z-]+\]$", line) and "# " in above, f"{path.name}:{number + 1}"
                excepted.append(path)
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    assert f"`{IGNORED}` stands in {len(excepted)} places" in page


def annotations(thing):
    """(name, annotation as written) of a function, or of the public parts of a class and of those of ours above it."""
    if inspect.isfunction(thing):
        yield from ((f"{thing.__qualname__}({name})", text) for name, text in inspect.get_annotations(thing).items())
    if inspect.isclass(thing):
        for owner in thing.__mro__:
            if owner.__module__.startswith("pacb_models"):
                yield from ((f"{owner.__name__}.{name}", text) for name, text in inspect.get_annotations(owner).items())
                for name, member in vars(owner).items():
                    if not name.startswith("_") or name == "__init__":
                        inner = (getattr(member, part, None) for part in ("__func__", "fget", "func"))
                        yield from annotations(next(filter(inspect.isfunction, inner), member))


@pytest.mark.parametrize("name", pacb_models.__all__)
def test_public_functions_and_arrays_say_what_they_return_and_hold(name):
    """Any as a return type switches a user's type checker off; a bare np.ndarray, or an object, tells it nothing."""
    written = [(part, str(text)) for part, text in annotations(getattr(pacb_models, name))]
    assert not [part for part, text in written if part.endswith("(return)") and re.search(r"(^|\| )Any\b", text)]
    assert not [part for part, text in written if re.search(r"\bobject\b|ndarray", text)]
