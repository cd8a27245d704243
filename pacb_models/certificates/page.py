"""Self-contained pages about certificates, to show to a colleague or an auditor."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Sequence
from copy import copy
from datetime import UTC, datetime
from importlib.metadata import distributions, version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .. import wording
from ..errors import InputError
from ..files import write_atomically
from ..html import TableCells, as_html, joined, policy
from ..immutable import Immutable
from ..numerics.elementwise import Array

if TYPE_CHECKING:
    import pandas

Facts = Sequence[tuple[str, str]]
_FILTERS = ("at_most", "percentage_at_most", "percentage", "confidence_text", "delta_text", "share_text")


def rendered(package: str, template: str, **values: Any) -> str:
    """Return a page from a template of a package, with the style and the parts that all pages share."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise InputError("a page about a certificate needs jinja2; install pacb-models[bench].") from None

    def load(name: str) -> str:
        folder = package if name == template else __package__
        return (files(folder) / name).read_text(encoding="utf-8")

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(load)
    )
    environment.filters |= {name: getattr(wording, name) for name in _FILTERS}
    style = load("page.css")
    return environment.get_template(template).render(style=style, policy=policy(style), **values)


def versions() -> list[tuple[str, str]]:
    """Say when and with what it is made."""
    return [
        ("made", datetime.now(UTC).isoformat(timespec="seconds")),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in ("pacb-models", "scikit-learn", "numpy") if [*distributions(name=name)]),
    ]


def picture(names: Sequence[str], bounds: Array, rates: Array, deployed: int, orange: str) -> dict[str, Any]:
    """Return where the ticks, bounds and held-out errors of candidates are, in a picture of 640 by 280."""
    power = 10.0 ** math.floor(math.log10(bounds.max()))
    # A round number such that three to six of them reach the largest value.
    step = next(size * power for size in (0.2, 0.5, 1.0, 2.0) if bounds.max() <= 6.0 * size * power)
    highest = max(1.03 * bounds.max(), step)
    ticks = step * np.arange(int(highest / step + 1e-9) + 1)

    def heights(values: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        return 240.0 - values / highest * 228.0

    places = 52.0 + (np.arange(bounds.size) + 0.5) / bounds.size * 580.0
    points = zip(names, places, heights(rates), heights(bounds), rates, bounds.tolist(), strict=True)
    drawn = {"ticks": list(zip(heights(ticks), ticks, strict=True)), "points": list(points)}
    return {**drawn, "deployed": deployed, "orange": orange}


def assumption(fixed: str) -> str:
    """Return what holds only if nothing was looked at before, and what had to be fixed beforehand."""
    return (
        "It assumes that the examples are i.i.d. from the distribution of new examples, that they were not used to "
        f"train, scale, tune or choose anything before, and that {fixed} were fixed before they were looked at."
    )


class Predictor(Protocol):
    """What is certified: it predicts."""

    def predict(self, X: Any) -> np.ndarray:
        """Return a label for each row."""


class Shown(Immutable):
    """A certificate that prints itself, shows itself in a notebook, and writes a page."""

    delta: float
    names: Any
    _classifier: Any = None

    #: What :meth:`as_dict` holds, separated by spaces; what :meth:`table` shows: titles, columns and how to write them.
    fields: str
    shown: Sequence[tuple[str, str, Callable[[Any], str]]]

    @property
    def sentences(self) -> list[str]:
        """What is guaranteed, how, and what it assumes; an item of a list begins with two spaces."""
        raise NotImplementedError

    @property
    def order(self) -> Sequence[int]:
        """The candidates in the order in which they are listed."""
        return range(len(self.names))

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return what is known of the candidates, by name."""
        raise NotImplementedError

    def table(self, rows: int = 10) -> TableCells:
        """Return titles and cells of the first candidates; what is not known of one, NaN, is left empty."""
        known, first = self._columns(), list(self.order[:rows])
        titles, cells = ["candidate"], [[self.names[place] for place in first]]
        for title, column, text in self.shown:
            titles.append(title)
            cells.append(["" if value != value else text(value) for value in known[column][first].tolist()])
        return titles, list(zip(*cells, strict=True))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row per candidate, in their order."""
        import pandas as pd

        index = pd.Index([self.names[place] for place in self.order], name="candidate")
        return pd.DataFrame({name: values[self.order] for name, values in self._columns().items()}, index=index)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready values."""
        values = {name: getattr(self, "name" if name == "single_name" else name) for name in self.fields.split()}
        lists = {name: np.asarray(of).tolist() for name, of in values.items() if isinstance(of, np.ndarray | tuple)}
        return values | lists

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shown) and self.as_dict() == other.as_dict()

    def _picture(self) -> dict[str, Any] | None:
        """Return errors and bounds to draw, where all candidates have a bound."""
        return None

    def __str__(self) -> str:
        return wording.paragraphs(self.sentences)

    def _repr_html_(self) -> str:
        return as_html(self.sentences, *self.table(), len(self.names))

    @property
    def classifier_(self) -> Predictor:
        """The certified classifier, which predicts and can be saved; of :func:`~pacb_models.certify_models` only."""
        if self._classifier is None:
            raise InputError("there is no classifier here: predictions were certified, or nothing was.")
        return self._classifier

    def with_classifier(self, classifier: Any) -> Self:
        """Return the same certificate with what it is about."""
        other = copy(self)
        other._set(_classifier=classifier)
        return other

    def save_page(self, path: str | os.PathLike[str], title: str = "Certificate", facts: Facts = ()) -> None:
        """Write a page about the certificate, to show to a colleague or an auditor.

        ``facts`` are lines for its last table, such as where the examples came from; versions are added.
        """
        promise, others = joined(self.sentences)
        page = rendered(
            __package__,
            "statement_page.html",
            title=title,
            examples=self.as_dict()["m"],
            promise=promise,
            items=[item.strip() for item in others if item.startswith("  ")],
            sentences=[sentence for sentence in others if not sentence.startswith("  ")],
            delta=self.delta,
            picture=self._picture(),
            cells=self.table(),
            total=len(self.names),
            facts=[*facts, ("delta", f"{self.delta:g}"), *versions()],
        )
        write_atomically(path, page)
