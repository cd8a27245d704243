"""A risk certificate: what is guaranteed, for what, with which confidence, on how many examples."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..immutable import read_only
from ..numerics.elementwise import Array
from ..validation import check_fraction, check_posterior
from ..wording import at_most, confidence_text, one_line
from .limits import levels_of
from .page import Shown, picture

if TYPE_CHECKING:
    from ..plots import CertificateDisplay

_ASSUMPTION = (
    "It assumes that the examples are i.i.d. from the distribution of new examples, and that they were not used to "
    "train, scale, tune or choose the classifiers."
)


class Certificate(Shown):
    """What is guaranteed with probability at least ``1 - delta`` over the ``m`` examples, all at once.

    ``errors`` are the error counts of the H classifiers, or their sums of losses. All bounds hold together, because
    they hold wherever the true risks lie in a set that holds them with that probability. A subclass knows the set: the
    bounds of single classifiers and of any posterior. The smallest bound of a posterior is by default that of the best
    classifier alone.
    """

    errors: NDArray[Any]
    m: int
    delta: float
    _prior: Array | None
    _names: Sequence[str] | None
    _notes: tuple[str, ...]

    #: What a bound is about, in words.
    claim = "errs with probability"
    shown = (("errors", "errors", "{:.9g}".format), ("rate", "rate", "{:.4f}".format), ("at most", "bound", at_most))
    fields = (
        "bound vote_bound single single_name single_bound delta m method empirical_risk support_size notes names "
        "errors prior posterior single_bounds"
    )

    def __init__(
        self,
        errors: NDArray[Any],
        m: int,
        delta: float,
        prior: Array | None = None,
        names: Sequence[str] | None = None,
        **known: Any,
    ) -> None:
        self._set(errors=errors, m=m, delta=delta, _prior=prior, _names=names, _notes=(), **known)

    @property
    def method(self) -> str:
        """Which bound: "tie split", "spread 3", "losses …", or the names of a PAC-Bayes bound."""
        raise NotImplementedError

    @property
    def single_bounds(self) -> Array:
        """The bound of each classifier."""
        raise NotImplementedError

    def _bound_of(self, posterior: Array) -> float:
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the classifier with the smallest bound of its own."""
        return self.names[self.single]

    @cached_property
    def single(self) -> int:
        """The classifier with the smallest bound of its own."""
        return int(np.argmin(self.single_bounds))

    @property
    def single_bound(self) -> float:
        """The bound of that classifier."""
        return float(self.single_bounds[self.single])

    @property
    def bound(self) -> float:
        """A classifier drawn at random from ``posterior`` errs on a new example with probability at most this."""
        return self.single_bound

    @cached_property
    def posterior(self) -> Array:
        """The weights of the random classifier."""
        return read_only((np.arange(self.errors.size) == self.single).astype(np.float64))

    def bound_of(self, posterior: ArrayLike) -> float:
        """Return the bound of any posterior, valid together with all others."""
        return self._bound_of(check_posterior(posterior, self.errors.size))

    def at_level(self, alpha: float) -> list[str]:
        """Return the candidates whose risk is at most ``alpha``, all at once at the certificate's confidence, best
        first.

        You may choose ``alpha`` after looking, and ask for several.
        """
        level = check_fraction("alpha", alpha)
        return [self.names[index] for index in self.order if self.single_bounds[index] <= level]

    @cached_property
    def order(self) -> list[int]:
        """The candidates, the smallest bound first."""
        return np.argsort(self.single_bounds, kind="stable").tolist()

    def _columns(self) -> dict[str, NDArray[Any]]:
        known = {"errors": self.errors, "rate": self.errors / self.m, "bound": self.single_bounds}
        return {**known, "prior": self.prior, "weight": self.posterior}

    def plot(self, ax: Any = None) -> CertificateDisplay:
        """Return the observed errors and the bounds of the best candidates; needs matplotlib."""
        from ..plots import CertificateDisplay

        return CertificateDisplay.from_certificate(self).plot(ax)

    def with_note(self, note: str) -> Certificate:
        """Return the same certificate with one more sentence."""
        other = copy(self)
        other._set(_notes=(*self._notes, note))
        return other

    @property
    def vote_bound(self) -> float:
        r"""The bound of the majority vote weighted by ``posterior``, :math:`\min(1, 2 \cdot bound)`.

        Where the vote errs, classifiers with at least half of the weight err, with any number of classes.
        """
        return min(2.0 * self.bound, 1.0)

    @cached_property
    def prior(self) -> Array:
        """The prior weights; uniform when none were given."""
        return np.full(self.errors.size, 1.0 / self.errors.size) if self._prior is None else self._prior

    @cached_property
    def levels(self) -> Array:
        """delta p_i, rounded down."""
        return levels_of(self.delta, self._prior, self.errors.size)

    @cached_property
    def names(self) -> list[str]:
        """The classifiers' names; their positions when none were given."""
        return [str(position) for position in range(self.errors.size)] if self._names is None else list(self._names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know beside the numbers."""
        vacuous = ("The bound is vacuous: more examples or fewer classifiers are needed.",)
        return (*(vacuous if self.bound >= 1.0 else ()), *self._notes)

    @property
    def empirical_risk(self) -> float:
        """The error rate of the random classifier on the examples."""
        return float(self.posterior @ self.errors) / self.m

    @property
    def support_size(self) -> int:
        """Number of classifiers with positive weight."""
        return int(np.count_nonzero(self.posterior))

    def __repr__(self) -> str:
        bounds = f"bound={at_most(self.bound, 6)}, single={self.single}, single_bound={at_most(self.single_bound, 6)}"
        return f"Certificate({bounds}, m={self.m}, delta={self.delta!r}, method={self.method!r})"

    @property
    def sentences(self) -> list[str]:
        size, some, claim = self.errors.size, self.support_size, self.claim
        own = f"  {one_line(str(self.name))} {claim} at most {at_most(self.single_bound)} "
        own += f"(observed: {self.errors[self.single] / self.m:.4f})"
        statements = [f"{own}."]
        remark = f"It was chosen from {size} classifiers by these examples, which the bound allows for. "
        if some > 1 or not self.posterior[self.single] > 0.0:
            remark = f"The posterior has weight on {some} of {size} classifiers. "
            statements = [
                f"  a classifier drawn at random from the posterior {claim} at most {at_most(self.bound)} "
                f"(observed: {self.empirical_risk:.4f});",
                f"  the majority vote weighted by the posterior {claim} at most {at_most(self.vote_bound)} "
                "(twice that);",
                f"{own}, the smallest bound of one classifier.",
            ]
        return [
            f"With probability at least {confidence_text(self.delta)} over the {self.m} examples, all at once:",
            *statements,
            f"{remark if size > 1 else ''}Method: {self.method}.",
            _ASSUMPTION,
            *self.notes,
        ]

    def _picture(self) -> dict[str, Any]:
        order, rates = self.order[:500], self.errors / self.m
        names = [self.names[index] for index in order]
        return picture(names, self.single_bounds[order], rates[order], 0, "the smallest bound of one candidate")
