r"""One candidate, chosen on a part of the examples and certified on the others.

The seed and the share are fixed beforehand. Given the rows that choose, the choice is fixed, whatever the rule, and the
number of errors of what was chosen on the other :math:`m` rows is binomial: Clopper and Pearson's limit at
:math:`\delta`, undivided, holds for this **one** candidate. Of the others nothing is stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..wording import at_most, confidence_text, one_line, percentage_at_most
from .limits import clopper_pearson
from .page import Shown, assumption

if TYPE_CHECKING:
    from ..plots import ChoiceDisplay

Counts = NDArray[np.int64]


def divided(examples: int, share: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that choose and the rows that certify, in ascending order."""
    first = math.ceil(share * examples)
    if first >= examples:
        raise InputError(f"choose is {share:g}, which is all of {examples} examples; some must be left to certify.")
    order = np.random.default_rng(seed).permutation(examples)
    return np.sort(order[:first]), np.sort(order[first:])


@dataclass(frozen=True, eq=False, repr=False)
class ChosenCertificate(Shown):
    """What is guaranteed of one candidate that a part of the examples chose.

    ``choosing_errors`` are those of all candidates on the examples that chose, ``errors`` those of the chosen one on
    the ``m`` examples that certify.
    """

    choosing_errors: Counts
    errors: int
    examples: int
    delta: float
    names: list[str]
    share: float
    seed: int

    method = "chosen on a part"
    shown = (
        ("errors, choosing", "errors_choosing", str),
        ("errors, certifying", "errors", "{:.9g}".format),
        ("at most", "bound", at_most),
    )
    fields = "bound single single_name errors m delta method share seed examples names choosing_errors"

    @property
    def single(self) -> int:
        """The candidate with the fewest errors on the examples that chose, the first of several."""
        return int(np.argmin(self.choosing_errors))

    @property
    def m(self) -> int:
        """How many examples certify."""
        return self.examples - math.ceil(self.share * self.examples)

    @cached_property
    def bound(self) -> float:
        """With probability at least ``1 - delta`` the chosen candidate errs with at most this probability.

        Clopper and Pearson's limit of its errors on the rows that certify.
        """
        return float(clopper_pearson(self.errors, self.m, self.delta))

    @property
    def name(self) -> str:
        """The chosen candidate's name."""
        return self.names[self.single]

    @cached_property
    def order(self) -> list[int]:
        """The candidates, the chosen one first."""
        return np.argsort(self.choosing_errors, kind="stable").tolist()

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return the bounds: only the chosen candidate has one."""
        first, chosen = self.choosing_errors, np.arange(len(self.names)) == self.single
        own = {"errors": self.errors, "rate": self.errors / self.m, "bound": self.bound}
        compared = {"errors_choosing": first, "rate_choosing": first / (self.examples - self.m)}
        return compared | {name: np.where(chosen, value, np.nan) for name, value in own.items()}

    def plot(self, ax: Any = None) -> ChoiceDisplay:
        """Return the candidates' errors where they were compared, and the chosen one's bound; needs matplotlib."""
        from ..plots import ChoiceDisplay

        return ChoiceDisplay(self).plot(ax)

    def __repr__(self) -> str:
        known = f"bound={at_most(self.bound, 6)}, name={self.name!r}, m={self.m}, delta={self.delta!r}"
        return f"ChosenCertificate({known}, share={self.share:g}, seed={self.seed})"

    @property
    def sentences(self) -> list[str]:
        first = self.examples - self.m
        return [
            f"With probability at least {confidence_text(self.delta)} over the {self.m} examples that certify:",
            f"  {one_line(self.name)} errs with probability at most {at_most(self.bound)} "
            f"({percentage_at_most(self.bound)}; {self.errors} of {self.m}).",
            f"It was chosen from {len(self.names)} candidates on {first} other examples ({self.share:g} of all, "
            f"drawn with seed {self.seed}), of which it erred on {self.choosing_errors[self.single]}.",
            "An upper limit, not an estimate, and of this candidate alone.",
            assumption("share and seed"),
        ]
