"""Standard streams as they may be: closed, full, of an encoding without our letters, read by someone who left."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO


def prepare() -> None:
    """Make the output streams take every character, and be there."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by the shell (>&-). A file that is opened later must not get the stream's number.
            setattr(sys, name, open(os.devnull, "w"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def chatter_among_errors() -> Iterator[None]:
    """Send meanwhile what solvers and their libraries print to standard error: standard output is our answer's."""
    sys.stdout.flush()
    before = os.dup(1)
    try:
        os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(before, 1)
        os.close(before)


def flush(stream: TextIO, name: str) -> None:
    """Write what is left of a stream; where that fails, an OSError that names it."""
    try:
        stream.flush()
    except OSError as reason:
        # The rest goes nowhere: else the interpreter would try again when it leaves, and leave with 120.
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), stream.fileno())
        raise OSError(reason.errno, reason.strerror, name) from None
