"""What a certificate says of each candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

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


@dataclass(eq=False, repr=False)
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

    certificate: Certificate
    most: int = 25

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
        shown, of = self.shown, self.certificate
        # "errs with probability" and "has an expected loss of", for instance.
        axis = "error probability" if "errs" in of.claim else "expected loss"
        with candidate_axes(self, ax, [of.names[index] for index in shown], axis):
            _observed_and_certified(self.ax_, of.errors[shown] / of.m, of.single_bounds[shown], "observed", mfc="white")
            label = "certified for the random classifier"
            self.ax_.axvline(of.bound, color=VERMILION, lw=1.0, ls=":", label=label)
        return self

    def title(self) -> str:
        """What is seen, in one sentence."""
        of = self.certificate
        claim = f"{literal(of.names[of.single], _LONGEST)} {of.claim} at most {at_most(of.single_bound)}"
        return f"With probability at least {confidence_text(of.delta)} over the examples,\n{claim}"


@dataclass(eq=False, repr=False)
class ChoiceDisplay(Display):
    """Errors of the best candidates on the examples that chose, and the bound of the chosen one.

    Parameters
    ----------
    certificate : ChosenCertificate
    most : int
        How many candidates are shown, those with the fewest errors where they were compared.
    """

    certificate: ChosenCertificate
    most: int = 25

    def plot(self, ax: Axes | None = None) -> ChoiceDisplay:
        """Draw on ``ax``, or on a new figure."""
        of = self.certificate
        shown = np.argsort(of.choosing_errors, kind="stable")[: self.most].tolist()
        with candidate_axes(self, ax, [of.names[index] for index in shown], "error probability"):
            rates = of.choosing_errors[shown] / (of.examples - of.m)
            self.ax_.plot(rates, range(len(shown)), "o", mfc="white", mec=GREY, label="choosing")
            _observed_and_certified(self.ax_, [of.errors / of.m], [of.bound], "certifying", mfc=BLUE)
        return self

    def title(self) -> str:
        """What is seen, in one sentence."""
        of = self.certificate
        claim = f"{literal(of.name, _LONGEST)} errs with probability at most {at_most(of.bound)}"
        return f"With probability at least {confidence_text(of.delta)} over {of.m} examples,\n{claim}"


@contextmanager
def candidate_axes(
    display: CertificateDisplay | ChoiceDisplay, ax: Axes | None, names: Sequence[str], axis: str
) -> Iterator[None]:
    """Axes with a candidate per line, the first at the top; title and legend when they are drawn."""
    own, display.ax_ = ax is None, new_axes(ax, height=1.6 + 0.24 * len(names))
    with styled():
        yield
        display.ax_.set_yticks(range(len(names)), [literal(name, _LONGEST) for name in names])
        display.ax_.set(xlabel=axis, ylim=(len(names) - 0.4, -0.6), xlim=(0.0, None))
        display.ax_.grid(axis="y", visible=False)
        if own:
            # Over names and axes: names may be long.
            display.figure_.suptitle(display.title(), fontsize=11.0)
            legend_below(display.ax_, columns=3)
        else:
            display.ax_.set_title(display.title())
            display.ax_.legend(fontsize=8.0)


def _observed_and_certified(ax: Axes, rates: ArrayLike, bounds: ArrayLike, label: str, mfc: str) -> None:
    """What the first candidates did, and at most this is certified."""
    places = np.arange(np.size(rates))
    ax.hlines(places, rates, bounds, color=GREY, lw=1.2)
    ax.plot(rates, places, "o", mfc=mfc, mec=BLUE, label=label)
    ax.plot(bounds, places, "|", color=VERMILION, ms=11, mew=2.2, label="certified: at most this")
