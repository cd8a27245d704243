"""Time limits, as every solver of ours reads them."""

from __future__ import annotations

import math
import time

from pacb_models.errors import InputError


def deadline_after(time_limit: float | None) -> float:
    """The moment, on the monotonic clock, when a limit of so many seconds from now runs out; never, for None."""
    if time_limit is None:
        return math.inf
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float)) or not time_limit > 0.0:
        raise InputError(f"time_limit is {time_limit!r}; it must be a positive number of seconds.")
    return time.monotonic() + time_limit
