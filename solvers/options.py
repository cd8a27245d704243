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

import math
import time
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from pacb_models.problem import Problem
from pacb_models.solution import Outcome
from pacb_models.solver import Solver
from pacb_models.validation import check_choice, check_count, check_kind, check_number, check_positive, check_posterior

from .starts import default_start, nearest


@dataclass(kw_only=True)
class Options:
    """The options of a solver with their defaults: each solver's are a subclass, and its fields the only declaration. A
    field whose type is a :data:`typing.Literal` takes no other value."""

    time_limit: float | None = None

    def checked(self, problem: Problem) -> Self:
        """The same, once every value is known to be one; the time begins to run."""
        #: A reading of the monotonic clock; infinite without a limit.
        self.deadline = math.inf
        if self.time_limit is not None:
            expected = "it must be a positive number of seconds"
            self.deadline = time.monotonic() + check_number("time_limit", self.time_limit, lambda s: s > 0.0, expected)
        for name, kind in get_type_hints(type(self)).items():
            if get_origin(kind) is Literal:
                check_choice(name, getattr(self, name), get_args(kind))
        return self


@dataclass(kw_only=True)
class FromStarts(Options):
    """What a method that begins at a posterior, or at several, can be asked."""

    start: Any = None
    starts: int = 1
    seed: int = 0
    max_iterations: int = 3000

    def checked(self, problem: Problem) -> Self:
        #: Whether the caller chose the start.
        self.given = self.start is not None
        given = check_posterior(self.start, problem.size, "start") if self.given else None
        self.start = default_start(problem) if given is None else nearest(problem, given)
        for name, least in (("starts", 1), ("seed", 0), ("max_iterations", 1)):
            check_count(name, getattr(self, name), least)
        return super().checked(problem)


@dataclass(kw_only=True)
class Iterative(FromStarts):
    """What a method that we iterate ourselves can be asked."""

    tolerance: float = 1e-9
    max_iterations: int = 1000
    trace: bool = False

    def checked(self, problem: Problem) -> Self:
        check_positive("tolerance", self.tolerance)
        return super().checked(problem)


@dataclass(kw_only=True)
class Software(Options):
    """The options of the underlying software, which go to it as they are."""

    options: dict[str, Any] | None = None

    def checked(self, problem: Problem) -> Self:
        check_kind("options", self.options, (dict, NoneType), "a dict of the software's own options")
        self.own: dict[str, Any] = self.options or {}
        return super().checked(problem)


class DeclaredSolver(Solver):
    """A solver whose options are declared as a class."""

    Options: type[Options]

    def run(self, problem: Any, **given: Any) -> Outcome:
        return self.run_with(problem, self.Options(**given).checked(problem))

    def run_with(self, problem: Any, options: Any) -> Outcome:
        """Minimise the bound, with options that are checked."""
        raise NotImplementedError


def in_words(software: str, words: str, status: str) -> str:
    """What the software says of a run, and which of the limits above it reached."""
    reached = {"iteration_limit": "max_iterations was reached, allow it more", "time_limit": "time_limit was reached"}
    return f"{software}: {words}{'; ' + reached[status] if status in reached else ''}."
