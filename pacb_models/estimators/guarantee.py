"""What is guaranteed about a deployed predictor, in words and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..certificates import certify, clopper_pearson
from ..errors import InputError
from ..html import as_html
from ..validation import check_number
from ..wording import at_least, at_most, confidence_text, one_line, paragraphs, percentage_at_most, share_text
from .members import REFITTED, WEIGHTED

Label = TypeVar("Label")
Risk = Callable[[np.ndarray, np.ndarray], Any]

#: What a statement says, by its kind.
_CLAIMS = {
    "class": "errs on a new example of class {}",
    "prediction": "errs on a new example that it calls {}",
    "group": "errs on a new example of group {}",
    "risk": "makes the event {!r} happen on a new example",
    "accepted": "errs on a new example with a vote share of at least {}",
}
#: The usual names of the rates of errors, among the positive class and among the other.
_RATES = {
    "class": ("false negative rate, 1 - recall", "false positive rate"),
    "prediction": ("false discovery rate, 1 - precision", "false omission rate"),
}


@dataclass(frozen=True)
class Statement:
    """One statement about the deployed predictor, which holds together with the others.

    Attributes
    ----------
    kind : "class", "prediction", "group", "risk" or "accepted"
    about : str
        The class, the class that was predicted, the group, the event or the threshold.
    errors, examples : float, int
        Errors or events (their mean over the posterior for a random predictor) among so many examples of this kind.
    bound, delta : float
        The probability of an error on a new example of this kind is at most this; the part of delta that it takes.
    least : float
        What the bound would be without an error: with few examples of this kind it is large, whatever happens.
    accepted : float, optional
        With a threshold: at least this share of new examples is accepted.
    """

    kind: str
    about: str
    errors: float
    examples: int
    bound: float
    delta: float
    least: float = 0.0
    accepted: float | None = None

    @property
    def hopeless(self) -> bool:
        """Whether there are too few examples for a bound that says something."""
        return self.least >= 0.5

    def __str__(self) -> str:
        share = "" if self.accepted is None else f"; at least {at_least(self.accepted)} of new examples have that"
        return (
            f"{_CLAIMS[self.kind].format(self.about)} with probability at most {at_most(self.bound)} "
            f"({self.errors:.9g} of {self.examples}; delta {share_text(self.delta)}){share}"
        )


@dataclass(frozen=True)
class Guarantee:
    """What holds, with probability at least ``1 - total_delta`` over the held-out sample, about the deployed predictor.

    Attributes
    ----------
    predictor : str
        What is deployed.
    bound : float
        Its probability of an error on a new example is at most this.
    errors, examples : float, int
        Its errors (a mean over the posterior for a random predictor) on so many held-out examples.
    total_delta, delta : float
        All of delta, and the part of it that the overall statement takes.
    candidates, choosing : int
        From how many candidates it was chosen, on how many other examples; 0 where the held-out examples did it and
        the choice is paid for.
    statements : tuple of Statement
        Finer ones, on request.
    refitted, weighted : bool
        Whether the members that predict were trained again on all data (the guarantee is about those before), and
        whether training weighed its examples (held-out ones count alike).
    """

    predictor: str
    bound: float
    errors: float
    examples: int
    total_delta: float
    delta: float
    candidates: int
    statements: tuple[Statement, ...] = ()
    refitted: bool = False
    weighted: bool = False
    choosing: int = 0

    @property
    def chosen(self) -> str:
        """How it was chosen, in a sentence; empty where there was no choice."""
        if self.candidates == 1:
            return ""
        how = f"on {self.choosing} other examples" if self.choosing else "by these examples, which the bound allows for"
        return f"It was chosen from {self.candidates} candidates {how}."

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready values."""
        return asdict(self)

    def __str__(self) -> str:
        return paragraphs(self.sentences)

    @property
    def sentences(self) -> list[str]:
        """What is guaranteed, how, and what it assumes; an item of a list begins with two spaces."""
        part, together = "", ""
        if self.statements:
            part, together = f"; delta {share_text(self.delta)}", " all of this together:"
        overall = f"errs on a new example with probability at most {at_most(self.bound)} "
        overall += f"({percentage_at_most(self.bound)}; {self.errors:.9g} of {self.examples}{part})"
        *claims, last = [f"  {claim}" for claim in (overall, *self.statements)]
        confidence = confidence_text(self.total_delta)
        lines = [
            f"With probability at least {confidence} over the {self.examples} held-out examples,{together}",
            f"  {one_line(self.predictor)}",
            *(f"{claim};" for claim in claims),
            f"{last}.",
            self.chosen,
            "It is an upper limit, not an estimate. It assumes that the held-out examples are i.i.d. from the "
            "distribution of new examples, and that they were not used to train, scale or choose anything before.",
            *self.too_few,
            "The bound is vacuous: more held-out examples or fewer candidates are needed." if self.bound >= 1.0 else "",
            WEIGHTED if self.weighted else "",
            REFITTED if self.refitted else "",
        ]
        return [line for line in lines if line]

    @property
    def too_few(self) -> list[str]:
        """A warning for each statement that could not have said anything."""
        even = "and even without an error its bound would be"
        return [
            f"Too few examples: {each.kind} {each.about} has {each.examples}, {even} {at_most(each.least, 2)}."
            for each in self.statements
            if each.hopeless
        ]

    def _repr_html_(self) -> str:
        of = self.statements
        rows = [(f"{s.kind} {s.about}", f"{s.errors:.9g} of {s.examples}", at_most(s.bound)) for s in of]
        headline, predictor, claim, *others = self.sentences
        lines = [headline, f"{predictor} {claim.strip()}", *others]
        return as_html(lines, ("among", "errors", "at most"), rows, len(rows))


class Requests(NamedTuple):
    """Which finer statements are wanted; fixed before a held-out label is read, as are the shares of delta.

    The overall statement keeps half of delta, the kinds asked for share the other half equally, and within a kind its
    statements do. How many classes or groups there are may depend on the sample: given the labels (or the groups) the
    counts of different ones are independent binomial, so a kind holds with its share, whatever their number.
    """

    per_class: bool = False
    per_prediction: bool = False
    positive: Any = None
    groups: np.ndarray | None = None
    risks: Mapping[str, Risk] | None = None
    thresholds: tuple[float, ...] = ()

    def shares(self, delta: float) -> tuple[float, float]:
        """Return what the overall statement takes of delta, and what each kind does."""
        asked = self.per_class, self.per_prediction, self.groups is not None, self.risks, self.thresholds
        kinds = sum(map(bool, asked))
        return (0.5 * delta, 0.5 * delta / kinds) if kinds else (delta, 0.0)

    def statements(self, evidence: Evidence, delta: float) -> tuple[Statement, ...]:
        """Return all statements that were asked for; ``delta`` is that of each kind."""
        labels, predictions = evidence.labels, evidence.predictions
        wrong, deployed = predictions != labels, int(np.argmax(evidence.posterior))
        # By kind: about what, which events, among which examples.
        kinds: dict[str, list[tuple[str, np.ndarray, np.ndarray]]] = {}
        # Given the features it is fixed which examples a candidate calls so, and which ones it accepts; errors among
        # them are binomial.
        said, shares = predictions[deployed], evidence.shares[deployed]
        for kind, wanted, column in (("class", self.per_class, labels), ("prediction", self.per_prediction, said)):
            if wanted:
                kinds[kind] = [(_named(kind, each, self.positive), wrong, column == each) for each in evidence.classes]
        if self.groups is not None:
            groups = np.unique(self.groups).tolist()
            kinds["group"] = [(repr(group), wrong, self.groups == group) for group in groups]
        if self.risks:
            everything = np.ones(len(labels), dtype=bool)
            events = {name: _events(name, risk, labels, predictions) for name, risk in self.risks.items()}
            kinds["risk"] = [(name, happened, everything) for name, happened in events.items()]
        if self.thresholds:
            kinds["accepted"] = [(str(threshold), wrong, shares >= threshold) for threshold in self.thresholds]
        every = [(kind, *each, delta / len(asked)) for kind, asked in kinds.items() for each in asked]
        return tuple(evidence.statement(*each) for each in every)


class Evidence(NamedTuple):
    """Held-out labels beside what the candidates said of these examples, and the posterior that is deployed."""

    labels: np.ndarray
    classes: np.ndarray
    predictions: np.ndarray
    shares: np.ndarray
    prior: np.ndarray
    posterior: np.ndarray

    def bound(self, counts: np.ndarray, examples: int, delta: float) -> float:
        """Return a bound on the mean of the candidates' event probabilities under the posterior."""
        if examples == 0:
            return 1.0
        deployed = np.flatnonzero(self.posterior)
        if deployed.size > 1:
            return float(certify(counts, examples, delta, self.prior).bound_of(self.posterior))
        return float(clopper_pearson(counts[deployed[0]], examples, delta * self.prior[deployed[0]]))

    def statement(self, kind: str, about: str, events: np.ndarray, rows: np.ndarray, delta: float) -> Statement:
        """Return the statement about ``events`` (C × n) among the examples ``rows`` (a mask).

        Among accepted examples it takes half of delta, and the share of these the other half.
        """
        counts, examples = np.count_nonzero(events[:, rows], axis=1), int(np.count_nonzero(rows))
        accepted, part = None, delta
        if kind == "accepted":
            part = delta / 2.0
            refused = self.bound(np.full_like(counts, len(rows) - examples), len(rows), part)
            accepted = max(0.0, float(np.nextafter(1.0 - refused, 0.0)))
        bound, least = (self.bound(seen, examples, part) for seen in (counts, np.zeros_like(counts)))
        return Statement(kind, about, float(self.posterior @ counts), examples, bound, delta, least, accepted)


def _named(kind: str, label: Any, positive: Any) -> str:
    """Return the class, and the usual name of the rate of its errors where one class is said to be positive."""
    name = repr(np.asarray(label).tolist())
    return name if positive is None else f"{name} ({_RATES[kind][0 if label == positive else 1]})"


def _events(name: str, risk: Risk, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return which predictions (C × n) are an event of this kind."""
    rows = [np.asarray(risk(labels, prediction)) for prediction in predictions]
    for events in rows:
        if events.shape != labels.shape or not np.isin(events, (0, 1)).all():
            said = f"{events.dtype} values of shape {events.shape} for {len(labels)} examples"
            raise InputError(f"risk {name!r} returned {said}; it must return 0 or 1 for each.")
    return np.array(rows, dtype=bool)


def check_positive_class(positive: Label, classes: np.ndarray) -> Label:
    """Check that it is one of two classes."""
    known = classes.tolist()
    if positive is not None and (len(known) != 2 or positive not in known):
        raise InputError("positive", positive, f"it must be one of two classes, and the classes are {known!r}")
    return positive


def check_events(risk: Any) -> dict[str, Risk]:
    """Return the events of ``risk=``: a function, or several by name."""
    if risk is None:
        return {}
    named = dict(risk) if isinstance(risk, Mapping) else {getattr(risk, "__name__", "the risk"): risk}
    for name, function in named.items():
        if not callable(function):
            raise InputError(f"risk[{name!r}]", function, "it must be a function of (y, prediction)")
    return named


def check_thresholds(abstain: Any) -> tuple[float, ...]:
    """Return the vote shares of ``abstain=``: numbers in (0, 1]."""
    if abstain is None:
        return ()
    listed = abstain if isinstance(abstain, (list, tuple, np.ndarray)) else [abstain]
    expected = "every threshold must be a vote share above 0 and at most 1"
    return tuple(check_number("abstain", value, lambda share: 0.0 < share <= 1.0, expected) for value in listed)
