"""Results in files, each with a fingerprint of all that it was computed from, so that a run can be resumed."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pacb_models.files import write_atomically

from .item import Item, Results
from .study import Study


class Cache:
    """The result files of one output directory."""

    def __init__(self, directory: Path):
        self.directory = directory

    def load(self, item: Item, fingerprint: str) -> dict[str, Any] | None:
        """The result of an earlier run with the same fingerprint, if there is one."""
        try:
            content = json.loads(self._path(item).read_text(encoding="utf-8"))
            return content["result"] if content["fingerprint"] == fingerprint else None
        except (OSError, ValueError, KeyError, TypeError):
            # A file that is missing or broken is made again.
            return None

    def store(self, item: Item, fingerprint: str, result: dict[str, Any]) -> None:
        """Keep a result."""
        content = {"name": item.name, "fingerprint": fingerprint, "result": result}
        write_atomically(self._path(item), json.dumps(content, allow_nan=False, indent=1) + "\n")

    def forget_partial(self) -> None:
        """Remove what was kept of a result while it was computed."""
        for path in self.directory.glob("*.partial"):
            path.unlink()

    def _path(self, item: Item) -> Path:
        return self.directory / f"{item.name}.json"


def fingerprint(item: Item, study: Study, needed: Results) -> str:
    """A digest of the code, the risk tables, the settings that matter to the item, and the results it builds upon."""
    digest = hashlib.sha256(_code().encode())
    settings = [item.name, *(str(getattr(study, name)) for name in item.uses)]
    for text in (*settings, study.tables_digest, json.dumps([needed[name] for name in item.needs])):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _code() -> str:
    """A digest of every file that can change any result: the three packages' modules and the printed numbers."""
    digest = hashlib.sha256()
    for package in ("pacb_models", "pacb_models.solvers", "pacb_models.benchmarks.paper"):
        for path in sorted(Path(str(files(package))).rglob("*.py")):
            digest.update(path.read_bytes())
    digest.update((files("pacb_models.benchmarks.paper") / "printed.csv").read_bytes())
    return digest.hexdigest()
