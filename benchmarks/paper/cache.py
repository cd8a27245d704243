"""The keys of the paper's results in the store: all that a result is computed from."""

from __future__ import annotations

from importlib.resources import files

from ..harness.environment import ipopt_version, versions
from ..store import digest
from .item import Item
from .study import Study

#: Raised when a result changes though nothing that the key names does; a test notices.
RESULTS_VERSION = 3


def key(item: Item, study: Study) -> str:
    """A digest of the risk tables, of what else of the study matters to the item, the paper's numbers, the software."""
    settings = [getattr(study, name) for name in item.uses]
    printed = (files("pacb_models.benchmarks.paper") / "printed.csv").read_bytes()
    return digest(RESULTS_VERSION, item.name, settings, study.tables_digest, printed, versions(), ipopt_version())
