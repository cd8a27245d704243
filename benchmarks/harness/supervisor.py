"""What a measuring process runs under: a program that ends everything with it.

Orphans of the measuring process become children of this one (Linux calls it a child subreaper), also those that forked
twice and began a session of their own. A solver that ends this program itself, by its number, gets away.

It is run as a script, and forks before anything else is imported: it stays small and never runs another package's code.
"""

import ctypes
import json
import os
import signal
import sys
import time
from contextlib import suppress

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
#: Seconds between looks at whether the runner is still there.
_LOOK = 1.0


def descendants(process: int) -> list[int]:
    """Return the living processes that descend from one, by their numbers."""
    parents: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue  # it has just ended
        if state != b"Z":
            parents.setdefault(int(parent), []).append(int(name))
    found = [process]
    for each in found:
        found += parents.get(each, ())
    return found[1:]


def main(arguments: list[str]) -> None:
    """Fork the measuring process, wait for its end or the runner's, end what is left, and end as it did.

    The arguments: the runner's search path and process, then those of :func:`.worker.main`, the end of the pipe first.
    """
    path, runner, *rest = arguments
    control = ctypes.CDLL(None).prctl
    control(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    import resource  # not on every system, and only measuring needs it

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    awaited = {signal.SIGCHLD, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    measuring = os.fork()
    if measuring == 0:
        control(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        sys.path += [entry for entry in json.loads(path) if entry not in sys.path]
        from pacb_models.benchmarks.harness.worker import main as measure

        measure(rest)
        return
    os.close(int(rest[0]))
    status = None
    while status is None:
        received = signal.sigtimedwait(awaited, _LOOK)
        told = received is not None and received.si_signo == signal.SIGTERM
        status = int(signal.SIGTERM) if told or os.getppid() != int(runner) else _ended_children().get(measuring)
    # Also those that they start meanwhile.
    while left := descendants(os.getpid()):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.005)
        _ended_children()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def _ended_children() -> dict[int, int]:
    """Return children that have ended since the last time, with their wait statuses."""
    found = {}
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found[ended[0]] = ended[1]
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
