"""A part of the report, before it is written in any format."""

from __future__ import annotations

from dataclasses import dataclass

from .drawing import Picture
from .tables import Table


@dataclass(frozen=True)
class Part:
    """A finding, the picture that shows it, and words or a table on it."""

    anchor: str
    title: str
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    points: tuple[str, ...] = ()
