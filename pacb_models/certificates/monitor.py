r"""After deployment: has the risk risen above what was guaranteed?

While the risk is at most b, every product :math:`\prod_{s < t} (1 + \lambda (x_t - b))` of errors
:math:`x_t \in [0, 1]` with :math:`0 \le \lambda \le 1/b`, begun at any time s, is a non-negative supermartingale of
mean at most one. So is a mixture over bets :math:`\lambda` and times s with weights that are fixed beforehand. By
Ville's inequality it ever reaches :math:`1/\delta` with probability at most :math:`\delta`, over all time:
that is the alarm.

Begun at one time only, it would have lost its wealth in the good time before a change; the weights of later times fall
like :math:`1/(t \ln^2 t)`, which costs a little more than a logarithm of the time.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..files import reading, write_atomically
from ..html import as_html
from ..numerics.elementwise import Array
from ..validation import check_delta, check_number, real_numbers
from ..wording import delta_text, paragraphs

if TYPE_CHECKING:
    from ..plots import MonitorDisplay

#: Risks that the bets are best against, as parts of the way from the bound to one, on a scale from 1/100 to 1/2.
_BETS = 8


def bets(bound: float) -> Array:
    """Return the parts of the wealth, each the best one against some larger risk r: (r - b)/(b (1 - b))."""
    risks = bound + (1.0 - bound) * np.geomspace(0.01, 0.5, _BETS)
    # With a bound of nearly zero every error is an alarm; so large a bet needs no more room than this.
    return (risks - bound) / (max(bound, 1e-12) * (1.0 - bound))


def not_begun(t: float) -> float:
    """Return the weight of all starts after ``t`` examples."""
    return 1.0 / (1.0 + math.log1p(t))


def step(started: Array, t: int, losses: ArrayLike, bound: float) -> Array:
    """Return the wealth of the products that have begun, after example ``t`` (from 1); a row of bets for each
    sequence."""
    factor = 1.0 + bets(bound) * (np.asarray(losses, dtype=np.float64)[..., None] - bound)
    weight = (not_begun(t - 1) - not_begun(t)) / _BETS
    return np.minimum((started + weight) * factor, 1e300)


class RiskMonitor:
    """Watch the errors of a deployed classifier, one after the other.

    If its risk is at most ``bound`` all the time, the probability of ever having an alarm is at most ``delta``, however
    long it runs and however often it is looked at.

    Parameters
    ----------
    bound : float
        The risk that was guaranteed.
    delta : float
    guaranteed : bool
        Whether the guarantee is about the classifier that is watched, and not about one that it was trained from.

    Attributes
    ----------
    examples : int
    errors : float
        Errors (or losses) so far.
    wealth : float
        The evidence against ``bound``; an alarm when it has reached ``1 / delta``.
    alarm : int or None
        After how many examples the alarm came. It stays.

    Examples
    --------
    >>> monitor = RiskMonitor(0.05)
    >>> monitor.update([0] * 95 + [1] * 5).alarm
    >>> monitor.update([0, 0, 1, 0, 1, 0, 0, 1, 0, 1] * 6).alarm is not None
    True
    """

    def __init__(self, bound: float, delta: float = 0.05, *, guaranteed: bool = True) -> None:
        self.bound = check_number("bound", bound, lambda b: 0.0 <= b < 1.0, "it must be a risk from 0 to below 1")
        self.delta = check_delta(delta)
        self.guaranteed = guaranteed
        self.examples = 0
        self.errors = 0.0
        self.alarm: int | None = None
        self.history: list[tuple[int, float, float]] = []
        self._started: Array = np.zeros(_BETS)

    @property
    def wealth(self) -> float:
        """The evidence against the bound."""
        return float(self._started.sum()) + not_begun(self.examples)

    def update(self, errors: ArrayLike) -> RiskMonitor:
        """Take the next examples in their order: whether each was an error (0 or 1), or its loss in between."""
        losses = np.atleast_1d(real_numbers("errors", errors, "a sequence of numbers"))
        if losses.ndim != 1 or not np.all((losses >= 0.0) & (losses <= 1.0)):
            raise InputError("errors must be one-dimensional with 0, 1 or a number in between for each example.")
        for loss in losses.tolist():
            self.examples += 1
            self.errors += loss
            self._started = step(self._started, self.examples, loss, self.bound)
            if self.alarm is None and self.wealth >= 1.0 / self.delta:
                self.alarm = self.examples
        if losses.size:
            self.history.append((self.examples, self.errors, self.wealth))
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return the whole state as JSON-ready values."""
        plain = ("bound", "delta", "guaranteed", "examples", "errors", "wealth", "alarm")
        return {
            **{name: getattr(self, name) for name in plain},
            "history": [list(entry) for entry in self.history],
            "started": self._started.tolist(),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state as JSON."""
        write_atomically(path, json.dumps(self.as_dict(), indent=1) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RiskMonitor:
        """Return a monitor that goes on where the saved one stopped."""
        with reading(path, "the state of a monitor "):
            state = json.loads(Path(path).read_text(encoding="utf-8"))
            monitor = cls(state["bound"], state["delta"], guaranteed=bool(state.get("guaranteed", True)))
            monitor.examples, monitor.errors = int(state["examples"]), float(state["errors"])
            monitor.alarm = None if state["alarm"] is None else int(state["alarm"])
            monitor.history = [(int(n), float(k), float(w)) for n, k, w in state["history"]]
            monitor._started = np.array(state["started"], dtype=np.float64).reshape(_BETS)
        return monitor

    def plot(self, ax: Any = None) -> MonitorDisplay:
        """Return the evidence over time, and the errors; needs matplotlib."""
        from ..plots import MonitorDisplay

        return MonitorDisplay(self).plot(ax)

    def __repr__(self) -> str:
        known = f"bound={self.bound!r}, delta={self.delta!r}"
        return f"RiskMonitor({known}, examples={self.examples}, alarm={self.alarm!r})"

    def __str__(self) -> str:
        return paragraphs(self._lines())

    def _lines(self) -> list[str]:
        seen = f"{self.errors:.9g} of {self.examples} examples since deployment are errors"
        held = f"the risk is at most {delta_text(self.bound)}{', as guaranteed' if self.guaranteed else ''}"
        other = "Nothing is guaranteed of this classifier: the bound is about the one before it was trained again."
        if self.alarm is None:
            verdict = f"No alarm: {seen}, which does not contradict that {held}."
        else:
            verdict = f"Alarm after {self.alarm} examples: {seen}. It is no longer plausible that {held}."
        return [
            verdict,
            *(() if self.guaranteed else (other,)),
            f"While that is true, the probability that there is ever an alarm is at most {delta_text(self.delta)}.",
            f"Evidence {self.wealth:.3g}; the alarm is at {1.0 / self.delta:.3g}.",
        ]

    def _repr_html_(self) -> str:
        return as_html(self._lines(), (), (), 0)
