"""The cross-validation baseline of the paper: one λ per data set, its test errors, and the time to find it.

    python -m pacb_models.benchmarks.studies.cross_validation [DATASET ...] [--data DIR] [--jobs N] --out FILE

made ``benchmarks/risks/cross_validation.csv``; :func:`load_cross_validation` reads that. Rows of data sets that are not
named stay as they are in FILE.
"""

from __future__ import annotations

import argparse
import csv
import io
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pacb_models.files import write_atomically

from ..experiments.cross_validation import CrossValidation, cross_validate
from ..experiments.datasets import load_dataset
from ..problems.risks import available


@dataclass(frozen=True)
class Baseline:
    """What cross-validation over the paper's 1990 λ values found on one data set."""

    name: str
    best_lambda: float
    errors: int
    size: int
    test_errors: int
    test_size: int
    cpu_seconds: float

    @classmethod
    def of(cls, result: CrossValidation) -> Baseline:
        """What is kept of a cross-validation."""
        return cls(
            result.name,
            result.best_lambda,
            int(result.errors.min()),
            result.size,
            result.test_errors,
            result.test_size,
            round(result.cpu_seconds, 1),
        )

    @property
    def test_risk(self) -> float:
        return self.test_errors / self.test_size


def load_cross_validation() -> dict[str, Baseline]:
    """The embedded results by data set."""
    return _from_csv((files("pacb_models.benchmarks.problems.risks") / "cross_validation.csv").read_text())


def _from_csv(text: str) -> dict[str, Baseline]:
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    types = Baseline.__annotations__
    convert = {"str": str, "int": int, "float": float}
    return {row["name"]: Baseline(**{key: convert[types[key]](row[key]) for key in types}) for row in rows}


def _to_csv(baselines: dict[str, Baseline]) -> str:
    text = io.StringIO()
    text.write(
        "# command: python -m pacb_models.benchmarks.studies.cross_validation\n# folds: 5\n# grid: paper\n# seed: 0\n"
    )
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Baseline.__annotations__)
    writer.writerows(vars(baselines[name]).values() for name in available() if name in baselines)
    return text.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=available(), metavar="DATASET", help="data sets (all)")
    parser.add_argument("--data", help="directory of the raw UCI files (the variable PACB_DATA)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args()
    baselines = _from_csv(options.out.read_text()) if options.out.exists() else {}
    for name in options.names:
        baselines[name] = Baseline.of(cross_validate(load_dataset(name, options.data), n_jobs=options.jobs))
        print(baselines[name], flush=True)
        write_atomically(options.out, _to_csv(baselines))


if __name__ == "__main__":
    main()
