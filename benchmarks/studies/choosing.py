"""All classifiers at once, or one that a part chose? ``certify_predictions`` with and without ``choose``.

The paper's SVMs (C = 1/lambda over its grid, a Gaussian kernel of the width that ``sigest`` estimates), trained on a
random half of each data set, predict the other half. The same predictions, at the same delta, go to

* **all**: every classifier at once, the bound of the random classifier (tie split);
* **one of all**: every classifier at once, the smallest bound of one;
* **all and vote**: as "one of all", with the majority vote among the candidates;
* **choose**, **choose, vote**: a fifth of the examples chooses, the others certify; without and with the vote.

    python -m pacb_models.benchmarks.studies.choosing --out choosing.csv          nine data sets, five splits: an hour
    python -m pacb_models.benchmarks.studies.choosing wdbc haberman --splits 2

``--out FILE.csv`` keeps a row for every split and size, and a second run adds only what is missing there.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pacb_models import StochasticSVC, certify_predictions
from pacb_models.estimators.members import train
from pacb_models.estimators.sharing import predict_members
from pacb_models.files import write_atomically
from pacb_models.validation import check_choice

from ..experiments.datasets import load_dataset
from .certified import DELTA, UCI, geometric_mean

SIZES = (50, 200, 1990)
SHARE = 0.2
WAYS = ("all", "one_of_all", "all_and_vote", "choose", "choose_vote")


@dataclass(frozen=True)
class Row:
    """The bounds of one split of a data set with the first ``size`` classifiers of the grid."""

    data: str
    split: int
    size: int
    all: float
    one_of_all: float
    all_and_vote: float
    choose: float
    choose_vote: float


def measure(data: str, split: int, sizes: Sequence[int] = SIZES, data_dir: str | None = None) -> list[Row]:
    """Train on one half, predict the other, certify in every way; ``split`` is a seed."""
    dataset = load_dataset(data, data_dir)
    random = np.random.RandomState(split)
    held_out, training = np.split(random.permutation(len(dataset.y)), [len(dataset.y) // 2])
    names, members = StochasticSVC(n_lambdas=max(sizes))._candidates(dataset.X[training], random)
    fitted = train(members, dataset.X, dataset.y, training, [{} for _ in names])
    predictions = np.array(predict_members(fitted, dataset.X[held_out], None)).T
    return [Row(data, split, size, *bounds(dataset.y[held_out], predictions[:, :size], split)) for size in sizes]


def bounds(y: np.ndarray, predictions: np.ndarray, seed: int) -> tuple[float, ...]:
    """In the order of :data:`WAYS`."""
    plain, with_vote = (certify_predictions(y, predictions, DELTA, vote=vote) for vote in (False, True))
    chosen = [
        certify_predictions(y, predictions, DELTA, choose=SHARE, random_state=seed, vote=vote).bound
        for vote in (False, True)
    ]
    return plain.bound, plain.single_bound, with_vote.single_bound, *chosen


def table(rows: Sequence[Row]) -> str:
    """Means of the splits of each data set and size, and how choosing compares over the data sets."""
    lines = [f"{'':<14} {'H':>5} {'splits':>6}" + "".join(f" {way:>13}" for way in WAYS)]
    for size in sorted({row.size for row in rows}):
        means = {}
        for data in dict.fromkeys(row.data for row in rows):
            own = [row for row in rows if (row.data, row.size) == (data, size)]
            means[data] = np.mean([[getattr(row, way) for way in WAYS] for row in own], axis=0)
            cells = "".join(f" {mean:>13.4f}" for mean in means[data])
            lines.append(f"{data:<14} {size:>5} {len(own):>6}{cells}")
        ratios = [geometric_mean(np.array([mean[place] / mean[0] for mean in means.values()])) for place in range(5)]
        lines.append(f"{'to all, mean':<14} {size:>5} {'':>6}" + "".join(f" {mean:>13.3f}" for mean, _ in ratios))
        lines.append(f"{'  std. error':<14} {size:>5} {'':>6}" + "".join(f" {error:>13.3f}" for _, error in ratios))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="DATASET", help="which (the nine)")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first split")
    parser.add_argument("--data", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="rows are kept here, and not measured again")
    options = parser.parse_args(arguments)
    for name in options.names:
        check_choice("DATASET", name, UCI)
    rows = _read(options.out)
    for split in range(options.first, options.first + options.splits):
        for name in options.names or UCI:
            if not any((row.data, row.split) == (name, split) for row in rows):
                rows += measure(name, split, data_dir=options.data)
                print(f"{name}: split {split}", file=sys.stderr, flush=True)
                if options.out:
                    _write(options.out, rows)
    print(table(rows))
    return 0


def _read(path: Path | None) -> list[Row]:
    if path is None or not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Row(row["data"], int(row["split"]), int(row["size"]), *(float(row[way]) for way in WAYS))
            for row in csv.DictReader(file)
        ]


def _write(path: Path, rows: Sequence[Row]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Row.__annotations__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    write_atomically(path, text.getvalue())


if __name__ == "__main__":
    sys.exit(main())
