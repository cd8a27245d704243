"""Writing files so that a reader, or a crash, never sees half of one."""

from __future__ import annotations

import os
import secrets
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
