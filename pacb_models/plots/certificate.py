"""What a certificate says of each candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..certificates import Certificate
from ..validation import check_count
from ..wording import at_most
from .display import Display
from .style import BLUE, GREY, VERMILION, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        return cls(certificate, check_count("most", most))

    @property
    def shown(self) -> list[int]:
        """The candidates that are drawn, best first."""
        return np.argsort(self.certificate.single_bounds, kind="stable")[: self.most].tolist()

    def plot(self, ax: Axes | None = None) -> CertificateDisplay:
        """Draw on ``ax``, or on a new figure."""
        shown, certificate = self.shown, self.certificate
        self.ax_ = ax = new_axes(ax, height=1.6 + 0.24 * len(shown))
        rates = np.asarray(certificate.errors)[shown] / certificate.m
        bounds = certificate.single_bounds[shown]
        places = np.arange(len(shown))
        with styled():
            ax.hlines(places, rates, bounds, color=GREY, lw=1.2)
            ax.plot(rates, places, "o", mfc="white", mec=BLUE, label="observed error")
            ax.plot(bounds, places, "|", color=VERMILION, ms=11, mew=2.2, label="certified: errs at most this often")
            ax.axvline(certificate.bound, color=VERMILION, lw=1.0, ls=":", label="certified for the random classifier")
            ax.set_yticks(places, [certificate.names[index] for index in shown])
            ax.set(xlabel="error probability", ylim=(len(shown) - 0.4, -0.6), title=self.title())
            ax.set_xlim(left=min(0.0, float(rates.min())))
            ax.legend(fontsize=8.0, loc="best")
            ax.grid(axis="y", visible=False)
        return self

    def title(self) -> str:
        """What is seen, in one sentence."""
        certificate = self.certificate
        name = certificate.names[certificate.single]
        return f"{name} errs with probability at most {at_most(certificate.single_bound)}"
