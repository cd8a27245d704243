"""The examples in docstrings, run by module name.

pytest's own collection goes by path and would import the modules of ``solvers`` and ``benchmarks``, which are mapped
into ``pacb_models``, a second time under another name.
"""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Scripts that are run from a checkout: importing them would run them.
SCRIPTS = ("benchmarks/studies/speed", "benchmarks/benchopt")


def module_names() -> list[str]:
    """Every module of the three folders that has an example, as it is imported."""
    names = []
    for folder in ("pacb_models", "solvers", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            relative = path.relative_to(ROOT)
            if any(relative.is_relative_to(script) for script in SCRIPTS) or ">>> " not in path.read_text("utf-8"):
                continue
            parts = relative.with_suffix("").parts if path.name != "__init__.py" else relative.parent.parts
            names.append(".".join(parts if parts[0] == "pacb_models" else ("pacb_models", *parts)))
    return names


@pytest.mark.long
@pytest.mark.parametrize("name", module_names())
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), report=True)
    assert result.attempted, f"{name} shows examples that doctest does not find"
    assert not result.failed
