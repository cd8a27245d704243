"""What is guaranteed about a deployed predictor, in words and numbers."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..certificates import certify, clopper_pearson
from ..errors import InputError
from ..html import as_html
from ..wording import at_least, at_most, confidence_text, one_line, paragraphs, percentage_at_most, share_text
from .candidates import Poll
from .members import REFITTED, WEIGHTED

Risk = Callable[[np.ndarray, np.ndarray], Any]


#: What a statement says, by its kind.
_CLAIMS = {
    "class": "errs on a new example of class {}",
    "prediction": "errs on a new example that it calls {}",
    "group": "errs on a new example of group {}",
    "risk": "makes the event {!r} happen on a new example",
    "accepted": "errs on a new example with a vote share of at least {}",
}


@dataclass(frozen=True)
class Statement:
    """One statement about the deployed predictor, which holds together with the others.

    Attributes
    ----------
    kind : "class", "prediction", "group", "risk" or "accepted"
    about : str
        The class, the class that was predicted, the group, the event or the threshold, as text.
    errors : float
        Errors (or events) that were counted; their mean over the posterior for a random predictor.
    examples : int
        Among so many held-out examples of this kind.
    bound : float
        The probability of an error on a new example of this kind is at most this.
    delta : float
        The part of the confidence parameter that the statement takes.
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
        said = (
            f"{_CLAIMS[self.kind].format(self.about)} with probability at most {at_most(self.bound)} "
            f"({self.errors:.9g} of {self.examples}; delta {share_text(self.delta)})"
        )
        if self.accepted is None:
            return said
        return f"{said}; at least {at_least(self.accepted)} of new examples have that"


@dataclass(frozen=True)
class Guarantee:
    """What holds, with probability at least ``1 - total_delta`` over the held-out sample, about the deployed predictor.

    Attributes
    ----------
    predictor : str
        What is deployed.
    bound : float
        Its probability of an error on a new example is at most this.
    errors : float
        Its errors on the held-out examples (a mean over the posterior for a random predictor).
    examples : int
        How many held-out examples there were.
    total_delta : float
        All statements hold together with probability at least one minus this.
    delta : float
        The part of it that the overall statement takes.
    candidates : int
        From how many candidates it was chosen; the choice is paid for.
    choosing : int
        On how many other examples it was chosen; 0 where the held-out examples did it.
    statements : tuple of Statement
        Finer statements, on request.
    refitted : bool
        True when the members that predict were trained again on all data; the guarantee is about those before.
    weighted : bool
        True when training weighed its examples; held-out ones count alike.
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
        """The fields as JSON-ready values."""
        return asdict(self)

    def __str__(self) -> str:
        return paragraphs(self.sentences)

    @property
    def sentences(self) -> list[str]:
        """What is guaranteed, how, and what it assumes; an item of a list begins with two spaces."""
        more = bool(self.statements)
        counted = f"{self.errors:.9g} of {self.examples}" + (f"; delta {share_text(self.delta)}" if more else "")
        *claims, last = [
            f"  errs on a new example with probability at most {at_most(self.bound)} "
            f"({percentage_at_most(self.bound)}; {counted})",
            *(f"  {statement}" for statement in self.statements),
        ]
        lines = [
            f"With probability at least {confidence_text(self.total_delta)} over the {self.examples} held-out examples,"
            + (" all of this together:" if more else ""),
            f"  {one_line(self.predictor)}",
            *(f"{claim};" for claim in claims),
            f"{last}.",
        ]
        if self.chosen:
            lines.append(self.chosen)
        lines.append(
            "It is an upper limit, not an estimate. It assumes that the held-out examples are i.i.d. from the "
            "distribution of new examples, and that they were not used to train, scale or choose anything before."
        )
        lines += self.too_few
        if self.bound >= 1.0:
            lines.append("The bound is vacuous: more held-out examples or fewer candidates are needed.")
        if self.weighted:
            lines.append(WEIGHTED)
        if self.refitted:
            lines.append(REFITTED)
        return lines

    @property
    def too_few(self) -> list[str]:
        """A warning for each statement that could not have said anything."""
        return [
            f"Too few examples: {each.kind} {each.about} has {each.examples}, and even without an error its bound "
            f"would be {at_most(each.least, 2)}."
            for each in self.statements
            if each.hopeless
        ]

    def _repr_html_(self) -> str:
        rows = [
            (f"{each.kind} {each.about}", f"{each.errors:.9g} of {each.examples}", at_most(each.bound))
            for each in self.statements
        ]
        headline, predictor, claim, *others = self.sentences
        lines = [headline, f"{predictor} {claim.strip()}", *others]
        return as_html(lines, ("among", "errors", "at most"), rows, len(rows))


@dataclass(frozen=True, eq=False)
class Requests:
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
        """What the overall statement takes of delta, and what each kind does."""
        asked = self.per_class, self.per_prediction, self.groups is not None, self.risks, self.thresholds
        kinds = sum(map(bool, asked))
        return (0.5 * delta, 0.5 * delta / kinds) if kinds else (delta, 0.0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Held-out labels beside what the candidates said of these examples, and the posterior that is deployed."""

    labels: np.ndarray
    classes: np.ndarray
    poll: Poll
    prior: np.ndarray
    posterior: np.ndarray

    @property
    def predictions(self) -> np.ndarray:
        """Labels, one row per candidate."""
        return self.classes[self.poll.choices]

    def bound(self, counts: np.ndarray, examples: int, delta: float) -> float:
        """A bound on the mean of the candidates' event probabilities under the posterior."""
        if examples == 0:
            return 1.0
        deployed = np.flatnonzero(self.posterior)
        if deployed.size == 1:
            index = deployed[0]
            return float(clopper_pearson(counts[index], examples, delta * self.prior[index]))
        return float(certify(counts, examples, delta, self.prior).bound_of(self.posterior))

    def statement(self, kind: str, about: str, events: np.ndarray, rows: np.ndarray, delta: float) -> Statement:
        """The statement about ``events`` (C × n) among the examples ``rows`` (a mask)."""
        counts, examples = np.count_nonzero(events[:, rows], axis=1), int(np.count_nonzero(rows))
        bound, least = (self.bound(seen, examples, delta) for seen in (counts, np.zeros_like(counts)))
        return Statement(kind, about, float(self.posterior @ counts), examples, bound, delta, least)


def finer_statements(evidence: Evidence, requests: Requests, delta: float) -> tuple[Statement, ...]:
    """All statements that were asked for; ``delta`` is that of each kind."""
    wrong, everything = evidence.predictions != evidence.labels, np.ones(len(evidence.labels), dtype=bool)
    # By kind: about what, which events, among which examples.
    kinds: dict[str, list[tuple[str, np.ndarray, np.ndarray]]] = {}
    if requests.per_class:
        kinds["class"] = [
            (_named(label, requests.positive, _CLASS_RATES), wrong, evidence.labels == label)
            for label in evidence.classes
        ]
    if requests.per_prediction:
        # Given the features it is fixed which examples a candidate calls so; errors among them are binomial.
        said = evidence.predictions[int(np.argmax(evidence.posterior))]
        kinds["prediction"] = [
            (_named(label, requests.positive, _PREDICTION_RATES), wrong, said == label) for label in evidence.classes
        ]
    if requests.groups is not None:
        names = np.unique(requests.groups).tolist()
        kinds["group"] = [(repr(name), wrong, requests.groups == name) for name in names]
    if requests.risks:
        kinds["risk"] = [(name, _events(name, risk, evidence), everything) for name, risk in requests.risks.items()]
    statements = [
        evidence.statement(kind, *each, delta / len(asked)) for kind, asked in kinds.items() for each in asked
    ]
    for threshold in requests.thresholds:
        statements.append(_acceptance(evidence, wrong, threshold, delta / len(requests.thresholds)))
    return tuple(statements)


#: What the errors among two classes, and among what is called so, are usually named: of the positive one, the other.
_CLASS_RATES = ("false negative rate, 1 - recall", "false positive rate")
_PREDICTION_RATES = ("false discovery rate, 1 - precision", "false omission rate")


def _named(label: Any, positive: Any, rates: tuple[str, str]) -> str:
    """The class, and the usual name of the rate of its errors where one class is said to be positive."""
    name = repr(np.asarray(label).tolist())
    return name if positive is None else f"{name} ({rates[0 if label == positive else 1]})"


def check_positive_class(positive: Any, classes: np.ndarray) -> Any:
    """One of two classes."""
    if positive is None:
        return None
    if len(classes) != 2 or positive not in classes.tolist():
        raise InputError(
            "positive", positive, f"it must be one of two classes, and the classes are {classes.tolist()!r}"
        )
    return positive


def _events(name: str, risk: Risk, evidence: Evidence) -> np.ndarray:
    """Which predictions are an event of this kind."""
    rows = []
    for prediction in evidence.predictions:
        events = np.asarray(risk(evidence.labels, prediction))
        if events.shape != evidence.labels.shape or not np.isin(events, (0, 1)).all():
            raise InputError(
                f"risk {name!r} returned {events.dtype} values of shape {events.shape} for {len(prediction)} examples; "
                "it must return 0 or 1 for each."
            )
        rows.append(events.astype(bool))
    return np.array(rows)


def _acceptance(evidence: Evidence, wrong: np.ndarray, threshold: float, delta: float) -> Statement:
    """Error among accepted examples, and the share of these, with half of delta each.

    Whether an example is accepted depends on its features only, so that among the accepted ones, given their number,
    the errors are binomial.
    """
    (index,) = np.flatnonzero(evidence.posterior)
    rows = evidence.poll.shares[index] >= threshold
    statement = evidence.statement("accepted", str(float(threshold)), wrong, rows, delta / 2.0)
    refused = np.count_nonzero(~rows)
    upper = float(clopper_pearson(refused, len(rows), delta / 2.0 * evidence.prior[index]))
    return replace(statement, delta=delta, accepted=max(0.0, float(np.nextafter(1.0 - upper, 0.0))))


def check_events(risk: Any) -> dict[str, Risk]:
    """The events of ``risk=``: a function, or several by name."""
    if risk is None:
        return {}
    named = dict(risk) if isinstance(risk, Mapping) else {getattr(risk, "__name__", "the risk"): risk}
    for name, function in named.items():
        if not callable(function):
            raise InputError(f"risk[{name!r}]", function, "it must be a function of (y, prediction)")
    return named


def check_thresholds(abstain: Any) -> tuple[float, ...]:
    """The vote shares of ``abstain=``: numbers in (0, 1]."""
    if abstain is None:
        return ()
    values = abstain if isinstance(abstain, (Sequence, np.ndarray)) and not isinstance(abstain, str) else [abstain]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0.0 < float(value) <= 1.0:
            raise InputError(f"abstain holds {value!r}; every threshold must be a vote share above 0 and at most 1.")
    return tuple(float(value) for value in values)
