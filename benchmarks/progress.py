"""How far work has come, on standard error: a bar on a terminal, a line for each twentieth elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

#: Called with what is done, how many steps of it, of how many, and if need be a remark.
Show = Callable[..., None]


def silent(*words: object) -> None:
    """Tell nobody."""


@contextmanager
def progress_shown(lines: bool = True) -> Iterator[Show]:
    """Give a function ``show(what, done, total, remark="")``; without ``lines`` it says nothing unless somebody
    watches."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        started, last = time.monotonic(), ("", -1)

        def in_lines(what: str, done: int, total: int, remark: str = "") -> None:
            nonlocal last
            if (now := (what, 20 * done // max(total, 1))) != last:
                last = now
                words = f"{time.monotonic() - started:7.1f} s  {what}: {done} of {total}{remark and ', '}{remark}"
                print(words, file=sys.stderr, flush=True)

        yield in_lines if lines else silent
        return
    from rich import progress
    from rich.console import Console

    what, remark, left = map(progress.TextColumn, ("{task.description:<28}", "{task.fields[remark]}", "left"))
    times = (progress.TimeElapsedColumn(), left, progress.TimeRemainingColumn())
    columns = (what, progress.BarColumn(), progress.MofNCompleteColumn(), remark, *times)
    with progress.Progress(*columns, console=Console(stderr=True), transient=not lines) as bar:
        tasks: dict[str, progress.TaskID] = {}

        def show(what: str, done: int, total: int, remark: str = "") -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total, remark=remark)
            bar.update(tasks[what], completed=done, total=total, remark=remark)

        yield show
