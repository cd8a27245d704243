"""What other packages register under our entry-point groups, loaded so that one broken package harms no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class PluginError(InputError):
    """Another package's entry point cannot be used; the message names it and says why."""


def registered(group: str) -> list[EntryPoint]:
    """The entry points of a group, by name."""
    # Imported here: reading the metadata of all installed packages is only for who asks for it.
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def load(entry: EntryPoint, use: Callable[[Any], Any] = lambda found: found) -> Any:
    """``use`` of what the entry point names; whatever goes wrong in the other package's code is a :class:`PluginError`.

    A module may raise anything when it is imported, and even leave (SystemExit); only an interrupt is the user's.
    """
    try:
        return use(entry.load())
    except (Exception, SystemExit) as reason:
        owner = "" if entry.dist is None else f" of the package {entry.dist.name}"
        raise PluginError(f"{entry.group} {entry.name!r}{owner} cannot be used: {described(reason)}.") from None


def load_all(group: str, use: Callable[[Any], Any] = lambda found: found) -> dict[str, Any]:
    """Every entry point of a group, by name; a broken one is named on standard error and left out."""
    found = {}
    for entry in registered(group):
        try:
            found[entry.name] = load(entry, use)
        except PluginError as reason:
            print(f"pacb: left out: {reason}", file=sys.stderr)
    return found


def described(reason: BaseException) -> str:
    """An exception in one line, even one that cannot tell what it is about."""
    try:
        text = " ".join(str(reason).split())
    except Exception:
        text = ""
    return f"{type(reason).__name__}: {text}".rstrip(": .")
