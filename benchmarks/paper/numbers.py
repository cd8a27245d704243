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

#: What each of them shows; those without a number are claims of the paper's text, pictures of its tables, and ours.
TITLES = {
    "data": "The data sets",
    "bounds": "Optimal bounds and test errors of the three distances",
    "cross-validation": "Cross-validation against PAC-Bayes",
    "constants": "The constants I(m)",
    "fp-vs-solver": "kl bounds by fixed point and by Ipopt",
    "fp-vs-ccp": "Fixed point against convex–concave procedures",
    "sparsity": "Concentration of the posteriors",
    "linear-supports": "B*(H′) of the linear distance and its components",
    "squared-moments": "I_sq(m, l) over l",
    "kl-moments": "I_kl(m, l) over l",
    "linear-weights": "Optimal weights against risk, linear distance",
    "kl-weights": "Optimal weights against risk, kl distance",
    "cdfs": "Distribution functions of the three posteriors",
    "headline": "The paper's bounds against exact ones",
    "divergences": "χ² against KL-divergence posteriors",
    "bound-against-h": "Bound against H, solver by solver",
    "support-against-delta": "Support size against δ",
    "ccp-iterates": "Iterates of the two convex–concave procedures",
    "certificates": "Certificates from error counts beside PAC-Bayes bounds",
    "certificates-figure": "The same, in a picture",
    "change-of-measure": "What change of measure costs",
    "change-of-measure-figure": "The same, in a picture",
}
OTHERS = tuple(name for name in TITLES if name not in NUMBERS.values())

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
    """Numbers, names and what they show, for the help."""
    numbers = [f"  {number:<9} {name:<16} {TITLES[name]}" for number, name in NUMBERS.items()]
    others = [f"  {name:<26} {TITLES[name]}" for name in OTHERS]
    return "\n".join(["by number or by name:", *numbers, "", "by name:", *others])
