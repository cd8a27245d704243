"""The paper's tables and figures by their numbers, and their words. Nothing is imported for it but a reader of TOML, so
that help can be printed at once.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from pacb_models.errors import InputError

from ..report.wording import filled

#: What ``texts.toml`` says, by the names of tables and figures.
TEXTS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))

#: What is said of all of them together.
DOCUMENT = TEXTS.pop("document")

#: What each of them shows; those without a number are claims of the paper's text, pictures of its tables, and ours.
TITLES = {name: text["title"] for name, text in TEXTS.items()}

#: What the paper numbers, as in "Tables 6 and 7", and what it is called here.
BY_NUMBER = {
    f"{kind.lower()}{number}": name
    for name, text in TEXTS.items()
    for kind, *numbers in re.findall(r"^(Table|Figure)s? (\d+)(?: and (\d+))?", text["source"])
    for number in filter(None, numbers)
}
OTHERS = tuple(name for name in TITLES if name not in BY_NUMBER.values())

_NUMBER = re.compile(r"(tab|fig)(?:le|ure|\.)?[ _-]*(\d+)", re.IGNORECASE)


def words(name: str, kind: str, **values: Any) -> list[str]:
    """Return the notes on a table, or the caption of a figure, with what is computed in its place."""
    texts = TEXTS.get(name, DOCUMENT)[kind]
    return [filled(text, **values) for text in (texts if isinstance(texts, list) else [texts])]


def item_name(text: str) -> str:
    """Return the name of a table or figure that is given by name, or by number in any spelling.

    >>> item_name("table3"), item_name("Fig. 1"), item_name("bounds")
    ('bounds', 'linear-supports', 'bounds')
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    number = f"{'table' if found[1].lower() == 'tab' else 'figure'}{int(found[2])}"
    if number == "table1":
        raise InputError("Table 1 lists formulas; there is nothing to compute. docs/errata.md corrects them.")
    if number not in BY_NUMBER:
        raise InputError("NAME", text, "the paper has Tables 1 to 9 and Figures 1 to 6")
    return BY_NUMBER[number]


def listed_items() -> str:
    """Return numbers, names and what they show, for the help."""
    numbers = [f"  {number:<9} {name:<16} {TITLES[name]}" for number, name in BY_NUMBER.items()]
    others = [f"  {name:<26} {TITLES[name]}" for name in OTHERS]
    return "\n".join(["by number or by name:", *numbers, "", "by name:", *others])
