"""Pages in one HTML file, with styles, scripts and figures inside."""

import re
from importlib.resources import files
from typing import Any

from pacb_models.html import policy


def render_page(package: str, name: str, /, **values: Any) -> str:
    """Return a template of a package filled in, with the kit's; what comes from a log (names, messages) is escaped."""
    from jinja2 import DictLoader, Environment, StrictUndefined

    loader = DictLoader({"kit.html": read_file(__package__, "kit.html"), "page": read_file(package, name)})
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=loader
    )
    # I_kl(m) and φ_CH as they are set in formulas.
    environment.filters["subscripts"] = lambda html: re.sub(r"(?<!\w)([Iφ])_(\w+)", r"\1<sub>\2</sub>", str(html))
    style = read_file(__package__, "report.css") + values.get("style", "")
    allowed = policy(style, values.get("script", ""))
    return environment.get_template("page").render(**{**values, "style": style, "policy": allowed})


def render_text(package: str, name: str, /, **values: Any) -> str:
    """Return a template of Markdown, LaTeX or SVG filled in; its marks, such as ``<< value >>``, mean nothing there."""
    from jinja2 import Environment, StrictUndefined

    marks = ("<%", "%>", "<<", ">>", "<#", "#>")
    environment = Environment(*marks, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return environment.from_string(read_file(package, name)).render(**values)


def read_file(package: str, name: str) -> str:
    """Return the text of a file that comes with a package."""
    return (files(package) / name).read_text(encoding="utf-8")
