"""HTML: what a notebook shows of a certificate, and what a page of ours allows itself."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from itertools import groupby
from typing import Any

#: Titles and rows.
TableCells = tuple[Sequence[str], Sequence[Sequence[str]]]


def joined(lines: Sequence[str]) -> tuple[str, list[str]]:
    """Return the headline, and what is left; a headline that ends in the middle goes on with the first of the list
    below."""
    headline, *others = lines
    if not others or not others[0].startswith("  ") or headline.endswith("."):
        return headline, others
    return f"{headline} {others[0].strip().rstrip(';.')}.", others[1:]


def as_html(lines: Sequence[str], titles: Sequence[str], rows: Sequence[Sequence[Any]], total: int) -> str:
    """Return sentences, the first in bold, and a table whose first column is text; ``total`` rows exist.

    Lines that begin with two spaces are the items of a list.
    """

    def line(tag: str, cells: Sequence[Any]) -> str:
        sides = ["left", *["right"] * (len(cells) - 1)]
        marked = (f'<{tag} style="text-align:{side}">{escape(str(cell))}</{tag}>' for side, cell in zip(sides, cells))
        return f"<tr>{''.join(marked)}</tr>"

    headline, others = joined(lines)
    parts = [f"<p><strong>{escape(headline)}</strong></p>"]
    for is_list, of_kind in groupby(others, key=lambda sentence: sentence.startswith("  ")):
        said = [escape(sentence.strip()) for sentence in of_kind]
        parts.append(f"<ul><li>{'</li><li>'.join(said)}</li></ul>" if is_list else f"<p>{' '.join(said)}</p>")
    if rows:
        body = "".join(line("td", row) for row in rows)
        parts.append(f"<table><thead>{line('th', titles)}</thead><tbody>{body}</tbody></table>")
    if total > len(rows) and rows:
        parts.append(f"<p>and {total - len(rows)} more</p>")
    return f"<div>{''.join(parts)}</div>"


def policy(style: str, script: str = "") -> str:
    """Return the content security policy of a page that has this style and this script between its tags, and no other.

    What a name or a message might smuggle in does nothing then.
    """
    sources = {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    for kind, text in (("style", style), ("script", script)):
        if text:
            sources[f"{kind}-src"] = f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
    return "; ".join(f"{name} {source}" for name, source in sources.items())
