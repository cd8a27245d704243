"""What ``make mutants`` changes, and which tests it runs, are there."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import mutants  # noqa: E402


def test_every_trusted_part_is_there():
    assert [part for part in mutants.TRUSTED if mutants.target(part) is None] == []


@pytest.mark.parametrize("part", [part for part in mutants.TRUSTED if mutants.target(part)])
def test_every_trusted_part_has_tests(part):
    assert mutants.tests_of(part)


def test_a_part_is_found_where_it_moved(tmp_path):
    (tmp_path / "pacb_models" / "inner").mkdir(parents=True)
    (tmp_path / "pacb_models" / "inner" / "optimality.py").touch()
    (tmp_path / "tests" / "pacb_models").mkdir(parents=True)
    for name, text in (("a", "from pacb_models.inner.optimality import x"), ("optimality", ""), ("b", "optimality")):
        (tmp_path / "tests" / "pacb_models" / f"test_{name}.py").write_text(text)
    assert mutants.target("optimality", tmp_path) == tmp_path / "pacb_models" / "inner" / "optimality.py"
    assert [path.stem for path in mutants.tests_of("optimality", tmp_path)] == ["test_a", "test_optimality"]
