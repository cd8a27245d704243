"""What a certificate says of each candidate, and whether its risk has risen since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..certificates import Certificate, ChosenCertificate, RiskMonitor
from ..errors import InputError
from ..validation import check_count
from ..wording import at_most, confidence_text
from .display import Axes, Display
from .style import BLUE, GREY, VERMILION, literal

#: Characters of a name that are shown.
_LONGEST = 32


class _CandidatesDisplay(Display):
    """A candidate per line, the first at the top."""

    certificate: Any
    most: int

    @property
    def shown(self) -> list[int]:
        """The candidates that are drawn, best first."""
        return self.certificate.order[: self.most]

    def _height(self) -> float:
        return 1.6 + 0.24 * len(self.shown)

    def _lines(self, ax: Axes, rates: ArrayLike, bounds: ArrayLike, label: str, mfc: str) -> None:
        """Draw what the first candidates did, and that at most this is certified."""
        places = np.arange(np.size(rates))
        ax.hlines(places, rates, bounds, color=GREY, lw=1.2)
        ax.plot(rates, places, "o", mfc=mfc, mec=BLUE, label=label)
        ax.plot(bounds, places, "|", color=VERMILION, ms=11, mew=2.2, label="certified: at most this")

    def _finish(self, own: bool) -> None:
        names = [literal(self.certificate.names[index], _LONGEST) for index in self.shown]
        self.ax_.set_yticks(range(len(names)), names)
        self.ax_.set(ylim=(len(names) - 0.4, -0.6), xlim=(0.0, None))
        self.ax_.grid(axis="y", visible=False)
        if not own:
            return super()._finish(own)
        # Over and under names and axes: names may be long.
        self.figure_.suptitle(self.title(), fontsize=11.0)
        self.figure_.legend(loc="outside lower center", fontsize=8.0, ncols=3, markerscale=0.65)


@dataclass(eq=False, repr=False)
class CertificateDisplay(_CandidatesDisplay):
    """Observed error and certified bound of the best candidates, and the bound of the random classifier.

    ``most`` candidates are shown, those with the smallest bounds.
    """

    certificate: Certificate
    most: int = 25

    @classmethod
    def from_certificate(cls, certificate: Certificate, most: int = 25) -> CertificateDisplay:
        """Return a display of the candidates with the smallest bounds."""
        if not isinstance(certificate, Certificate):
            raise InputError("certificate", certificate, "it must be what pm.certify returned")
        return cls(certificate, check_count("most", most))

    def _draw(self, ax: Axes) -> None:
        shown, of = self.shown, self.certificate
        self._lines(ax, of.errors[shown] / of.m, of.single_bounds[shown], "observed", mfc="white")
        ax.axvline(of.bound, color=VERMILION, lw=1.0, ls=":", label="certified for the random classifier")
        # "errs with probability" and "has an expected loss of", for instance.
        ax.set_xlabel("error probability" if "errs" in of.claim else "expected loss")

    def title(self) -> str:
        of = self.certificate
        claim = f"{literal(of.names[of.single], _LONGEST)} {of.claim} at most {at_most(of.single_bound)}"
        return f"With probability at least {confidence_text(of.delta)} over the examples,\n{claim}"


@dataclass(eq=False, repr=False)
class ChoiceDisplay(_CandidatesDisplay):
    """Errors of the best candidates on the examples that chose, and the bound of the chosen one.

    ``most`` candidates are shown, those with the fewest errors where they were compared.
    """

    certificate: ChosenCertificate
    most: int = 25

    def _draw(self, ax: Axes) -> None:
        shown, of = self.shown, self.certificate
        rates = of.choosing_errors[shown] / (of.examples - of.m)
        ax.plot(rates, range(len(shown)), "o", mfc="white", mec=GREY, label="choosing")
        self._lines(ax, [of.errors / of.m], [of.bound], "certifying", mfc=BLUE)
        ax.set_xlabel("error probability")

    def title(self) -> str:
        of = self.certificate
        claim = f"{literal(of.name, _LONGEST)} errs with probability at most {at_most(of.bound)}"
        return f"With probability at least {confidence_text(of.delta)} over {of.m} examples,\n{claim}"


@dataclass(eq=False, repr=False)
class MonitorDisplay(Display):
    """The evidence of a :class:`~pacb_models.RiskMonitor` after each update, and where the alarm is."""

    monitor: RiskMonitor

    def _draw(self, ax: Axes) -> None:
        of = self.monitor
        if not of.history:
            raise InputError("the monitor has seen no examples; there is nothing to draw.")
        examples, _, wealth = zip((0, 0.0, 1.0), *of.history, strict=True)
        ax.plot(examples, wealth, color=BLUE, marker=".")
        ax.axhline(1.0 / of.delta, color=VERMILION, ls="--", lw=1.2)
        ax.annotate("alarm", (0.0, 1.0 / of.delta), xytext=(2, 3), textcoords="offset points", color=VERMILION)
        if of.alarm is not None:
            ax.axvline(of.alarm, color=GREY, lw=0.8)
        ax.set(yscale="log", xlabel="examples since deployment", ylabel="evidence of a larger risk")

    def title(self) -> str:
        of = self.monitor
        if of.alarm is None:
            return f"No alarm in {of.examples} examples"
        return f"Alarm after {of.alarm} examples: the risk is above {of.bound:.3g}"
