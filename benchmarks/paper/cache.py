"""The keys of the paper's results in the store: all that a result is computed from."""

from __future__ import annotations

from importlib.resources import files

from ..harness.environment import ipopt_version, versions
from ..store import digest
from .item import Item, Results
from .study import Study

#: Raised when a result changes though nothing that the key names does; a test notices.
RESULTS_VERSION = 3


def key(item: Item, study: Study, needed: Results) -> str:
    """A digest of the risk tables, the settings that matter to the item, the results that it builds upon, the paper's
    numbers, and the software.
    """
    settings = [getattr(study, name) for name in item.uses]
    printed = (files("pacb_models.benchmarks.paper") / "printed.csv").read_bytes()
    parts = [settings, study.tables_digest, needed[item.needs].records() if item.needs else [], printed]
    return digest(RESULTS_VERSION, item.name, *parts, versions(), ipopt_version())
