"""One self-contained page about a certified classifier, to show to a colleague or an auditor."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ..wording import at_least, at_most, confidence_text, delta_text, percentage, percentage_at_most, share_text
from .tables import reading_notes

if TYPE_CHECKING:
    from .certified import CertifiedClassifier
    from .dataset import Dataset


def certificate_page(
    model: CertifiedClassifier,
    title: str,
    facts: Sequence[tuple[str, str]],
    table: Dataset | None = None,
    positive: Any = None,
) -> str:
    """The page as HTML; ``facts`` are lines for its last table (file, digest, seed, versions), ``table`` the data."""
    style = (files(__package__) / "certificate_page.css").read_text(encoding="utf-8")
    sections = [
        _section("What is guaranteed", _promise(model) + _statements(model)),
        _section("What is not", _limits(model)),
        _section("What it said of the held-out examples", _confusion(model)),
        _section("The deployed predictor", _deployed(model)),
        _section("All candidates", _picture(model) + _candidates(model)),
        _section(
            "Data and split",
            _warnings([] if table is None else reading_notes(table))
            + _table(("", ""), _split(model, table, positive), kind="facts"),
        ),
        _section("How it was made", _table(("", ""), list(facts), kind="facts") + _SEEDS),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<h1>{escape(title)}</h1>\n<p class="subtitle">A certificate on {model.n_validation_} held-out examples</p>\n'
        + "".join(sections)
        + "</body>\n</html>\n"
    )


def versions() -> list[tuple[str, str]]:
    """When and with what it is made."""
    return [
        ("made", datetime.now(UTC).isoformat(timespec="seconds")),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in ("pacb-models", "scikit-learn", "numpy")),
    ]


_NO_POSITIVE = "not given, so that no rate is called false positive or false negative"
_SEEDS = (
    "<p>The seed, the share held out, delta and the classifiers must have been fixed before the held-out examples were "
    "looked at. If somebody ran this with several seeds or settings and shows the best page, the guarantee does not "
    "hold: ask for the log of all runs, or repeat this one with the settings above.</p>\n"
)


def _section(title: str, content: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{content}</section>\n"


def _promise(model: CertifiedClassifier) -> str:
    guarantee = model.guarantee_
    rate = guarantee.errors / guarantee.examples
    return (
        f'<p class="promise">With probability at least {confidence_text(guarantee.total_delta)} over the '
        f"{guarantee.examples} held-out examples, {escape(guarantee.predictor)} errs on a new example with "
        f"probability at most <strong>{at_most(guarantee.bound)}</strong> "
        f"({percentage_at_most(guarantee.bound)}).</p>\n"
        f"<p>An upper limit, not an estimate. It erred on {guarantee.errors:.9g} of {guarantee.examples} held-out "
        f"examples ({percentage(rate)}). It was chosen from {guarantee.candidates} candidates by these examples, which "
        "the limit allows for.</p>\n"
    )


def _statements(model: CertifiedClassifier) -> str:
    guarantee = model.guarantee_
    if not guarantee.statements:
        return ""
    titles = ["among", "errors", "observed", "at most", "", "delta", "accepted, at least"]
    rows = [
        [
            f"{each.kind} {each.about}",
            f"{each.errors:.9g} of {each.examples}",
            percentage(each.errors / each.examples) if each.examples else "",
            at_most(each.bound),
            percentage_at_most(each.bound),
            share_text(each.delta),
            "" if each.accepted is None else at_least(each.accepted),
        ]
        for each in guarantee.statements
    ]
    if not any(row[-1] for row in rows):
        titles, rows = titles[:-1], [row[:-1] for row in rows]
    return (
        f"<p>Together with this, at the same confidence (the statement above takes {share_text(guarantee.delta)} of "
        f"delta = {delta_text(guarantee.total_delta)}, the others what the column delta says):</p>\n"
        + _table(titles, rows, numbers=len(titles) - 1)
        + _warnings([f"{guarantee.too_few(each)}." for each in guarantee.statements if each.hopeless])
    )


def _confusion(model: CertifiedClassifier) -> str:
    """Held-out examples by class and by what the deployed predictor calls them."""
    if model.confusion_ is None:
        return "<p>The deployed predictor is random: it would say something else the next time.</p>\n"
    names = [str(name) for name in model.classes_]
    rows = [
        [f"class {name}", *map(str, row), str(row.sum()), percentage((row.sum() - row[place]) / max(row.sum(), 1))]
        for place, (name, row) in enumerate(zip(names, model.confusion_, strict=True))
    ]
    titles = ["", *(f"called {name}" for name in names), "examples", "errors"]
    return (
        "<p>Counts of held-out examples. They are observations: of these numbers nothing is guaranteed but what stands "
        "above.</p>\n" + _table(titles, rows, numbers=len(titles) - 1)
    )


def _limits(model: CertifiedClassifier) -> str:
    again = ", as these were for prediction" if model.guarantee_.refitted else ""
    return (
        "<ul>\n<li>Nothing about examples from another source: the held-out examples must be independent draws from "
        "where the new ones come from.</li>\n"
        "<li>Nothing if a held-out example helped to train, scale, select or choose anything before: no scaling or "
        "selection of features on all rows, no search over settings around this run.</li>\n"
        f"<li>Nothing about classifiers that were trained again afterwards{again}.</li>\n"
        "<li>No certainty: with probability at most "
        f"{model.guarantee_.total_delta:g} the held-out examples mislead, and nobody can tell.</li>\n"
        "<li>Not how large the risk is, only how large it is not.</li>\n</ul>\n"
    )


def _deployed(model: CertifiedClassifier, most: int = 8) -> str:
    """Which classifiers have a say in what is deployed, and how much."""
    if model.deployed_ is None:
        weights = model.certificate_.posterior
        return "<p>A candidate is drawn for each prediction, with these probabilities.</p>\n" + _weights(
            [candidate.name for candidate in model.candidates_], weights, "probability", most
        )
    voters = model.deployed_.voters
    if voters.size == 1:
        return f"<p>The classifier {escape(model.names_[voters[0]])}, alone.</p>\n"
    says = "its class probabilities count" if model.voting_ == "soft" else "its label counts"
    return (
        f"<p>A vote: for each classifier {says} with its weight, and the class with most is predicted. The weights "
        "were fixed on the training examples.</p>\n" + _weights(model.names_, model.deployed_.weights, "weight", most)
    )


def _weights(names: Sequence[str], weights: np.ndarray, title: str, most: int) -> str:
    order = np.argsort(-weights, kind="stable")[: min(most, np.count_nonzero(weights))]
    rest = np.count_nonzero(weights) - len(order)
    more = f"<p>and {rest} more, with {weights.sum() - weights[order].sum():.2g} together.</p>\n" if rest else ""
    return _table(("", title), [(names[index], f"{weights[index]:.2g}") for index in order], numbers=1) + more


def _candidates(model: CertifiedClassifier, most: int = 10) -> str:
    bounds = model.certificate_.single_bounds
    order = np.argsort(bounds, kind="stable")[:most]
    rows = [
        (
            model.candidates_[index].name,
            at_most(float(bounds[index])),
            str(model.errors_[index]),
            "" if model.cv_errors_ is None else str(model.cv_errors_[index]),
            f"{model.prior_[index]:.2g}",
        )
        for index in order
    ]
    marked = {row for row, index in enumerate(order) if model.candidates_[index] is model.deployed_}
    rest = len(bounds) - len(order)
    more = f"<p>and {rest} more with larger bounds.</p>\n" if rest else ""
    titles = ("candidate", "errs at most", "held-out errors", "cross-validation errors", "prior")
    return _table(titles, rows, numbers=4, marked=marked) + more


def _picture(model: CertifiedClassifier) -> str:
    """Held-out error and certificate of every candidate, in the order of the certificates."""
    bounds = np.sort(model.certificate_.single_bounds)
    order = np.argsort(model.certificate_.single_bounds, kind="stable")
    rates = model.errors_[order] / model.n_validation_
    width, height, left, bottom, top = 640.0, 280.0, 52.0, 40.0, 12.0
    step = _tick(float(bounds.max()))
    highest = max(float(bounds.max()) * 1.03, step)

    def place(rank: int, value: float) -> tuple[float, float]:
        x = left + (rank + 0.5) / len(bounds) * (width - left - 8.0)
        return x, height - bottom - value / highest * (height - bottom - top)

    marks = []
    for number in range(int(highest / step + 1e-9) + 1):
        value = number * step
        _, y = place(0, value)
        marks.append(f'<line x1="{left}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--line)"/>')
        marks.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for rank, (bound, rate) in enumerate(zip(bounds, rates)):
        (x, y), (_, low) = place(rank, float(bound)), place(rank, float(rate))
        own = model.candidates_[order[rank]]
        colour = "#d55e00" if own is model.deployed_ else "var(--accent)"
        marks.append(
            f'<g stroke="{colour}">'
            f"<title>{escape(own.name)}: held-out error {rate:.4f}, certificate {at_most(float(bound))}</title>"
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{low:.1f}" stroke-opacity="0.4"/>'
            f'<circle cx="{x:.1f}" cy="{low:.1f}" r="3" fill="{colour}" stroke="none"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="var(--paper)"/></g>'
        )
    middle = (left + width) / 2
    marks.append(f'<text x="{middle}" y="{height - 12}" text-anchor="middle">candidates, by certificate</text>')
    return (
        f'<figure><svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="Held-out error and certificate of '
        f'every candidate">{"".join(marks)}</svg>\n<figcaption>Filled: error on the held-out examples. Open: the '
        "bound that holds for the candidate, all at once. Orange: deployed.</figcaption></figure>\n"
    )


def _tick(largest: float) -> float:
    """A round number such that three to six of them reach the largest value."""
    power = 10.0 ** np.floor(np.log10(largest))
    return float(next(step * power for step in (0.2, 0.5, 1.0, 2.0) if largest <= 6.0 * step * power))


def _warnings(notes: Sequence[str]) -> str:
    return "".join(f'<p class="warning">{escape(note)}</p>\n' for note in notes)


def _split(model: CertifiedClassifier, table: Dataset | None, positive: Any) -> list[tuple[str, str]]:
    rows = []
    if table is not None and table.reading is not None:
        of = table.reading
        rows += [
            ("rows in the file", str(of.rows)),
            ("rows dropped", f"{of.dropped} ({percentage(of.dropped / of.rows)})"),
            ("columns ignored", ", ".join(of.ignored) or "none"),
            ("features", f"{table.X.shape[1]}, some columns may give several"),
        ]
    rows += [
        ("examples for training", str(getattr(model, "n_training_", "fitted elsewhere"))),
        ("held-out examples", str(model.n_validation_)),
        ("classes", ", ".join(map(str, model.classes_))),
    ]
    if model.confusion_ is not None:
        counts = zip(model.classes_, model.confusion_.sum(axis=1), strict=True)
        rows.append(("held-out examples by class", ", ".join(f"{name} {count}" for name, count in counts)))
    return [
        *rows,
        ("positive class", _NO_POSITIVE if positive is None else str(positive)),
        ("classifiers", str(len(model.names_))),
        ("candidates", str(len(model.candidates_))),
    ]


def _table(
    titles: Sequence[str],
    rows: Sequence[Sequence[Any]],
    numbers: int = 0,
    marked: set[int] | frozenset[int] = frozenset(),
    kind: str = "",
) -> str:
    """A table whose last ``numbers`` columns are figures."""

    def cells(row: Sequence[Any], tag: str) -> str:
        first = len(row) - numbers
        return "".join(
            f"<{tag}{' class=number' if column >= first else ''}>{escape(str(cell))}</{tag}>"
            for column, cell in enumerate(row)
        )

    head = f"<thead><tr>{cells(titles, 'th')}</tr></thead>" if any(titles) else ""
    body = "".join(
        f"<tr{' class=deployed' if number in marked else ''}>{cells(row, 'td')}</tr>\n"
        for number, row in enumerate(rows)
    )
    opening = f'<table class="{kind}">' if kind else "<table>"
    return f'<div class="scroll">{opening}{head}<tbody>\n{body}</tbody></table></div>\n'
