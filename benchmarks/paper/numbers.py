"""The paper's tables and figures by their numbers. Nothing is imported for it, so that help can be printed at once."""

from __future__ import annotations

import re

from pacb_models.errors import InputError

#: What the paper numbers, and what it is called here.
NUMBERS = {
    "table2": "data",
    "table3": "bounds",
    "table4": "cross-validation",
    "table5": "constants",
    "table6": "fp-vs-solver",
    "table7": "fp-vs-solver",
    "table8": "fp-vs-ccp",
    "table9": "sparsity",
    "figure1": "linear-supports",
    "figure2": "squared-moments",
    "figure3": "kl-moments",
    "figure4": "linear-weights",
    "figure5": "kl-weights",
    "figure6": "cdfs",
}

#: What has no number in the paper: claims in its text, pictures of its tables, and what we add.
OTHERS = (
    "headline",
    "divergences",
    "bound-against-h",
    "support-against-delta",
    "ccp-iterates",
    "certificates",
    "certificates-figure",
    "change-of-measure",
    "change-of-measure-figure",
)

_NUMBER = re.compile(r"(tab|fig)(?:le|ure|\.)?[ _-]*(\d+)", re.IGNORECASE)


def name_of(text: str) -> str:
    """The name of a table or figure that is given by name, or by number in any spelling.

    >>> name_of("table3"), name_of("Fig. 1"), name_of("bounds")
    ('bounds', 'linear-supports', 'bounds')
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    number = f"{'table' if found[1].lower() == 'tab' else 'figure'}{int(found[2])}"
    if number == "table1":
        raise InputError("Table 1 lists formulas; there is nothing to compute. docs/errata.md corrects them.")
    if number not in NUMBERS:
        raise InputError(f"NAME is {text!r}; the paper has Tables 1 to 9 and Figures 1 to 6.")
    return NUMBERS[number]


def listed() -> str:
    """Numbers and names, for the help."""
    numbers = [f"  {number:<9} {name}" for number, name in NUMBERS.items()]
    lines = [" ".join(OTHERS[start : start + 5]) for start in range(0, len(OTHERS), 5)]
    return "\n".join(["by number or by name:", *numbers, "without a number in the paper:", *(f"  {x}" for x in lines)])
