"""The exceptions this package raises on purpose."""


class InputError(ValueError):
    """Bad input, described in one sentence: which argument, its value, what was expected."""


class UnsupportedProblemError(InputError):
    """A solver was asked for a problem it cannot handle; the message names those that can."""


class SolverUnavailableError(RuntimeError):
    """A solver's software is not installed; the message says what to install."""


class RunStopped(RuntimeError):
    """Work on a cluster cannot go on; what is done is kept."""
