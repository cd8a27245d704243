"""The exceptions this package raises on purpose."""

from reprlib import Repr
from typing import Any, Final

_SHORT: Final = Repr()
_SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 200, 120, 60
_NOT_GIVEN: Final = object()


class InputError(ValueError):
    """Bad input, described in one sentence.

    ``InputError("m", 0, "it must be at least 1")`` says "m is 0; it must be at least 1." and keeps the name of the
    ``argument``, for which the command line writes its option. Where the sentence is about more than one value it is
    given whole: ``InputError("errors and losses are both given; give one of the two.")``.
    """

    #: The argument that the sentence is about, by its name in Python; empty where it is about several.
    argument = ""

    def __init__(self, argument: str, value: Any = _NOT_GIVEN, expected: str = "") -> None:
        if value is _NOT_GIVEN:
            super().__init__(argument)
        else:
            super().__init__(f"{argument} is {_SHORT.repr(value)}; {expected}.")
            self.argument = str(argument)


class UnsupportedProblemError(InputError):
    """A solver was asked for a problem it cannot handle; the message names those that can."""


class SolverUnavailableError(RuntimeError):
    """A solver's software is not installed; the message says what to install."""


class RunStopped(RuntimeError):
    """Work on a cluster cannot go on; what is done is kept."""
