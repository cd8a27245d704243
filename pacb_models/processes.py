"""Processes that we start, which end with us: other people's code runs there, or joblib's work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, TypeVar

from .plugins import described

#: Seconds between looks at whether a process is still there.
_LOOK = 0.02

Result = TypeVar("Result")


class Ended(Exception):
    """A process ended without an answer; the message is a clause that says how."""


def apart(work: Callable[..., Result], *arguments: Any) -> Result:
    """``work(*arguments)`` in a new process, which may end, or change its own code, as it likes."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(its, work, *arguments))
    with ended_with_us():
        child.start()
        its.close()
        try:
            # What it started may hold the pipe open, whose end then says nothing.
            while child.is_alive() and not ours.poll(_LOOK):
                pass
            if not ours.poll():
                raise EOFError
            returned, found = ours.recv()
        except EOFError:
            child.join()
            raise Ended(f"it ended its process with exit code {child.exitcode}") from None
        finally:
            child.kill()
            child.join()
    if not returned:
        raise found
    return found


def _send(pipe: Connection, work: Callable[..., Any], *arguments: Any) -> None:
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        found: tuple[bool, Any] = True, work(*arguments)
    except BaseException as reason:
        found = False, reason
    try:
        pipe.send(found)
    except Exception as reason:
        pipe.send((False, Ended(f"what it returned cannot be sent to another process ({described(reason)})")))


def _leave_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


@contextmanager
def ended_with_us() -> Iterator[None]:
    """While it lasts, SIGTERM ends the processes that we started, joblib's too, as well as this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> None:
    for process in filter(None, [child.pid for child in multiprocessing.active_children()]):
        # Not by their own method: joblib's have none.
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
