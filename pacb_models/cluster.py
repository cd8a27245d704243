"""Work on the workers of a Dask scheduler: items by :func:`spread`, a fit with joblib by :func:`fitted_on`.

A lost worker's work is done elsewhere; a scheduler that is gone, or has no workers, ends the work with a sentence.
"""

import logging
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from . import __version__
from .errors import InputError, RunStopped
from .plugins import exception_text

#: Seconds in which a scheduler must answer, in which it must have a worker, and for both to take leave.
ANSWER, PATIENCE, LEAVING = 10.0, 60.0, 1.0
Item = TypeVar("Item")


def spread(
    function: Callable[..., Any],
    items: Iterable[Item],
    address: str,
    shared: Any = None,
    check: Callable[[Any], Any] | None = None,
    failed: Callable[[Item, Exception], Any] | None = None,
    finish: Callable[[Any], Any] | None = None,
) -> Generator[tuple[Item, Any], None, None]:
    """Yield every item with ``function(item)``, or ``function(shared, item)``, as they finish on a cluster.

    The workers must be able to import the function. ``check`` gets the client first (by default it compares versions),
    ``finish`` at the end; ``failed`` makes a result of an item and its exception, which else is raised.
    """
    with _connected(address, finish) as client:
        from distributed import as_completed

        (check or check_workers)(client)
        # A task's result, and not scattered: the scheduler makes it anew when the workers that have it are gone.
        common = [] if shared is None else [client.submit(lambda it: it, shared, pure=False)]
        pending = {client.submit(function, *common, item, pure=False): item for item in items}
        finished = as_completed(pending, loop=client.loop, with_results=True, raise_errors=False)
        while pending:
            time.sleep(0.05)
            _wait_for_workers(client, address)
            for future, result in finished.next_batch(block=False):
                lost, item = future.status == "error", pending.pop(future)
                if future.cancelled() or (lost and failed is None):
                    future.result()
                yield item, failed(item, result[1]) if lost and failed else result


def fitted_on(address: str, fit: Callable[[], Item]) -> Item:
    """Return ``fit()`` with joblib on the cluster. joblib keeps data on one worker each: without it, it begins anew."""
    with _connected(address) as client:
        from distributed import CancelledError, KilledWorker
        from joblib import parallel_config

        check_workers(client)
        for _ in range(3):
            with suppress(KilledWorker, CancelledError), client.as_current(), parallel_config(backend="dask"):
                return fit()
            _wait_for_workers(client, address)
            print("pacb: a Dask worker died, and with it what joblib had there; training begins anew", file=sys.stderr)
    raise RunStopped(f"Dask workers at {address} died in each of 3 attempts")


@contextmanager
def _connected(address: str, finish: Callable[[Any], Any] | None = None) -> Iterator[Any]:
    """Connect to a scheduler that has a worker; what Dask says of lost connections becomes a sentence."""
    try:
        from distributed import CancelledError, Client, KilledWorker
        from distributed.comm.addressing import get_address_host_port

        # What is no address at all would leave half a client behind, which takes long to leave and leaves a traceback.
        get_address_host_port(address)
        client = Client(address, timeout=ANSWER, set_as_default=False)
    except ImportError:
        raise InputError("a Dask scheduler needs the package distributed: pip install 'pacb-models[dask]'.") from None
    except (OSError, ValueError) as reason:
        raise InputError("dask", address, f"no Dask scheduler answers there ({reason})") from None
    for name in ("distributed", "distributed.client", "tornado", "asyncio"):
        logging.getLogger(name).setLevel("CRITICAL")
    try:
        _wait_for_workers(client, address)
        yield client
    except KilledWorker as reason:
        raise RunStopped(f"several Dask workers died of the same work: {exception_text(reason)}") from None
    except CancelledError:
        raise RunStopped(f"the Dask scheduler at {address} is gone") from None
    finally:
        with suppress(Exception), client:
            finish and client.sync(finish, client, callback_timeout=LEAVING)


def _wait_for_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise RunStopped(f"the Dask scheduler at {address} had no workers for {PATIENCE:g} s") from None
    except (OSError, AttributeError):
        raise RunStopped(f"the Dask scheduler at {address} is gone") from None


def version_complaint(version: str) -> str:
    """Return what a worker, where this runs, says of its own version; empty when it is the one asked for."""
    return "" if __version__ == version else f"has pacb-models {__version__}, not {version}"


def check_workers(client: Any, complaint: Callable[..., str] = version_complaint, *arguments: Any) -> None:
    """Refuse workers with a complaint about this version, or about what else they are asked."""
    try:
        found = client.run(complaint, __version__, *arguments)
    except Exception as reason:
        raise InputError(f"the Dask workers cannot run pacb-models {__version__} ({exception_text(reason)}).") from None
    for worker in filter(found.get, found):
        raise InputError(f"the worker {worker} {found[worker]}; install there what is installed here.")
