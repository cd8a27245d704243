"""Objects that never change, so that what was computed from them once stays right."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """The array as one that nobody can make writable again: a solver must not change what it is judged by."""
    if isinstance(array.base, bytes):
        return array
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


class Immutable:
    """Attributes are set once, by :meth:`_set` or by a frozen dataclass; arrays among them become read-only.

    That holds for copies and unpickled objects too, and a :func:`functools.cached_property` can be relied on.
    """

    def _set(self, **attributes: Any) -> None:
        for value in attributes.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        vars(self).update(attributes)

    def __post_init__(self) -> None:
        self._set(**vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # NumPy's arrays forget that they are read-only when they are pickled or copied deeply.
        self._set(**{name: fixed(value) if isinstance(value, np.ndarray) else value for name, value in state.items()})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} of a {type(self).__name__} cannot be set: {self._another()}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} of a {type(self).__name__} cannot be deleted: {self._another()}.")

    def _another(self) -> str:
        """What to do instead, as a clause."""
        return "it never changes; make another one"
