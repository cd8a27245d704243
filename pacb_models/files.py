"""Writing files so that a reader, or a crash, never sees half of one, and no two processes write the same."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write ``content`` (text as UTF-8) to a temporary file beside ``path`` and move it into place."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    # Not tempfile's: that ignores the umask and would make every file private.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            # A device or a pipe is written to: root could move a file over /dev/null, and everybody would lose it.
            path.write_bytes(data)
            return
        try:
            temporary.write_bytes(data)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as reason:
        raise InputError(f"cannot write {str(path)!r}: {reason.strerror}.") from None


@contextmanager
def held(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes of ours from making the same file meanwhile: the second is refused with a sentence.

    The system drops the lock of a process that is killed.
    """
    import fcntl

    path = Path(path)
    lock = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whoever removes the file holds the lock: a lock on a file that is gone is none.
        while True:
            file = open(lock, "w")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.exists() and os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                break
            file.close()
    except BlockingIOError:
        file.close()
        raise InputError(f"another process is making {str(path)!r}; wait for it, or choose another file.") from None
    except OSError as reason:
        raise InputError(f"cannot write {str(path)!r}: {reason.strerror}.") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        file.close()


def check_writable(name: str, path: str | os.PathLike[str]) -> None:
    """Refuse a file that cannot be written, before anything is computed for it; ``name`` is the option it came in."""
    target = Path(path)
    if not str(path):
        raise InputError(f"{name} is ''; it must be the name of a file.")
    folder = next(parent for parent in target.absolute().parents if parent.exists())
    writable = os.access(target, os.W_OK) if target.exists() else True
    if target.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK) or not writable:
        raise InputError(f"{name} is {str(path)!r}; it cannot be written there.")
