"""Comparing the speed of actions within one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def best_seconds(actions: Mapping[str, Callable[..., object]], repeats: int) -> dict[str, float]:
    """The shortest of ``repeats`` alternating runs of each action."""
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(repeats):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
