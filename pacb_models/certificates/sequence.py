r"""A level that is fixed beforehand: candidates in a fixed order, each at the whole confidence, to the first failure.

A candidate passes if Clopper and Pearson's limit of its errors at :math:`\delta` is at most the level :math:`\alpha`.
Let i be the first in the order whose risk is above :math:`\alpha`, if there is one. Something false is said only if i
passes, which has probability at most :math:`\delta`: the candidates before it are within the level, and those after it
are looked at only if it passes. So all that pass before the first failure hold together, and no candidate pays for the
number of the others. (Holm's and Bonferroni's tests, and bounds that hold for every level at once, do pay.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..validation import first_repeated
from ..wording import confidence_text, delta_text, one_line, percentage
from .limits import limit
from .page import Shown, assumption


def check_sequence(order: Iterable[str] | None, names: Sequence[str]) -> list[int]:
    """Return the candidates' positions in the order of their names; all as they come without an order."""
    if order is None:
        return list(range(len(names)))
    if isinstance(order, str) or not isinstance(order, Iterable) or getattr(order, "ndim", 1) != 1:
        raise InputError("order", order, "it must be a sequence of the candidates' names")
    wanted = [str(name) for name in order]
    twice, unknown = first_repeated(wanted), [name for name in wanted if name not in names]
    if twice is not None:
        raise InputError(f"order has {twice!r} more than once; a candidate is tested once.")
    if unknown or not wanted:
        said = f"has {unknown[0]!r}" if unknown else "is empty"
        raise InputError(f"order {said}; it must hold names of candidates, such as {names[0]!r}.")
    return [list(names).index(name) for name in wanted]


@dataclass(frozen=True, eq=False, repr=False)
class LevelCertificate(Shown):
    """Which candidates have a risk of at most ``level``, tested in the order of ``names``.

    ``errors`` are those on the ``m`` examples, in that order; what stands after the first failure was not tested.
    """

    errors: NDArray[np.int64]
    m: int
    delta: float
    level: float
    names: list[str]

    method = "a level fixed beforehand"
    shown = (("errors", "errors", str), ("rate", "rate", percentage), ("result", "result", str))
    fields = "level certified name m delta allowed names errors method"

    @cached_property
    def allowed(self) -> int:
        """With at most so many errors a candidate passes; -1 if none would do."""
        return bisect_left(range(self.m), True, key=lambda k: limit(k, self.m, self.delta) > self.level) - 1

    @cached_property
    def certified(self) -> list[str]:
        """With probability at least ``1 - delta`` each of these errs with probability at most ``level``."""
        failed = np.flatnonzero(self.errors > self.allowed)
        return self.names[: failed[0] if failed.size else len(self.names)]

    @property
    def name(self) -> str | None:
        """The one of them with the fewest errors, the first of several; None where nothing passed."""
        return self.names[int(np.argmin(self.errors[: len(self.certified)]))] if self.certified else None

    def _columns(self) -> dict[str, NDArray[Any]]:
        results = np.full(len(self.names), "not tested", dtype=object)
        passed = len(self.certified)
        results[:passed], results[passed : passed + 1] = "passed", "failed"
        return {"errors": self.errors, "rate": self.errors / self.m, "result": results}

    def __repr__(self) -> str:
        known = f"level={self.level:g}, certified={len(self.certified)} of {len(self.names)}"
        return f"LevelCertificate({known}, m={self.m}, delta={self.delta!r})"

    @property
    def sentences(self) -> list[str]:
        number, passed = len(self.names), len(self.certified)
        counted = zip(self.certified[:10], self.errors.tolist())
        claims = [f"  {one_line(name)} ({k} of {self.m}, {percentage(k / self.m)})" for name, k in counted]
        statement = f"Nothing is guaranteed: the first candidate in the order, {one_line(self.names[0])}, failed."
        if passed:
            statement = (
                f"With probability at least {confidence_text(self.delta)} over the {self.m} examples "
                f"{f'each of {passed} candidates' if passed > 1 else 'one candidate'} errs on a new example with "
                f"probability at most {delta_text(self.level)}."
            )
        allowed = f"could err on {self.allowed} at most" if self.allowed >= 0 else "would need more examples"
        ended = f"{one_line(self.names[passed])} erred on {self.errors[passed]}" if passed < number else "none failed"
        return [
            statement,
            *claims,
            *([f"  and {passed - len(claims)} more"] if passed > len(claims) else []),
            f"The level {delta_text(self.level)} and the order of the {number} candidates were fixed beforehand. Each "
            f"was tested at the whole delta, up to the first failure: to pass it {allowed}; {ended}.",
            assumption("the level and the order"),
        ]
