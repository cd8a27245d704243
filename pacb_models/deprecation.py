"""One way to retire a public name: it works for one minor version more, and says what to use instead."""

from __future__ import annotations

import warnings


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
