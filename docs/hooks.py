"""What the site needs beyond MkDocs: docstrings written for Sphinx, and formulas that no script has to draw.

MkDocs calls the functions ``on_*``; mkdocstrings loads :class:`SphinxDocstrings`.
"""

from __future__ import annotations

import html
import re
import runpy
import textwrap
from itertools import takewhile
from pathlib import Path
from typing import Any

import griffe
from latex2mathml.converter import convert

ROOT = Path(__file__).parents[1]
_MATH_ROLE = re.compile(r":math:`([^`]+)`")
_MATH_BLOCK = re.compile(r"^( *)\.\. math::(.*(?:\n(?:\1 +.*| *(?=\n\1 +)))*)", re.MULTILINE)
_OTHER_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`~?([^`]+)`")
_TABLE = re.compile(r"^(=+(?: =+)+)\n(.+)\n\1\n((?:.+\n)+?)\1$", re.MULTILINE)
_LITERAL_BLOCK = re.compile(r"::\n\n(?= {4})")
#: The head of a section whose entries are parameters, and what may follow its last one in our docstrings.
_SECTION = re.compile(r"((?:Other )?Parameters\n-+\n)")
_PARAGRAPH = re.compile(r"\n\n(?=\S)(?!.*\n-{3})(?![\w*, ]+(?: : |\n {4}))")
_FORMULA = re.compile(
    r'<span class="arithmatex">\\\((?P<inline>.*?)\\\)</span>'
    r'|<div class="arithmatex">\s*\\\[(?P<block>.*?)\\\]\s*</div>',
    re.DOTALL,
)


def on_config(config: Any) -> None:
    """The version in the header of every page."""
    code = (ROOT / "pacb_models" / "__init__.py").read_text()
    config.site_name += " " + re.search(r'__version__ = "(.+)"', code)[1]


def on_files(files: Any, config: Any) -> None:
    """Two pages from the root of the checkout, with their links as seen from ``docs``."""
    from mkdocs.structure.files import File

    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        text = (
            (ROOT / name)
            .read_text()
            .replace("](docs/", "](")
            .replace("](CHANGELOG.md", "](changelog.md")
        )
        files.append(File.generated(config, name.lower(), content=text))


def on_page_markdown(text: str, page: Any, **_: Any) -> None:
    """The search lists a page that explains a word before the reference and the reports, which name it most often."""
    if page.file.src_uri.startswith(("api/", "field", "starts", "forests")):
        page.meta["search"] = {"boost": 0.2}


def on_startup(**_: Any) -> None:
    """Lay out the one import namespace where mkdocstrings looks for modules (mkdocs.yml, ``paths``)."""
    runpy.run_path(str(ROOT / "tools" / "namespace.py"))["link_namespace"]()


class SphinxDocstrings(griffe.Extension):
    """Turn the Sphinx markup of our docstrings into Markdown before mkdocstrings reads them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Comments that begin with ``#:``, above an attribute, document it."""
        comment = list(takewhile(lambda line: line.startswith("#:"), _lines_above(attr)))
        if comment and not attr.docstring:
            text = " ".join(line.removeprefix("#:").strip() for line in reversed(comment))
            attr.docstring = griffe.Docstring(to_markdown(text), parent=attr)


def _lines_above(attr: griffe.Attribute) -> list[str]:
    lines = attr.lines_collection[attr.filepath][: attr.lineno - 1]
    return [line.strip() for line in reversed(lines)]


def to_markdown(docstring: str) -> str:
    r"""The docstring with formulas as ``\(...\)`` and ``\[...\]``, references as code, tables and code blocks.

    >>> to_markdown(":class:`~pacb_models.Solution` has :math:`q_i`")
    '`Solution` has \\(q_i\\)'
    """
    text = _TABLE.sub(_table, docstring)
    text = _MATH_BLOCK.sub(_block, text)
    text = _MATH_ROLE.sub(lambda match: rf"\({' '.join(match[1].split())}\)", text)
    text = _OTHER_ROLE.sub(_reference, text)
    text = _LITERAL_BLOCK.sub(":\n\n", text)
    # What the package's solvers take beside the problem; the NumPy style has another word for it.
    text = text.replace("Options\n-------\n", "Other Parameters\n----------------\n")
    if "Examples\n---" not in text:
        text = text.replace("\n\n>>> ", "\n\nExamples\n--------\n>>> ", 1)
    head, *sections = _SECTION.split(text)
    return head + "".join(
        heading + _closed(body)
        for heading, body in zip(sections[::2], sections[1::2], strict=True)
    )


def _closed(entries: str) -> str:
    """A list of parameters that ends where a paragraph without parameter begins."""
    return _PARAGRAPH.sub("\n\nNotes\n-----\n", entries, count=1)


def _block(match: re.Match[str]) -> str:
    indent, body = match[1], " ".join(textwrap.dedent(match[2]).split())
    return f"\n{indent}\\[ {body} \\]\n"


def _reference(match: re.Match[str]) -> str:
    """``~`` in Sphinx shows the last part of a dotted name; here every name of ours is shown that way."""
    return f"`{match[1].rpartition('.')[2]}`"


def _table(match: re.Match[str]) -> str:
    """A Markdown table; the columns of the original begin where its rules do."""
    starts = [rule.start() for rule in re.finditer("=+", match[1])]
    rows = [match[2], *match[3].splitlines()]
    cells = [
        [row[i:j].strip() for i, j in zip(starts, [*starts[1:], None], strict=True)]
        for row in rows
    ]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|---" * len(starts) + "|", *lines[1:]])


def on_post_page(output: str, **_: Any) -> str:
    """Without the mark by which the theme asks GitHub about the repository."""
    return output.replace('data-md-component="source"', "")


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw themselves: nothing is fetched."""
    return _FORMULA.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    inline = match["inline"]
    if inline is not None:
        return _spaced(convert(html.unescape(inline)))
    return _spaced(convert(html.unescape(match["block"]), display="block"))


def _spaced(formula: str) -> str:
    """Primes of full size, and space around functions as TeX has it: before, and behind where no bracket follows."""
    prime = r"<msup>(<mi>[^<]*</mi>)<mi>(&#x0203[23];)</mi></msup>"
    formula = re.sub(prime, r'<mrow>\1<mo lspace="0" rspace="0">\2</mo></mrow>', formula)
    named = r"<mi>(ln|log|exp|sin|cos)</mi>"
    formula = re.sub(
        rf"{named}(?=<mo[^>]*>&#x00028;)", r'<mo lspace="0.17em" rspace="0">\1</mo>', formula
    )
    return re.sub(named, r'<mo lspace="0.17em" rspace="0.17em">\1</mo>', formula)
