"""Text for LaTeX: the report's escapes, and the marks that only the reproduction uses."""

from __future__ import annotations

from ..report.tables import latex_text as _latex_text

_MARKS = {
    r"I\_kl": r"$I_{\mathrm{kl}}$",
    r"I\_sq": r"$I_{\mathrm{sq}}$",
    r"φ\_CH": r"$\varphi_{\mathrm{CH}}$",
    "l\u0302": r"$\hat{l}$",
    "α": r"$\alpha$",
    "φ": r"$\varphi$",
    "Δ": r"$\Delta$",
    "√": r"$\surd$",
    "±": r"$\pm$",
    "³": r"$^3$",
    "⁴": r"$^4$",
    "′": "$'$",
    "’": "'",
    "“": "``",
    "”": "''",
    "é": r"\'e",
}


def latex_text(text: str) -> str:
    """Text that LaTeX prints as it is, in ASCII.

    >>> latex_text("χ² ± 5 %")
    '$\\\\chi$$^2$ $\\\\pm$ 5 \\\\%'
    """
    text = _latex_text(text)
    for mark, latex in _MARKS.items():
        text = text.replace(mark, latex)
    return text
