"""One self-contained page about a certified classifier, to show to a colleague or an auditor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..certificates.page import Facts, picture, rendered, versions
from ..wording import at_least, at_most, percentage, percentage_at_most, share_text

if TYPE_CHECKING:
    from .certified import CertifiedClassifier
    from .guarantee import Statement
    from .tables import Table


def certificate_page(model: CertifiedClassifier, title: str, facts: Facts, table: Table | None = None) -> str:
    """Return the page as HTML; ``facts`` are lines for its last table (file, digest, seed), ``table`` the data."""
    bounds, prior, errors = model.certificate_.single_bounds, model.prior_, model.errors_
    order = np.argsort(bounds, kind="stable")
    names, weights = model.names_, np.zeros(0)
    if model.deployed_ is None:
        names, weights = [candidate.name for candidate in model.candidates_], model.certificate_.posterior
    elif model.deployed_.is_vote:
        weights = model.deployed_.weights
    deployed = next((row for row, index in enumerate(order) if model.candidates_[index] is model.deployed_), -1)
    in_order, rates = [model.candidates_[index].name for index in order], errors[order] / model.n_validation_
    folds = [""] * len(order) if model.cv_errors_ is None else model.cv_errors_
    notes = [] if table is None else table.reading.notes
    return rendered(
        __package__,
        "certificate_page.html",
        model=model,
        examples=model.n_validation_,
        of=model.guarantee_,
        title=title,
        statements=_statements(model.guarantee_.statements),
        confusion=None if model.confusion_ is None else _confusion(model.classes_, model.confusion_),
        weights=[(names[i], weights[i]) for i in np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]],
        most_weights=8,
        candidates=[
            (model.candidates_[i].name, at_most(float(bounds[i])), errors[i], folds[i], f"{prior[i]:.2g}")
            for i in order[:10]
        ],
        deployed=deployed,
        picture=picture(in_order, bounds[order], rates, deployed, "deployed"),
        total=len(order),
        lost=notes[:1] if table is not None and 2 * table.reading.dropped > table.reading.rows else [],
        notes=notes,
        split=_split(model, table),
        facts=[*facts, *versions()],
    )


def _statements(statements: tuple[Statement, ...]) -> tuple[list[str], list[list[str]]]:
    """Return titles and rows of the finer statements."""
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
        for each in statements
    ]
    shown = 7 if any(row[-1] for row in rows) else 6
    return titles[:shown], [row[:shown] for row in rows]


def _confusion(classes: np.ndarray, counts: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    """Return held-out examples by class and by what the deployed predictor calls them."""
    rows = [
        [f"class {name}", *row, row.sum(), percentage((row.sum() - row[place]) / max(row.sum(), 1))]
        for place, (name, row) in enumerate(zip(classes, counts, strict=True))
    ]
    return ["", *(f"called {name}" for name in classes), "examples", "errors"], rows


def _split(model: CertifiedClassifier, table: Table | None) -> list[tuple[str, Any]]:
    """Return what became of the data, in lines."""
    of_file: list[tuple[str, Any]] = []
    if table is not None:
        of = table.reading
        of_file = [
            ("rows in the file", of.rows),
            ("rows dropped", f"{of.dropped} ({percentage(of.dropped / of.rows)})"),
            ("columns ignored", ", ".join(of.ignored) or "none"),
            ("columns used", f"{table.features.shape[1]}, of them {len(table.text)} with text"),
        ]
    counts = () if model.confusion_ is None else zip(model.classes_, model.confusion_.sum(axis=1), strict=True)
    by_class, choosing = ", ".join(f"{name} {count}" for name, count in counts), model.guarantee_.choosing
    unnamed = "not given, so that no rate is called false positive or false negative"
    return [
        *of_file,
        ("examples for training", getattr(model, "n_training_", "fitted elsewhere")),
        ("held-out examples", model.n_validation_),
        ("classes", ", ".join(map(str, model.classes_))),
        *([("held-out examples by class", by_class)] if by_class else []),
        ("positive class", unnamed if model.positive is None else model.positive),
        ("classifiers", len(model.names_)),
        ("candidates", model.guarantee_.candidates),
        *([("examples that chose", choosing)] if choosing else []),
    ]
