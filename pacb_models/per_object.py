"""Answers that are remembered for an object, and not for what equals it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, TypeVar

Answer = TypeVar("Answer")


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
