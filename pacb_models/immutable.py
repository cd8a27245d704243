"""Objects that never change, and answers that are remembered for an object: what was computed once stays right."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .plugins import ours

Answer = TypeVar("Answer")


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself, read-only from now on."""
    array.setflags(write=False)
    return array


class Immutable:
    """Attributes are set once, by :meth:`_set` or by a frozen dataclass; arrays among them become read-only.

    So a :func:`functools.cached_property` can be relied on. A class of another package may assign what it adds, once;
    arrays are copied.
    """

    #: What to do instead, as a clause.
    _another = "it never changes; make another one"

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
        raise AttributeError(f"{name} of a {type(self).__name__} cannot be set: {self._another}.")


class _Itself:
    """A key that equals no other object's: the equality of a third-party class may forget attributes."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.thing is self.thing


def per_object(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Remember what a function of an object, and of hashable arguments, returned.

    An object that cannot be hashed may change, and is asked each time.
    """
    remembered = lru_cache(maxsize=2**16)(lambda key, *arguments: function(key.thing, *arguments))

    @wraps(function)
    def ask(thing: Any, *arguments: Hashable) -> Answer:
        return remembered(_Itself(thing), *arguments) if isinstance(thing, Hashable) else function(thing, *arguments)

    return ask
