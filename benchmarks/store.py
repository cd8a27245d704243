"""The store of all work that lasts: keys and rows in one file of JSON lines. What it holds is not computed again.

A key is a :func:`digest` of what determines the row: the data, the solver with its software and settings, the seed, and
for what our own code computes a version number, which is raised when results change. Rows are JSON.
"""

import hashlib
import json
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from pacb_models.errors import InputError, RunStopped
from pacb_models.files import held, reading

Job = TypeVar("Job")

#: How every line begins.
_BEGINNING = b'{"key": "'


class Store:
    """The file, written by one process at a time, as a context manager; ``rows`` has the newest row of every key.

    A row is on disk when :meth:`add` returns. A last line that a killed process left torn is moved to ``NAME.cut``.
    """

    def __init__(self, path: str | os.PathLike[str], resume: bool = False) -> None:
        self.path, self._resume = Path(path), resume
        self.rows: dict[str, Any] = {}
        self._file: FileIO | None = None

    def __enter__(self) -> Self:
        with ExitStack() as self._stack:
            self._stack.enter_context(held(self.path))
            self.rows = rows_of(self.path)
            if self.rows and not self._resume:
                raise InputError(f"{str(self.path)!r} holds results already; resume, or choose another place.")
            if self.path.exists():
                try:
                    self._file = self._opened()
                except PermissionError as reason:
                    raise InputError(f"cannot write {str(self.path)!r}: {reason.strerror}.") from None
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, key: str, row: Any) -> None:
        """Write one row and make sure that it is on disk; RunStopped when it cannot be."""
        line = json.dumps({"key": key, "row": row}, allow_nan=False).encode() + b"\n"
        try:
            self._file = self._file or self._opened()
            found = os.fstat(self._file.fileno())
            # Nobody would find what goes on being written to a file without a name.
            if not (self.path.exists() and os.path.samestat(found, self.path.stat())):
                raise RunStopped(f"{str(self.path)!r} was deleted or moved while rows were written to it")
            try:
                # Without a buffer: of what does not fit on the disk, nothing may be written later.
                while line:
                    line = line[self._file.write(line) :]
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(found.st_size)
                raise
        except OSError as reason:
            raise RunStopped(f"cannot write {str(self.path)!r}: {reason.strerror}") from None
        self.rows[key] = row

    def _opened(self) -> FileIO:
        """Return the file at its end: what is left of a last line is cut off, and one without its line break gets
        it."""
        file = self._stack.enter_context(open(self.path, "ab", buffering=0))
        content = self.path.read_bytes()
        size = sum(len(line) + 1 for line in _lines(content))
        if size < len(content):
            with open(f"{self.path}.cut", "ab") as aside:
                aside.write(content[size:] + b"\n")
            file.truncate(size)
        elif size > len(content):
            file.write(b"\n")
        return file


def rows_of(path: str | Path) -> dict[str, Any]:
    """Return the newest row of every key, in the order of first appearance; nothing where there is no file."""
    path = Path(path)
    with reading(path):
        content = path.read_bytes() if path.exists() else b""
    if not content.startswith(_BEGINNING[: len(content)]):
        raise InputError(f"{str(path)!r} does not begin as our results do; choose another place.")
    found: dict[str, Any] = {}
    for number, line in enumerate(_lines(content), 1):
        if (entry := _entry(line)) is None:
            raise InputError(f"{path}, line {number} is no row of ours.")
        found[entry["key"]] = entry["row"]
    return found


def _lines(content: bytes) -> list[bytes]:
    """Return the lines, without what a killed process may have left of the last one."""
    *lines, last = content.split(b"\n")
    return lines if _entry(last) is None else [*lines, last]


def _entry(line: bytes) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        return found if isinstance(found, dict) and isinstance(found.get("key"), str) and "row" in found else None
    return None


def kept(
    path: str | os.PathLike[str] | None,
    tasks: Mapping[str, Job],
    compute: Callable[[Mapping[str, Job]], Iterable[tuple[str, Any]]],
    resume: bool = False,
) -> Iterator[tuple[str, Any]]:
    """Yield the row of each task by its key: first those that the file holds, then the others as they are computed.

    Each is in the file before it is handed over: work that is stopped can go on. Without a path, nothing is kept.
    """
    if path is None:
        yield from compute(tasks)
        return
    with Store(path, resume) as store:
        yield from [(key, store.rows[key]) for key in tasks if key in store.rows]
        for key, row in compute({key: task for key, task in tasks.items() if key not in store.rows}):
            store.add(key, row)
            yield key, row


def digest(*parts: object) -> str:
    """Return a short name for exactly these parts: JSON, arrays, recipes, functions by their names."""
    return _hashed(json.dumps(parts, sort_keys=True, default=_content).encode())[:16]


def _content(value: Any) -> Any:
    """Describe what JSON cannot hold: not by its text, which leaves out most of a long array."""
    if isinstance(value, np.ndarray | np.generic):
        return [value.dtype.str, list(value.shape), _hashed(value.tobytes())]
    if hasattr(value, "__qualname__"):
        # A function that moved to another module is the same one.
        return [value.__module__.partition(".")[0], value.__qualname__]
    if hasattr(value, "__dict__"):
        return [type(value), vars(value)]
    return [type(value), _hashed(pickle.dumps(value, protocol=4))]


def _hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
