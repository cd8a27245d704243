"""Work on the workers of a Dask scheduler, which may lack our code, lose their connection, stop answering, or die.

:func:`spread` hands items to a cluster and yields the results as they finish. What the items have in common is sent to
each worker once. A worker that dies costs what it was doing, which is done again elsewhere; so does one that does not
answer for :data:`PATIENCE` seconds. A scheduler that dies or does not answer for as long, or one that has no workers,
ends the work with a sentence, and what was yielded before is the caller's to keep.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from . import __version__
from .errors import InputError, RunStopped
from .plugins import described
from .processes import ended_with_us
from .terminal import say

#: Seconds without any Dask worker, or without a sign of life, after which there is no more waiting ...
PATIENCE = 60.0
#: ... and after which there is a word.
SILENCE = 10.0
#: Seconds in which a scheduler must answer.
ANSWER = 10.0
#: Seconds between questions to the scheduler.
PULSE = 0.5
#: Seconds between looks at what has finished.
PAUSE = 0.05
#: Seconds for workers to tidy up and for the client to close, each; when the user interrupts, far fewer.
LEAVING, INTERRUPTED = 5.0, 0.4

#: What says that a result was lost with the worker that had it.
GONE = (asyncio.CancelledError, concurrent.futures.CancelledError)

#: How often a fit is begun whose workers die.
ATTEMPTS = 3

Item = TypeVar("Item")
Result = TypeVar("Result")
Tell = Callable[[str], None]
#: Called with the client and the addresses of workers.
Act = Callable[[Any, list[str]], None]


def spread(
    function: Callable[..., Any],
    items: Iterable[Item],
    address: str,
    *,
    shared: Any = None,
    tell: Tell = say,
    check: Act | None = None,
    failed: Callable[[BaseException], Any] | None = None,
    finish: Act | None = None,
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
        Called with the client and the workers' addresses before anything is sent; by default :func:`check_version`.
    failed : callable, optional
        Turns the exception of an item into its result; without it the exception ends the work.
    finish : callable, optional
        Called with the client and the workers' addresses at the end, whatever happened.
    """
    client = connect(address)
    with _watched(client, address, tell, finish) as watch:
        watch.ask(lambda workers: (check or check_version)(client, workers))
        common = _sent(watch, shared)
        waiting = list(reversed(list(items)))
        pending: dict[Any, Item] = {}
        fetching: dict[Any, Future[Any]] = {}
        while waiting or pending:
            # A few more than can run at a time: what is not submitted yet is not lost with the scheduler.
            while waiting and len(pending) < 2 * watch.threads + 2:
                item = waiting.pop()
                pending[client.submit(function, *common, item, pure=False, **watch.where())] = item
            for future in [future for future in pending if future.status != "pending" and future not in fetching]:
                fetching[future] = _call(_outcome, future, failed)
            for future in [future for future, fetch in fetching.items() if fetch.done()]:
                item, fetch = pending.pop(future), fetching.pop(future)
                if isinstance(fetch.exception(), GONE):
                    waiting.append(item)
                else:
                    yield item, fetch.result()
            if watch.look() and any(future.status != "finished" for future in common):
                # It went with the last worker that had it; the next one may be gone before it gets it.
                common = _sent(watch, shared)
            # Again and again: what the scheduler takes from one that is given up, it may give it again.
            for future in watch.held_up(list(pending)):
                waiting.append(pending.pop(future))
                fetching.pop(future, None)
            time.sleep(PAUSE)


def _sent(watch: _Watch, shared: Any) -> list[Any]:
    """What is sent to every worker, as futures; in a list, since of a dict or a list each entry would be sent alone."""
    if shared is None:
        return []
    while True:
        with suppress(TimeoutError):
            return watch.ask(lambda workers: watch.client.scatter([shared], broadcast=True, workers=workers))


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
        return Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as reason:
        raise InputError(f"--dask is {address!r}; no Dask scheduler answers there ({reason}).") from None


def fitted_on(address: str | None, fit: Callable[[], Result]) -> Result:
    """``fit()`` with joblib on the cluster; without an address, in processes that end with this one.

    joblib keeps data and results on one worker each, and does not notice when they are gone: the fit begins anew.
    """
    if address is None:
        with ended_with_us():
            return fit()
    from distributed import KilledWorker

    for _ in range(ATTEMPTS):
        try:
            return _fitted_on(address, fit)
        except (KilledWorker, *GONE):
            say("a Dask worker died, and with it what joblib had there; training begins anew")
    raise RunStopped(f"Dask workers at {address} died in each of {ATTEMPTS} attempts")


def _fitted_on(address: str, fit: Callable[[], Result]) -> Result:
    client = connect(address)

    def on_cluster() -> Result:
        from joblib import parallel_config

        with client.as_current(), parallel_config(backend="dask"):
            return fit()

    with _watched(client, address, say) as watch:
        watch.ask(lambda workers: check_version(client, workers))
        # In a thread: joblib waits for ever for a worker that does not answer, and is deaf to interrupts meanwhile.
        work = _call(on_cluster)
        while not wait([work], PAUSE).done:
            watch.look()
            for worker in watch.lost():
                raise RunStopped(f"the Dask worker {worker} has not answered for {PATIENCE:g} s")
        if work.exception() is not None and not isinstance(work.exception(), InputError):
            # When the scheduler is gone, the fit may know before the client does.
            for _ in range(round(1.0 / PAUSE)):
                watch.look()
                time.sleep(PAUSE)
        return work.result()


def check_version(client: Any, workers: list[str]) -> None:
    """Refuse, before anything is sent, workers without this version of the package."""
    check_workers(client, workers, version_complaint, __version__)


def check_workers(client: Any, workers: list[str], complaint: Callable[..., str], *arguments: Any) -> None:
    """Ask every worker for its complaint; a sentence that names the worker when there is one."""
    try:
        found = client.run(complaint, *arguments, workers=workers)
    except Exception as reason:
        raise InputError(f"--dask: the workers cannot run pacb-models {__version__} ({described(reason)}).") from None
    for worker, text in found.items():
        if text:
            raise InputError(f"--dask: the worker {worker} {text}; install there what is installed here.")


def version_complaint(version: str) -> str:
    """What a worker, where this runs, says of its own version; empty when it is the one asked for."""
    return "" if __version__ == version else f"has pacb-models {__version__}, not {version}"


def _outcome(future: Any, failed: Callable[[BaseException], Any] | None) -> Any:
    """What came out, however long it takes to fetch; one of :data:`GONE` is raised when it is lost."""
    from distributed import KilledWorker

    if future.status != "error":
        return future.result()
    reason = future.exception()
    if failed is not None:
        return failed(reason)
    if isinstance(reason, KilledWorker):
        raise RunStopped(f"several Dask workers died of the same work: {described(reason)}")
    raise reason


def _call(function: Callable[..., Result], *arguments: Any) -> Future[Result]:
    """A call in a thread of its own, which may be abandoned."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as reason:
            future.set_exception(reason)

    threading.Thread(target=run, daemon=True).start()
    return future


@contextmanager
def _watched(client: Any, address: str, tell: Tell, finish: Act | None = None) -> Iterator[_Watch]:
    """A watch over a cluster that has workers; at the end the client is closed."""
    watch = _Watch(client, address, tell)
    # Dask's own words on a lost connection are tracebacks; ours is a sentence.
    names = ("distributed", "distributed.client", "tornado", "asyncio")
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel("CRITICAL")
    seconds = INTERRUPTED
    try:
        watch.wait_for_workers()
        yield watch
        seconds = LEAVING
    finally:
        workers = watch.leave()
        if finish is not None:
            wait([_call(finish, client, workers)], seconds)
        # One that is not closed by then still has them to say.
        if wait([_call(client.close, seconds)], seconds).done:
            for logger, level in levels.items():
                logger.setLevel(level)


class _Watch:
    """Looks after the scheduler and its workers; Dask itself would wait for minutes, or ever, without a word.

    A thread asks the scheduler who is there and when they gave a sign of life; so nobody else waits for it.
    """

    def __init__(self, client: Any, address: str, tell: Tell) -> None:
        self.client, self._address, self._tell = client, address, tell
        self._absent_since: float | None = None
        self._heard = time.monotonic()
        self._workers: dict[str, Any] | None = None
        #: The scheduler's time of a worker's last sign of life, and ours when we learnt of it.
        self._signs: dict[str, tuple[Any, float]] = {}
        self._told: set[str] = set()
        self._over = threading.Event()
        _call(self._listen)

    def leave(self) -> list[str]:
        """Listen no more; the workers that have answered lately."""
        self._over.set()
        return [name for name in self._workers or () if self._age(name) < SILENCE]

    def _listen(self) -> None:
        while not self._over.wait(PULSE if self._workers is not None else 0.0):
            with suppress(Exception):
                # Not the client's own scheduler_info, which forgets the workers now and then.
                found = self.client.sync(self.client.scheduler.identity)["workers"]
                now = time.monotonic()
                for name, worker in found.items():
                    if self._signs.get(name, (None,))[0] != worker["last_seen"]:
                        self._signs[name] = worker["last_seen"], now
                self._workers, self._heard = found, now

    def _age(self, worker: str) -> float:
        """Seconds without a sign of life, as of the scheduler's last answer."""
        return self._heard - self._signs[worker][1]

    def answering(self) -> list[str]:
        """The workers that are not given up."""
        return [name for name in self._workers or () if self._age(name) <= PATIENCE]

    def lost(self) -> set[str]:
        """The workers that are given up: the scheduler still counts on them."""
        return {name for name in self._workers or () if self._age(name) > PATIENCE}

    @property
    def threads(self) -> int:
        """How many items can be worked on at the same time."""
        known = self._workers or {}
        return sum(known[name]["nthreads"] for name in self.answering() if name in known)

    def where(self) -> dict[str, Any]:
        """Arguments that keep work from workers that are given up."""
        return {"workers": self.answering(), "allow_other_workers": True} if self.lost() else {}

    def held_up(self, futures: list[Any]) -> list[Any]:
        """Those of the futures that workers that are given up work on, or have finished and nobody else has."""
        lost = self.lost()
        if not lost:
            return []
        working, having = self.ask(lambda _: (self.client.processing(), self.client.who_has(futures)))
        keys = {key for worker in lost for key in working.get(worker, ())}
        keys |= {key for key, workers in having.items() if workers and lost.issuperset(workers)}
        return [future for future in futures if future.key in keys]

    def ask(self, call: Callable[[list[str]], Result]) -> Result:
        """What a call with the answering workers returns; it is asked anew when one of them is gone, or given up."""
        while True:
            self.wait_for_workers()
            workers = self.answering()
            asked = _call(call, workers)
            while not wait([asked], PAUSE).done and not self.lost() & set(workers):
                self.look()
            if asked.done() and (asked.exception() is None or not self._news_of(workers)):
                return asked.result()

    def _news_of(self, workers: list[str]) -> bool:
        """Whether one of the workers is no longer there, as the scheduler says from now on."""
        began = time.monotonic()
        while self._heard < began:
            self.look()
            time.sleep(PAUSE)
        return not set(workers) <= set(self.answering())

    def wait_for_workers(self) -> None:
        """Return when there is a worker."""
        while not self.look():
            time.sleep(PAUSE)

    def look(self) -> bool:
        """Whether there are workers; says when none is left or somebody is silent, and stops after a while."""
        if self.client.status != "running":
            raise RunStopped(f"the Dask scheduler at {self._address} is gone")
        now = time.monotonic()
        scheduler = f"the Dask scheduler at {self._address}"
        self._silence(scheduler, now - self._heard, f"waiting up to {PATIENCE:g} s")
        if now - self._heard > PATIENCE:
            raise RunStopped(f"{scheduler} has not answered for {PATIENCE:g} s")
        if self._workers is None:
            return False
        for name in self._workers:
            self._silence(f"the Dask worker {name}", self._age(name), f"after {PATIENCE:g} s it is given up")
        if self._workers:
            if not self.answering():
                raise RunStopped(f"no worker of {scheduler} has answered for {PATIENCE:g} s")
            self._absent_since = None
            return True
        if self._absent_since is None:
            self._absent_since = now
            self._tell(f"{scheduler} has no workers; waiting {PATIENCE:g} s for one")
        elif now - self._absent_since > PATIENCE:
            raise RunStopped(f"{scheduler} had no workers for {PATIENCE:g} s")
        return False

    def _silence(self, who: str, seconds: float, what: str) -> None:
        """A word when somebody falls silent, once each time."""
        if seconds <= SILENCE:
            self._told.discard(who)
        elif who not in self._told:
            self._told.add(who)
            self._tell(f"{who} has not answered for {SILENCE:g} s; {what}")
