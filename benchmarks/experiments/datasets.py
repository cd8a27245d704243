"""Data sets by name: the nine of the paper, and any that a third party registers.

A package adds one by an entry point, in its setup.cfg::

    [options.entry_points]
    pacb_models.datasets =
        sonar = their_package.data:load_sonar

where ``load_sonar(data_dir=None)`` returns a :class:`Dataset`; then ``pacb train sonar`` and
``load_dataset("sonar")`` work.
"""

from __future__ import annotations

import os

from pacb_models.errors import InputError
from pacb_models.estimators.tables import Dataset
from pacb_models.plugins import load, registered

#: Entry-point group: name -> a function ``loader(data_dir=None)`` that returns a :class:`Dataset`.
DATASETS_GROUP = "pacb_models.datasets"


def load_dataset(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`available_datasets`.
    data_dir : path, optional
        The directory that holds the raw files; by default the environment variable ``PACB_DATA``. Without either,
        Wdbc comes from scikit-learn, Waveform from its generator, and the others from a cache that is filled from
        the UCI repository.
    """
    from .uci import LOADERS

    if name in LOADERS:
        return LOADERS[name](data_dir)
    for entry in registered(DATASETS_GROUP):
        if entry.name == name:
            return load(entry, lambda loader: loader(data_dir))
    raise InputError("dataset", name, f"it must be one of {', '.join(available_datasets())}")


def available_datasets() -> list[str]:
    """Names that :func:`load_dataset` knows: the built-in ones first. Nothing of other packages is imported for it."""
    from .uci import LOADERS

    return list(dict.fromkeys([*LOADERS, *(entry.name for entry in registered(DATASETS_GROUP))]))
