"""One self-contained page about a certified classifier, to show to a colleague or an auditor."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import wording
from ..errors import InputError
from ..wording import at_least, at_most, percentage, percentage_at_most, share_text
from .tables import reading_notes

if TYPE_CHECKING:
    from .certified import CertifiedClassifier
    from .dataset import Dataset

#: Rows of the table of candidates, and of that of weights.
_CANDIDATES, _WEIGHTS = 10, 8


def certificate_page(
    model: CertifiedClassifier,
    title: str,
    facts: Sequence[tuple[str, str]],
    table: Dataset | None = None,
    positive: Any = None,
) -> str:
    """The page as HTML; ``facts`` are lines for its last table (file, digest, seed, versions), ``table`` the data."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise InputError("a page about a certificate needs jinja2; install pacb-models[bench].") from None

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    used = ("at_most", "percentage_at_most", "percentage", "confidence_text", "delta_text", "share_text")
    environment.filters |= {name: getattr(wording, name) for name in used}
    folder = files(__package__)
    template = environment.from_string((folder / "certificate_page.html").read_text(encoding="utf-8"))
    bounds = model.certificate_.single_bounds
    order = np.argsort(bounds, kind="stable")
    names, weights = model.names_, np.zeros(0)
    if model.deployed_ is None:
        names, weights = [candidate.name for candidate in model.candidates_], model.certificate_.posterior
    elif model.deployed_.is_vote:
        weights = model.deployed_.weights
    return template.render(
        model=model,
        of=model.guarantee_,
        title=title,
        style=(folder / "certificate_page.css").read_text(encoding="utf-8"),
        statements=_statements(model),
        confusion=None if model.confusion_ is None else _confusion(model.classes_, model.confusion_),
        weights=[(names[i], weights[i]) for i in np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]],
        most_weights=_WEIGHTS,
        candidates=[_candidate(model, index) for index in order[:_CANDIDATES]],
        deployed=next((row for row, index in enumerate(order) if model.candidates_[index] is model.deployed_), -1),
        picture=_picture(bounds[order], model.errors_[order] / model.n_validation_),
        in_order=[model.candidates_[index] for index in order],
        notes=[] if table is None else reading_notes(table),
        split=_split(model, table, positive),
        facts=facts,
    )


def versions() -> list[tuple[str, str]]:
    """When and with what it is made."""
    return [
        ("made", datetime.now(UTC).isoformat(timespec="seconds")),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in ("pacb-models", "scikit-learn", "numpy")),
    ]


def _statements(model: CertifiedClassifier) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of the finer statements."""
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
        for each in model.guarantee_.statements
    ]
    shown = 7 if any(row[-1] for row in rows) else 6
    return titles[:shown], [row[:shown] for row in rows]


def _confusion(classes: np.ndarray, counts: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    """Held-out examples by class and by what the deployed predictor calls them."""
    rows = [
        [f"class {name}", *row, row.sum(), percentage((row.sum() - row[place]) / max(row.sum(), 1))]
        for place, (name, row) in enumerate(zip(classes, counts, strict=True))
    ]
    return ["", *(f"called {name}" for name in classes), "examples", "errors"], rows


def _candidate(model: CertifiedClassifier, index: int) -> tuple[Any, ...]:
    """A row of the table of candidates."""
    folds = "" if model.cv_errors_ is None else model.cv_errors_[index]
    bound = at_most(float(model.certificate_.single_bounds[index]))
    return model.candidates_[index].name, bound, model.errors_[index], folds, f"{model.prior_[index]:.2g}"


def _picture(bounds: np.ndarray, rates: np.ndarray) -> dict[str, Any]:
    """Where the ticks, bounds and held-out errors of candidates are, in a picture of 640 by 280."""
    power = 10.0 ** math.floor(math.log10(bounds.max()))
    # A round number such that three to six of them reach the largest value.
    step = next(size * power for size in (0.2, 0.5, 1.0, 2.0) if bounds.max() <= 6.0 * size * power)
    highest = max(1.03 * bounds.max(), step)
    ticks = step * np.arange(int(highest / step + 1e-9) + 1)

    def heights(values: np.ndarray) -> np.ndarray:
        return 240.0 - values / highest * 228.0

    places = 52.0 + (np.arange(bounds.size) + 0.5) / bounds.size * 580.0
    points = zip(places, heights(rates), heights(bounds), rates, bounds.tolist(), strict=True)
    return {"ticks": list(zip(heights(ticks), ticks, strict=True)), "points": list(points)}


def _split(model: CertifiedClassifier, table: Dataset | None, positive: Any) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    if table is not None and table.reading is not None:
        of = table.reading
        rows += [
            ("rows in the file", of.rows),
            ("rows dropped", f"{of.dropped} ({percentage(of.dropped / of.rows)})"),
            ("columns ignored", ", ".join(of.ignored) or "none"),
            ("features", f"{table.X.shape[1]}, some columns may give several"),
        ]
    rows += [
        ("examples for training", getattr(model, "n_training_", "fitted elsewhere")),
        ("held-out examples", model.n_validation_),
        ("classes", ", ".join(map(str, model.classes_))),
    ]
    if model.confusion_ is not None:
        counts = zip(model.classes_, model.confusion_.sum(axis=1), strict=True)
        rows.append(("held-out examples by class", ", ".join(f"{name} {count}" for name, count in counts)))
    unnamed = "not given, so that no rate is called false positive or false negative"
    return [
        *rows,
        ("positive class", unnamed if positive is None else positive),
        ("classifiers", len(model.names_)),
        ("candidates", len(model.candidates_)),
    ]
