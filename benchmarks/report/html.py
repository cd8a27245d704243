"""The report as one HTML file with its styles, script and figures inside."""

from __future__ import annotations

import base64
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .content import Content


def render(content: Content) -> str:
    """The page. What comes from a log (names, messages) is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["data_uri"] = _data_uri
    template = environment.from_string(_file("report.html"))
    return template.render(content=content, style=_file("report.css"), script=_file("report.js"))


def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _data_uri(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
