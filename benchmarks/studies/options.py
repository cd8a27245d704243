"""The options of a study, by their defaults."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import Any

from pacb_models.validation import check_choice


def options(
    description: str | None, arguments: Sequence[str] | None = None, names: Collection[str] = (), **defaults: Any
) -> argparse.Namespace:
    """What was asked for: ``names`` that are known, all by default, and options of the kind of their defaults.

    A default is a number or a word; a tuple of them, for an option that takes several; a type, where the option may be
    left out; or False, for a flag.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if names:
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; default: all")
    for name, default in defaults.items():
        kind: dict[str, Any] = {"type": type(default), "help": f"default: {default}", "default": default}
        if isinstance(default, type):
            kind = {"type": default}
        elif isinstance(default, tuple):
            help_text = f"default: {' '.join(map(str, default))}"
            kind = {"type": type(default[0]), "nargs": "+", "help": help_text, "default": default}
        elif default is False:
            kind = {"action": "store_true"}
        parser.add_argument(f"--{name.replace('_', '-')}", **kind)
    found = parser.parse_args(arguments)
    if names:
        found.names = [check_choice("NAME", name, tuple(names)) for name in found.names] or list(names)
    return found
