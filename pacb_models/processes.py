"""joblib's processes, which would outlive us by five minutes when we are told to end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def ended_with_us() -> Iterator[None]:
    """While it lasts, SIGTERM ends joblib's processes as well as this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> None:
    # Where joblib started none, its module need not be loaded.
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    for process in list(getattr(getattr(loky, "_executor", None), "_processes", {})):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
