"""Standard streams as they may be: closed, full, of an encoding without our letters, read by someone who left."""

from __future__ import annotations

import io
import os
import sys


def prepare() -> None:
    """Make the output streams take every character, and be there."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by the shell (>&-). A file that is opened later must not get the stream's number.
            setattr(sys, name, open(os.devnull, "w"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Write what is left of standard output; an OSError that says so when that fails."""
    try:
        sys.stdout.flush()
    except OSError as reason:
        _abandon_output()
        raise OSError(reason.errno, reason.strerror, "standard output") from None


def _abandon_output() -> None:
    """Let the rest of standard output go nowhere; else the interpreter would try again when it leaves."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def read_standard_input() -> str:
    """All of standard input, which is UTF-8; OSError or UnicodeDecodeError when it cannot be read."""
    if sys.stdin is None:
        raise OSError(None, "it is closed")
    return sys.stdin.buffer.read().decode() if hasattr(sys.stdin, "buffer") else sys.stdin.read()
