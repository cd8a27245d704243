"""Files are written whole or not at all, and whatever is wrong with one that is read is one sentence."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path

from .errors import InputError
from .plugins import exception_text


@contextmanager
def reading(source: object, what: str = "") -> Iterator[None]:
    """Make one sentence, with the name of the source, of whatever is raised while it is read.

    Only an interrupt and lack of memory stay what they are. ``what`` says what is read.
    """
    try:
        yield
    except InputError as reason:
        named = str(source) in str(reason)
        raise (reason if named else type(reason)(f"{source}: {reason}")) from None
    except MemoryError:
        raise
    except Exception as reason:
        raise InputError(f"cannot read {what}{str(source)!r}: {_why(reason)}.") from None


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as reason:
        raise InputError(f"cannot write {str(path)!r}: {_why(reason)}.") from None


def _why(reason: Exception) -> str:
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    if isinstance(reason, JSONDecodeError):
        return f"it is not JSON ({reason})"
    # A name with a zero byte, for instance, is a ValueError.
    return "it is not a text file in UTF-8" if isinstance(reason, UnicodeDecodeError) else exception_text(reason)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write ``content`` (text as UTF-8) to a temporary file beside ``path`` and move it into place."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    # Not tempfile's: that ignores the umask and would make every file private.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            # A device or a pipe is written to: root could move a file over /dev/null, and all programs would lose it.
            path.write_bytes(data)
            return
        try:
            temporary.write_bytes(data)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def held(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes of ours from making the same file meanwhile: the second is refused with a sentence."""
    from filelock import FileLock, Timeout

    path = Path(path)
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(f"another process is making {str(path)!r}; wait for it, or choose another file.") from None
    try:
        yield
    finally:
        # Removed while it is held: the next process makes another.
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def check_writable(name: str, path: str | os.PathLike[str]) -> None:
    """Refuse a file that cannot be written, before anything is computed for it; ``name`` is the option it came in."""
    target = Path(path)
    if not str(path):
        raise InputError(f"{name} is ''; it must be the name of a file.")
    folder = next(parent for parent in target.absolute().parents if parent.exists())
    writable = all(os.access(place, os.W_OK) for place in (folder, target) if place.exists())
    if target.is_dir() or not folder.is_dir() or not writable:
        raise InputError(name, str(path), "it cannot be written there")
