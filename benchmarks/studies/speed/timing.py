"""Comparing the speed of actions within one run: in turns, the shortest time of each, one BLAS thread."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

Result = TypeVar("Result")


def best_seconds(
    actions: Mapping[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the shortest of ``repeats`` alternating runs of each action. BLAS threads would wait for each other."""
    best = dict.fromkeys(actions, float("inf"))
    with threadpool_limits(1):
        for _ in range(repeats):
            for name, action in actions.items():
                start = clock()
                action()
                best[name] = min(best[name], clock() - start)
    return best


def apart(function: Callable[..., Result], *arguments: Any, seconds: float | None = None) -> Result:
    """Return what a function returns in a process of its own, which is killed (TimeoutError) when it takes longer."""
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    try:
        return pool.submit(function, *arguments).result(timeout=seconds)
    except TimeoutError:
        for process in pool._processes.values():
            process.kill()
        raise
    finally:
        pool.shutdown()


def show(title: str, seconds: Mapping[str, float]) -> None:
    """Print a line for each action: its time, and how many times that of the first it is."""
    print(title)
    first = next(iter(seconds.values()))
    for name, value in seconds.items():
        print(f"  {name:<48} {1e3 * value:12.4f} ms  {value / first:9.3f} times the first", flush=True)
