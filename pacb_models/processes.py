"""Processes that we start, joblib's too, which end with us."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def ended_with_us() -> Iterator[None]:
    """Let SIGTERM and SIGHUP meanwhile end the processes that we started, joblib's too, as well as this one."""

    def end(number: int, frame: FrameType | None) -> None:
        for process in filter(None, [child.pid for child in multiprocessing.active_children()]):
            # Not by their own method: joblib's have none.
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    with _answered_by(end):
        yield


class _Told(BaseException):
    """A signal told this process to end."""


@contextmanager
def closed_before_the_end() -> Iterator[None]:
    """Let SIGTERM and SIGHUP meanwhile end this process only after what was opened in this context is closed."""

    def unwind(number: int, frame: FrameType | None) -> None:
        raise _Told(number)

    try:
        with _answered_by(unwind):
            yield
    except _Told as told:
        os.kill(os.getpid(), told.args[0])
        raise


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let SIGTERM and SIGHUP wait meanwhile: what is started here is known before anything answers them."""
    told: list[int] = []
    with _answered_by(lambda number, frame: told.append(number)):
        yield
    for number in told:
        os.kill(os.getpid(), number)


@contextmanager
def _answered_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Answer signals that tell a process to end so meanwhile, but for those that are ignored (nohup)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
