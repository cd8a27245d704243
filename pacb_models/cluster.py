"""Work on the workers of a Dask scheduler, which may lack our code, lose their connection, or die.

:func:`spread` hands items to a cluster and yields the results as they finish. What the items have in common is sent to
each worker once. A worker that dies costs what it was doing, which is done again elsewhere; a scheduler that dies, or
one that has no workers for a while, ends the work with a sentence, and what was yielded before is the caller's to keep.
"""

from __future__ import annotations

import sys
import time
from asyncio import CancelledError
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from . import __version__
from .errors import InputError, RunStopped
from .plugins import described

#: Seconds without any Dask worker after which work is stopped.
PATIENCE = 60.0
#: Seconds between looks at what has finished.
PAUSE = 0.05

#: How often a fit is begun whose workers die.
ATTEMPTS = 3

Item = TypeVar("Item")
Result = TypeVar("Result")
Tell = Callable[[str], None]


def say(text: str) -> None:
    """On standard error, where progress is shown."""
    print(f"pacb: {text}", file=sys.stderr, flush=True)


def spread(
    function: Callable[..., Any],
    items: Iterable[Item],
    address: str,
    *,
    shared: Any = None,
    tell: Tell = say,
    check: Callable[[Any], None] | None = None,
    failed: Callable[[BaseException], Any] | None = None,
    finish: Callable[[Any], None] | None = None,
) -> Generator[tuple[Item, Any], None, None]:
    """``function(item)``, or ``function(shared, item)``, of every item on a cluster, with the item, as they finish.

    Parameters
    ----------
    function : callable
        At the top of a module that the workers can import.
    items : iterable
    address : str
        Of the scheduler, as in ``tcp://host:8786``.
    shared : object, optional
        Sent to each worker once and kept there: what it caches is cached once per worker.
    tell : callable
        Called with a sentence when there is something to say, for instance that no worker is left; by default on
        standard error.
    check : callable, optional
        Called with the client before anything is sent; by default :func:`check_version`.
    failed : callable, optional
        Turns the exception of an item into its result; without it the exception ends the work.
    finish : callable, optional
        Called with the client at the end, whatever happened.
    """
    client = connect(address)
    try:
        with _Watch(client, address, tell) as watch:
            watch.wait_for_workers()
            (check or check_version)(client)
            common = _send(client, shared)
            waiting = list(reversed(list(items)))
            pending: dict[Any, Item] = {}
            while waiting or pending:
                # A few more than can run at a time: what is not submitted yet is not lost with the scheduler.
                while waiting and len(pending) < 2 * watch.threads + 2:
                    item = waiting.pop()
                    pending[client.submit(function, *common, item, pure=False)] = item
                for future in [future for future in pending if future.status != "pending"]:
                    found = _result(future, failed)
                    item = pending.pop(future)
                    if found is None:
                        waiting.append(item)
                    else:
                        yield item, found[0]
                if watch.look() and any(future.status != "finished" for future in common):
                    # It went with the last worker that had it; the next one may be gone before it gets it.
                    with suppress(TimeoutError):
                        common = _send(client, shared)
                time.sleep(PAUSE)
    finally:
        if finish is not None:
            with suppress(Exception):
                finish(client)
        client.close(timeout=5)


def _send(client: Any, shared: Any) -> list[Any]:
    """What is sent to every worker, as futures; in a list, since of a dict or a list each entry would be sent alone."""
    return [] if shared is None else client.scatter([shared], broadcast=True)


def connect(address: str) -> Any:
    """A client of the scheduler."""
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise InputError("--dask needs the package distributed: pip install 'pacb-models[dask]'.") from None
    try:
        # What is no address at all would leave half a client behind, which takes long to leave and leaves a traceback.
        get_address_host_port(address)
        return Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as reason:
        raise InputError(f"--dask is {address!r}; no Dask scheduler answers there ({reason}).") from None


@contextmanager
def joblib_on(address: str | None) -> Iterator[None]:
    """While it lasts joblib, and so the fits of estimators, runs on the cluster; without an address, as ever."""
    if address is None:
        yield
        return
    from joblib import parallel_config

    client = connect(address)
    try:
        with _Watch(client, address, say) as watch:
            watch.wait_for_workers()
            check_version(client)
            with client.as_current(), parallel_config(backend="dask"):
                yield
    finally:
        client.close(timeout=5)


def fitted_on(address: str | None, fit: Callable[[], Result]) -> Result:
    """``fit()`` with joblib on the cluster; without an address, as ever.

    joblib keeps data and results on one worker each, and does not notice when they are gone: the fit begins anew.
    """
    if address is None:
        return fit()
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    for _ in range(ATTEMPTS):
        try:
            with joblib_on(address):
                return fit()
        except (KilledWorker, FutureCancelledError):
            say("a Dask worker died, and with it what joblib had there; training begins anew")
    raise RunStopped(f"Dask workers at {address} died in each of {ATTEMPTS} attempts")


def check_version(client: Any) -> None:
    """Refuse, before anything is sent, workers without this version of the package."""
    check_workers(client, version_complaint, __version__)


def check_workers(client: Any, complaint: Callable[..., str], *arguments: Any) -> None:
    """Ask every worker for its complaint; a sentence that names the worker when there is one."""
    try:
        found = client.run(complaint, *arguments)
    except Exception as reason:
        raise InputError(f"--dask: the workers cannot run pacb-models {__version__} ({described(reason)}).") from None
    for worker, text in found.items():
        if text:
            raise InputError(f"--dask: the worker {worker} {text}; install there what is installed here.")


def version_complaint(version: str) -> str:
    """What a worker, where this runs, says of its own version; empty when it is the one asked for."""
    return "" if __version__ == version else f"has pacb-models {__version__}, not {version}"


def _result(future: Any, failed: Callable[[BaseException], Any] | None) -> tuple[Any] | None:
    """What came out, in a tuple; None when it was lost with the worker that had it, and must be done again."""
    from distributed import KilledWorker
    from distributed import TimeoutError as TooLate
    from distributed.client import FutureCancelledError

    if future.status == "error":
        reason = future.exception()
        if failed is None:
            if isinstance(reason, KilledWorker):
                raise RunStopped(f"several Dask workers died of the same work: {described(reason)}") from None
            raise reason
        return (failed(reason),)
    if future.status == "finished":
        with suppress(TooLate, CancelledError, FutureCancelledError):
            return (future.result(timeout=2.0),)
    return None


class _Watch:
    """Looks after the scheduler and its workers; Dask itself would wait for ever, without a word."""

    def __init__(self, client: Any, address: str, tell: Tell) -> None:
        import logging

        self._client, self._address, self._tell = client, address, tell
        self._absent_since: float | None = None
        # Dask's own words on a lost connection are tracebacks; ours is a sentence.
        self._loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
        self._levels = [logger.level for logger in self._loggers]

    def __enter__(self) -> _Watch:
        for logger in self._loggers:
            logger.setLevel("CRITICAL")
        return self

    def __exit__(self, *_: object) -> None:
        for logger, level in zip(self._loggers, self._levels, strict=True):
            logger.setLevel(level)

    @property
    def threads(self) -> int:
        """How many items can be worked on at the same time."""
        return sum(worker["nthreads"] for worker in self._workers().values())

    def _workers(self) -> dict[str, Any]:
        if self._client.status != "running":
            raise RunStopped(f"the Dask scheduler at {self._address} is gone")
        return self._client.scheduler_info(n_workers=-1)["workers"]

    def look(self) -> bool:
        """Whether there are workers; says when none is left, and stops after a while."""
        if self._workers():
            self._absent_since = None
            return True
        if self._absent_since is None:
            self._absent_since = time.monotonic()
            self._tell(f"the Dask scheduler at {self._address} has no workers; waiting {PATIENCE:g} s for one")
        elif time.monotonic() - self._absent_since > PATIENCE:
            raise RunStopped(f"the Dask scheduler at {self._address} had no workers for {PATIENCE:g} s")
        return False

    def wait_for_workers(self) -> None:
        """Return when there is a worker."""
        while not self.look():
            time.sleep(PAUSE)
