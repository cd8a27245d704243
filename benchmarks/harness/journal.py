"""A file of JSON objects, a line each, appended and flushed, so that work that is stopped loses nothing."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from pacb_models.errors import InputError


class LogError(RuntimeError):
    """The file cannot be written; what it held before is safe."""


class Journal:
    """One file of a directory, written by one process at a time.

    Use it as a context manager. A second process is refused with a sentence while the first is at it; a lock left by a
    killed process is no lock, since the system drops it with the process. What a killed process left of its last line
    stays until something is appended: work that is refused changes nothing.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: IO[str]
        self._file: io.BufferedWriter | None = None

    def __enter__(self) -> Self:
        directory = self.path.parent
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = open(directory / ".lock", "w")
        except OSError as reason:
            raise InputError(f"cannot write to the directory {str(directory)!r}: {reason.strerror}.") from None
        try:
            import fcntl  # where there is one: a log is written on POSIX systems only

            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InputError(
                f"another run is writing to {directory}; wait for it or choose another directory with --out."
            ) from None
        if self.path.exists() and not os.access(self.path, os.W_OK):
            self._lock.close()
            raise InputError(f"cannot write {str(self.path)!r}: it is not writable.")
        return self

    def append(self, entry: dict[str, Any]) -> None:
        """Write one line and make sure that it is on disk."""
        line = json.dumps(entry, allow_nan=False).encode() + b"\n"
        try:
            if self._file is None:
                _mend(self.path)
                self._file = open(self.path, "ab")
            before = os.fstat(self._file.fileno()).st_size
            try:
                self._file.write(line)
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError:
                # What did not fit on the disk is dropped, from the buffer too, and what fitted with it.
                full, self._file = self._file, open(os.dup(self._file.fileno()), "ab")
                with suppress(OSError):
                    full.close()
                os.ftruncate(self._file.fileno(), before)
                raise
        except OSError as reason:
            raise LogError(f"cannot write {str(self.path)!r}: {reason.strerror}") from None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
        self._lock.close()


def _mend(path: Path) -> None:
    """Cut off what is left of a last line; or end it, where only its end is missing."""
    with suppress(FileNotFoundError):
        content = path.read_bytes()
        whole = sum(len(line) + 1 for line in whole_lines(content))
        if whole < len(content):
            os.truncate(path, whole)
        elif whole > len(content):
            with open(path, "ab") as file:
                file.write(b"\n")


def whole_lines(content: bytes) -> list[bytes]:
    """The lines of a journal without what a killed process may have left of its last one."""
    *lines, last = content.split(b"\n")
    try:
        return [*lines, last] if isinstance(json.loads(last), dict) else lines
    except (ValueError, RecursionError):
        return lines


def entries(path: str | Path) -> list[dict[str, Any]]:
    """What a journal holds; nothing where there is none. A line that is no JSON object is named."""
    try:
        lines = whole_lines(Path(path).read_bytes())
    except FileNotFoundError:
        return []
    except OSError as reason:
        raise InputError(f"cannot read {str(path)!r}: {reason.strerror}.") from None
    return [_parsed(line, path, number) for number, line in enumerate(lines, 1)]


def _parsed(line: bytes, path: str | Path, number: int) -> dict[str, Any]:
    """A line as a JSON object; a sentence that names it when it is none."""
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        if isinstance(found, dict):
            return found
    raise InputError(f"{path}, line {number} is not a result row: it is no JSON object.")


def kept(
    path: str | Path,
    keys: Sequence[str],
    compute: Callable[[Sequence[str]], Iterable[tuple[str, Any]]],
    resume: bool,
) -> Iterator[tuple[str, Any]]:
    """The result of each key: first those that the file holds, then the others as they are computed.

    Each is in the file before it is handed over, so that work that is stopped can go on. Results are JSON.
    """
    with Journal(path) as journal:
        try:
            known = {entry["key"]: entry["result"] for entry in entries(path)}
        except KeyError:
            raise InputError(f"{str(path)!r} has lines that are not ours; choose another directory.") from None
        if known and not resume:
            raise InputError(f"{str(path)!r} holds results already; go on with --resume or choose another directory.")
        yield from ((key, known[key]) for key in keys if key in known)
        for key, result in compute([key for key in keys if key not in known]):
            journal.append({"key": key, "result": result})
            yield key, result
