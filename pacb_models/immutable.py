"""Objects that never change, so that what was computed from them once stays right."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .plugins import ours


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself, read-only from now on."""
    array.setflags(write=False)
    return array


class Immutable:
    """Attributes are set once, by :meth:`_set` or by a frozen dataclass; arrays among them become read-only.

    So a :func:`functools.cached_property` can be relied on. A class of another package may assign what it adds, once;
    arrays are copied.
    """

    def _set(self, **attributes: Any) -> None:
        for value in attributes.values():
            if isinstance(value, np.ndarray):
                read_only(value)
        vars(self).update(attributes)

    def __post_init__(self) -> None:
        self._set(**vars(self))

    def __setattr__(self, name: str, value: object) -> None:
        if not (ours(self) or name in vars(self) or hasattr(type(self), name)):
            return self._set(**{name: value.copy() if isinstance(value, np.ndarray) else value})
        raise AttributeError(f"{name} of a {type(self).__name__} cannot be set: {self._another()}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} of a {type(self).__name__} cannot be deleted: {self._another()}.")

    def _another(self) -> str:
        """What to do instead, as a clause."""
        return "it never changes; make another one"
