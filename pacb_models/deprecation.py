"""One way to retire a public name: it works for one minor version more, and says what to use instead."""

from __future__ import annotations

import warnings
from operator import attrgetter
from typing import Any


def warn_deprecated(old: str, new: str, removed_in: str) -> None:
    """Warn the caller of the caller that ``old`` will be gone in a version, and name its successor.

    A :class:`FutureWarning`, since those who use a name are not always those who can see a DeprecationWarning.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_deprecated("pacb_models.old", "pacb_models.new", "0.4")
    >>> str(caught[0].message)
    'pacb_models.old is deprecated and will be removed in version 0.4; use pacb_models.new.'
    """
    message = f"{old} is deprecated and will be removed in version {removed_in}; use {new}."
    warnings.warn(message, FutureWarning, stacklevel=3)


def renamed_attribute(old: str, new: str, removed_in: str) -> Any:
    """A property that warns and answers with an attribute of another name, which may lead on: ``errors.size``."""

    def read(self: Any) -> Any:
        owner = type(self).__name__
        warn_deprecated(f"{owner}.{old}", f"{owner}.{new}", removed_in)
        return attrgetter(new)(self)

    return property(read)
