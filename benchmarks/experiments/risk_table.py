"""Risk tables: the errors of a set of classifiers, as integers, and how they were made."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from pacb_models.errors import InputError
from pacb_models.files import write_atomically
from pacb_models.validation import check_count
from pacb_models.wording import one_line


@dataclass(frozen=True, eq=False)
class RiskTable:
    """Errors of the SVMs of one grid on one data set.

    ``validation_size`` (also ``m``) and ``test_size`` are the denominators of the error counts. ``converged`` tells
    which SVMs libsvm solved to its tolerance before its iteration limit: the others are classifiers like any other
    (the bounds do not ask how a classifier was found), but not quite the minimisers of their objective.
    ``digest`` is that of all that determined the counts, and of the counts (see :meth:`digest_with`).
    ``training_errors``, on the ``training_size`` examples a classifier was trained on, certify nothing; tables written
    without them have None. ``cpu_seconds``, the processor time of the training, is not written.
    """

    name: str
    grid: str
    protocol: str
    seed: int
    gamma: float
    training_size: int
    validation_size: int
    test_size: int
    lambdas: np.ndarray
    validation_errors: np.ndarray
    test_errors: np.ndarray
    converged: np.ndarray
    command: str = ""
    software: str = ""
    digest: str = ""
    training_errors: np.ndarray | None = None
    cpu_seconds: float = math.nan

    def __len__(self) -> int:
        return len(self.lambdas)

    @property
    def m(self) -> int:
        """The number of examples each risk was measured on: the m of the bounds."""
        return self.validation_size

    def risks(self, count: int | None = None) -> np.ndarray:
        """Return validation error rates of the first ``count`` classifiers (all by default)."""
        return self._first(self.validation_errors, count) / self.validation_size

    def test_risks(self, count: int | None = None) -> np.ndarray:
        """Test error rates of the first ``count`` classifiers (all by default)."""
        return self._first(self.test_errors, count) / self.test_size

    def both_halves_risks(self, count: int | None = None) -> np.ndarray:
        """Return error rates on training and validation examples together.

        No bound holds for them with ``m`` validation examples; it seems that the paper used them so.
        """
        if self.training_errors is None:
            raise InputError(f"the table of {self.name!r} was written without training errors.")
        errors = self.training_errors + self.validation_errors
        return self._first(errors, count) / (self.training_size + self.validation_size)

    def _first(self, errors: np.ndarray, count: int | None) -> np.ndarray:
        if count is None:
            return errors
        if check_count("count", count) > len(self):
            raise InputError("count", count, f"the table of {self.name!r} has {len(self)} classifiers")
        return errors[:count]

    def digest_with(self, fingerprint: str) -> str:
        """Return a digest of these counts and of what they were made from, which is described by another digest.

        A table whose ``digest`` this is was made from that, and nobody changed it or cut it off.
        """
        digest = hashlib.sha256(fingerprint.encode())
        for column in (self.lambdas, self.converged, *(getattr(self, name) for name in COUNTS)):
            digest.update(b"none" if column is None else np.asarray(column, dtype="<f8").tobytes())
        return digest.hexdigest()

    def to_csv(self, *, risk_column: bool = True) -> str:
        """Return the table as text: ``# key: value`` lines, then a CSV that ``pacb solve`` reads if it has the risk
        column."""
        lines = [f"# {key}: {one_line(str(getattr(self, key)))}\n" for key in _HEADER if getattr(self, key) != ""]
        if not self.converged.all():
            lines.append(f"# unconverged: {' '.join(map(str, np.flatnonzero(~self.converged)))}\n")
        columns = {"lambda": self.lambdas} | {name: getattr(self, name) for name in COUNTS}
        if self.training_errors is None:
            del columns["training_errors"]
        if risk_column:
            columns["risk"] = self.risks()
        rows = zip(*([name, *map(str, column.tolist())] for name, column in columns.items()))
        return "".join([*lines, *(f"{','.join(row)}\n" for row in rows)])

    def write(self, path: str | os.PathLike[str], *, risk_column: bool = True) -> None:
        """Write the table to a file, atomically."""
        write_atomically(path, self.to_csv(risk_column=risk_column))

    @classmethod
    def from_csv(cls, text: str, source: str = "the risk table") -> RiskTable:
        """Read what :meth:`to_csv` wrote."""
        lines = text.splitlines()
        header = dict(line[2:].partition(": ")[::2] for line in lines if line.startswith("# "))
        try:
            names, *rows = (line.split(",") for line in lines if line and not line.startswith("#"))
            columns = dict(zip(names, zip(*rows, strict=True), strict=True))
            if absent := [key for key in _HEADER if key not in _OPTIONAL and key not in header]:
                raise ValueError(f"its header lacks {', '.join(absent)}")
            found = {key: convert(header[key]) for key, convert in _HEADER.items() if key in header}
            found |= {name: np.array(columns[name], dtype=int) for name in COUNTS if name in columns}
            found["lambdas"] = np.array(columns["lambda"], dtype=float)
            converged = np.ones(len(rows), dtype=bool)
            converged[[int(index) for index in header.get("unconverged", "").split()]] = False
            return cls(**found, converged=converged)
        except (LookupError, ValueError, TypeError) as reason:
            raise InputError(f"{source} is not a table that 'pacb train' wrote: {reason}.") from None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RiskTable:
        """Read a table from a file."""
        try:
            return cls.from_csv(Path(path).read_text(), str(path))
        except (OSError, UnicodeDecodeError) as reason:
            raise InputError(f"cannot read the risk table {str(path)!r}: {reason}.") from None


#: The columns of error counts, in the order in which SVMs are evaluated.
COUNTS = ("validation_errors", "test_errors", "training_errors")

_KINDS = {"str": str, "int": int, "float": float}
#: The header's keys in order, and how to read their values; then what a header may lack.
_HEADER = {
    each.name: _KINDS[str(each.type)]
    for each in fields(RiskTable)
    if each.type in _KINDS and each.name != "cpu_seconds"
}
_OPTIONAL = [each.name for each in fields(RiskTable) if each.default == ""]
