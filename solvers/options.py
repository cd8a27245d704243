"""The options that several solvers have: they mean the same everywhere, and are checked here.

``start``
    The posterior to start from, in the order of the risks; the prior by default
    (:func:`~pacb_models.solvers.starts.default_start`). One that breaks the problem's constraints is moved to the
    nearest that keeps them.
``starts``, ``seed``
    The number of starting posteriors. Those beyond the first are random, and the same for every solver
    (:func:`~pacb_models.solvers.starts.starting_posteriors`). The best point is returned, and other local minima are
    listed.
``tolerance``
    The largest KKT residual at convergence, relative to the bound where that is above one.
``max_iterations``
    A limit for each start.
``time_limit``
    Seconds of wall-clock time for all starts together, set-up included.
``trace``
    True puts the bound after each iteration, with the seconds, into ``details["trace"]``; of the best start.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from pacb_models.errors import InputError
from pacb_models.problem import Problem
from pacb_models.validation import check_count, check_positive, check_posterior

from .starts import default_start, nearest


class Options(NamedTuple):
    """What a solver was asked, checked; the time begins to run."""

    start: np.ndarray
    #: Whether the caller chose the start.
    given: bool
    starts: int
    seed: int
    tolerance: float
    max_iterations: int
    #: A reading of the monotonic clock; infinite without a limit.
    deadline: float
    trace: bool


def check_options(
    problem: Problem,
    start: object = None,
    starts: int = 1,
    seed: int = 0,
    tolerance: float = 1e-9,
    max_iterations: int = 1,
    time_limit: float | None = None,
    trace: bool = False,
) -> Options:
    """The options of this module's text; a solver without one of them leaves it out."""
    return Options(
        default_start(problem) if start is None else nearest(problem, check_posterior(start, problem.size, "start")),
        start is not None,
        check_count("starts", starts),
        check_count("seed", seed, least=0),
        check_positive("tolerance", tolerance),
        check_count("max_iterations", max_iterations),
        deadline_after(time_limit),
        bool(trace),
    )


def check_own(options: dict[str, Any] | None, whose: str) -> dict[str, Any]:
    """The options of the underlying software, which go to it as they are."""
    if options is not None and not isinstance(options, dict):
        raise InputError(f"options is {options!r}; it must be a dict of {whose} options.")
    return options or {}


def deadline_after(time_limit: float | None) -> float:
    """The moment, on the monotonic clock, when a limit of so many seconds from now runs out; never, for None."""
    if time_limit is None:
        return math.inf
    if isinstance(time_limit, bool) or not isinstance(time_limit, (int, float)) or not time_limit > 0.0:
        raise InputError(f"time_limit is {time_limit!r}; it must be a positive number of seconds.")
    return time.monotonic() + time_limit
