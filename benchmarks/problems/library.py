"""The library: exported problems, their proofs and the checker as one archive that needs no package."""

from __future__ import annotations

import inspect
import io
import json
import tarfile
from collections.abc import Iterable, Sequence
from importlib.resources import files as resources
from pathlib import Path
from string import Template
from typing import Any

from pacb_models import __version__
from pacb_models.files import write_atomically
from pacb_models.proofs import moments, verify, votes

from .export import PROOF
from .families import every_instance

#: Two minima nearer than this are one.
SAME = 1e-9

#: What an entry of the index repeats of a problem's own file.
REPEATED = ("name", "problem_kind", "dataset", "H", "m", "delta", "distance", "divergence", "order", "optimum")


def pack(directory: str | Path, written: Sequence[Path], path: str | Path, largest: int) -> None:
    """Write an index, a page for readers and the checker beside exported problems, and pack them all.

    Parameters
    ----------
    directory : path
        Where the problems were written.
    written : sequence of path
        Their files.
    path : path
        The archive, ``.tar.xz``.
    largest : int
        Larger problems have no models.
    """
    entries = index(written)
    checker = inspect.getsource(verify)
    page = Template(resources(__package__).joinpath("library.md").read_text(encoding="utf-8"))
    facts = {"count": len(entries), "largest": largest, "lines": len(checker.splitlines()), "version": __version__}
    added = {
        "index.json": json.dumps({"written_by": f"pacb-models {__version__}", "problems": entries}, indent=1) + "\n",
        "README.md": page.substitute(facts),
        "verify.py": checker,
        "votes.py": inspect.getsource(votes),
        "moments.py": inspect.getsource(moments),
    }
    for name, text in added.items():
        write_atomically(Path(directory) / name, text)
    archive(directory, [*written, *(Path(directory) / name for name in added)], path)


def index(written: Iterable[Path]) -> list[dict[str, object]]:
    """An entry for each problem among some files: what it is, its optimum with the proof, and its local minima."""
    known = {file.name: file for file in written}
    entries = []
    for name, file in sorted(known.items()):
        if not name.endswith(".json") or name.endswith((PROOF, ".clarabel.json")):
            continue
        record = json.loads(file.read_bytes())
        entry = {field: record[field] for field in REPEATED}
        entry["constraints"] = [each["kind"] for each in record.get("constraints", ())]
        entry["local_minima"] = _known_minima(record)
        if record["proof"] is not None:
            proof = json.loads(known[record["proof"]].read_bytes())
            entry["lower_bound"], entry["proof_digest"] = proof["lower_bound"], proof["problem_digest"]
            entry["gap"] = proof["bound"] - proof["lower_bound"]
        entry["files"] = [each for each in sorted(known) if each.startswith(f"{name.removesuffix('.json')}.")]
        entries.append(entry)
    return entries


def _known_minima(record: dict[str, Any]) -> list[float]:
    """Bounds of local minima, best first: those that were met, and the second one of a frozen problem."""
    found = [minimum["bound"] for minimum in record["local_minima"]]
    second = {frozen.name: frozen.second_minimum for frozen in every_instance()}.get(record["name"])
    # Minima that a proof does not need may not be met.
    if second is not None and min((abs(each - second) for each in found), default=0.0) > SAME:
        found.append(second)
    return sorted(found)


def archive(directory: str | Path, files: Iterable[Path], path: str | Path) -> None:
    """Pack files of a directory into a ``.tar.xz``: the same bytes from the same files, without dates and owners."""
    buffer = io.BytesIO()
    # Level 1: the default takes minutes for a collection of 150 MB, which this level makes 17 MB.
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=1) as packed:
        for file in sorted(files):
            entry = tarfile.TarInfo(f"{Path(path).name.removesuffix('.tar.xz')}/{file.relative_to(directory)}")
            entry.size = file.stat().st_size
            with file.open("rb") as content:
                packed.addfile(entry, content)
    write_atomically(path, buffer.getvalue())
