"""What a certificate says of each candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..certificates import Certificate, ChosenCertificate
from ..errors import InputError
from ..validation import check_count
from ..wording import at_most, confidence_text
from .display import Display
from .style import BLUE, GREY, VERMILION, legend_below, literal, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of a name that are shown.
_LONGEST = 32


class CertificateDisplay(Display):
    """Observed error and certified bound of the best candidates, and the bound of the random classifier.

    Parameters
    ----------
    certificate : Certificate
    most : int
        How many candidates are shown, those with the smallest bounds.

    Examples
    --------
    >>> import pacb_models as pm
    >>> from pacb_models.plots import CertificateDisplay
    >>> display = CertificateDisplay.from_certificate(pm.certify([25, 23, 21, 35, 50], m=549))
    >>> display.shown[0] == display.certificate.single
    True
    """

    def __init__(self, certificate: Certificate, most: int = 25) -> None:
        self.certificate = certificate
        self.most = most

    @classmethod
    def from_certificate(cls, certificate: Certificate, most: int = 25) -> CertificateDisplay:
        """A display of the candidates with the smallest bounds."""
        if not isinstance(certificate, Certificate):
            raise InputError(f"certificate is {certificate!r}; it must be what pm.certify returned.")
        return cls(certificate, check_count("most", most))

    @property
    def shown(self) -> list[int]:
        """The candidates that are drawn, best first."""
        return np.argsort(self.certificate.single_bounds, kind="stable")[: self.most].tolist()

    def plot(self, ax: Axes | None = None) -> CertificateDisplay:
        """Draw on ``ax``, or on a new figure."""
        shown, certificate = self.shown, self.certificate
        own, self.ax_ = ax is None, new_axes(ax, height=1.6 + 0.24 * len(shown))
        ax = self.ax_
        rates = np.asarray(certificate.errors)[shown] / certificate.m
        bounds = certificate.single_bounds[shown]
        places = np.arange(len(shown))
        with styled():
            ax.hlines(places, rates, bounds, color=GREY, lw=1.2)
            ax.plot(rates, places, "o", mfc="white", mec=BLUE, label="observed")
            ax.plot(bounds, places, "|", color=VERMILION, ms=11, mew=2.2, label="certified: at most this")
            ax.axvline(certificate.bound, color=VERMILION, lw=1.0, ls=":", label="certified for the random classifier")
            ax.set_yticks(places, [literal(certificate.names[index], _LONGEST) for index in shown])
            ax.set(xlabel=self._axis(), ylim=(len(shown) - 0.4, -0.6), xlim=(0.0, None))
            ax.grid(axis="y", visible=False)
            if own:
                # Over names and axes: names may be long.
                self.figure_.suptitle(self.title(), fontsize=11.0)
                legend_below(ax, columns=3)
            else:
                ax.set_title(self.title())
                ax.legend(fontsize=8.0)
        return self

    def title(self) -> str:
        """What is seen, in one sentence."""
        certificate = self.certificate
        name = literal(certificate.names[certificate.single], _LONGEST)
        claim = f"{name} {certificate.confidence_set.claim} at most {at_most(certificate.single_bound)}"
        return f"With probability at least {confidence_text(certificate.delta)} over the examples,\n{claim}"

    def _axis(self) -> str:
        # "errs with probability" and "has an expected loss of", for instance.
        return "error probability" if "errs" in self.certificate.confidence_set.claim else "expected loss"


class ChoiceDisplay(Display):
    """Errors of the best candidates on the examples that chose, and the bound of the chosen one.

    Parameters
    ----------
    certificate : ChosenCertificate
    most : int
        How many candidates are shown, those with the fewest errors where they were compared.
    """

    def __init__(self, certificate: ChosenCertificate, most: int = 25) -> None:
        self.certificate = certificate
        self.most = most

    def plot(self, ax: Axes | None = None) -> ChoiceDisplay:
        """Draw on ``ax``, or on a new figure."""
        of = self.certificate
        shown = np.argsort(of.choosing_errors, kind="stable")[: self.most].tolist()
        own, self.ax_ = ax is None, new_axes(ax, height=1.6 + 0.24 * len(shown))
        ax = self.ax_
        first = of.examples - of.m
        with styled():
            ax.plot(of.choosing_errors[shown] / first, range(len(shown)), "o", mfc="white", mec=GREY, label="choosing")
            ax.hlines([0], [of.errors / of.m], [of.bound], color=GREY, lw=1.2)
            ax.plot([of.errors / of.m], [0], "o", color=BLUE, label="certifying")
            ax.plot([of.bound], [0], "|", color=VERMILION, ms=11, mew=2.2, label="certified: at most this")
            ax.set_yticks(range(len(shown)), [literal(of.names[index], _LONGEST) for index in shown])
            ax.set(xlabel="error probability", ylim=(len(shown) - 0.4, -0.6), xlim=(0.0, None))
            ax.grid(axis="y", visible=False)
            if own:
                self.figure_.suptitle(self.title(), fontsize=11.0)
                legend_below(ax, columns=3)
            else:
                ax.set_title(self.title())
                ax.legend(fontsize=8.0)
        return self

    def title(self) -> str:
        """What is seen, in one sentence."""
        of = self.certificate
        claim = f"{literal(of.name, _LONGEST)} errs with probability at most {at_most(of.bound)}"
        return f"With probability at least {confidence_text(of.delta)} over {of.m} examples,\n{claim}"
