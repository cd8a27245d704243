"""What a notebook shows of a certificate: the sentences, then a table of the best."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


def as_html(text: str, titles: Sequence[str], rows: Sequence[Sequence[Any]], total: int) -> str:
    """The first line in bold, the others below it, and a table whose first column is text; ``total`` rows exist."""
    first, *others = (escape(line) for line in text.splitlines())
    head = "".join(f'<th style="text-align:{_side(place)}">{escape(title)}</th>' for place, title in enumerate(titles))
    body = "".join(f"<tr>{''.join(_cell(place, cell) for place, cell in enumerate(row))}</tr>" for row in rows)
    more = f"<p>and {total - len(rows)} more</p>" if total > len(rows) else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}" if rows else ""
    return f"<div><p><strong>{first}</strong></p><p>{'<br>'.join(others)}</p>{table}</div>"


def _side(place: int) -> str:
    return "left" if place == 0 else "right"


def _cell(place: int, cell: Any) -> str:
    return f'<td style="text-align:{_side(place)}">{escape(str(cell))}</td>'
