"""What a notebook shows of a certificate: the sentences, then a table of the best."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


def as_html(text: str, titles: Sequence[str], rows: Sequence[Sequence[Any]], total: int) -> str:
    """The first line in bold, the others below it, and a table whose first column is text; ``total`` rows exist."""

    def line(tag: str, cells: Sequence[Any]) -> str:
        sides = ["left", *["right"] * (len(cells) - 1)]
        marked = (f'<{tag} style="text-align:{side}">{escape(str(cell))}</{tag}>' for side, cell in zip(sides, cells))
        return f"<tr>{''.join(marked)}</tr>"

    first, *others = (escape(sentence) for sentence in text.splitlines())
    body = "".join(line("td", row) for row in rows)
    more = f"<p>and {total - len(rows)} more</p>" if total > len(rows) else ""
    table = f"<table><thead>{line('th', titles)}</thead><tbody>{body}</tbody></table>{more}" if rows else ""
    return f"<div><p><strong>{first}</strong></p><p>{'<br>'.join(others)}</p>{table}</div>"
