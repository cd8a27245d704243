"""Pages in one HTML file, with styles, scripts and figures inside; the report is one."""

from __future__ import annotations

import base64
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .content import Content


def render(content: Content) -> str:
    """The report. What comes from a log (names, messages) is escaped."""
    style, script = (read_file(__package__, name) for name in ("report.css", "report.js"))
    return render_page(read_file(__package__, "report.html"), content=content, style=style, script=script)


def render_page(template: str, filters: dict[str, Callable[..., Any]] | None = None, **values: Any) -> str:
    """A template filled in; the filter ``data_uri`` puts an SVG figure into the page, other filters may be added."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"data_uri": _data_uri, **(filters or {})}
    return environment.from_string(template).render(**values)


def read_file(package: str, name: str) -> str:
    """The text of a file that comes with a package."""
    return (files(package) / name).read_text(encoding="utf-8")


def _data_uri(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
