"""All classifiers at once, or one that a part chose? ``certify_predictions`` with and without ``choose``.

The paper's SVMs (C = 1/lambda over its grid, a Gaussian kernel of the width that ``sigest`` estimates), trained on a
random half of each data set, predict the other half. The same predictions, at the same delta, go to

* **all**: every classifier at once, the bound of the random classifier (tie split);
* **one of all**: every classifier at once, the smallest bound of one;
* **all and vote**: as "one of all", with the majority vote among the candidates;
* **choose**, **choose, vote**: a fifth of the examples chooses, the others certify; without and with the vote.

    python -m pacb_models.benchmarks.studies.choosing --out choosing.csv          nine data sets, five splits: an hour
    python -m pacb_models.benchmarks.studies.choosing wdbc haberman --splits 2

``--out FILE.csv`` keeps the rows of every split in FILE.jsonl, too, and ``--resume`` measures what is missing there.
"""

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from pacb_models import StochasticSVC, certify_predictions
from pacb_models.commands.program import answered
from pacb_models.estimators.members import train
from pacb_models.estimators.sharing import predict_members

from ..experiments.datasets import load_dataset
from .certified import DELTA, UCI_TABLES, geometric_mean
from .kept_rows import SPLITS, KeptRows, Rows, options

SIZES = (50, 200, 1990)
SHARE = 0.2
WAYS = ("all", "one_of_all", "all_and_vote", "choose", "choose_vote")

STUDY = KeptRows("choosing", 1, ("split", "data"))


def measure(split: int, data: str, sizes: Sequence[int] = SIZES, data_dir: str | None = None) -> Rows:
    """Train on one half, predict the other, certify in every way; ``split`` is a seed."""
    dataset = load_dataset(data, data_dir)
    random = np.random.RandomState(split)
    held_out, training = np.split(random.permutation(len(dataset.y)), [len(dataset.y) // 2])
    names, members = StochasticSVC(n_lambdas=max(sizes))._candidates(dataset.X[training], random)
    fitted = train(members, dataset.X, dataset.y, training, [{} for _ in names])
    predictions = np.array(predict_members(fitted, dataset.X[held_out], None)).T
    rows = []
    for size in sizes:
        given = (dataset.y[held_out], predictions[:, :size], DELTA)
        plain, with_vote = (certify_predictions(*given, vote=vote) for vote in (False, True))
        chosen = [
            certify_predictions(*given, choose=SHARE, random_state=split, vote=vote).bound for vote in (False, True)
        ]
        found = (plain.bound, plain.single_bound, with_vote.single_bound, *chosen)
        rows.append({"data": data, "split": split, "size": size, **dict(zip(WAYS, found))})
    return rows


def means(rows: pd.DataFrame) -> str:
    """Return means of the splits of each data set and size, and how choosing compares over the data sets."""
    parts = []
    for size, of_size in rows.groupby("size"):
        means = of_size.groupby("data", sort=False)[list(WAYS)].mean()
        ratios = means.div(means["all"], axis=0).apply(lambda column: geometric_mean(column.to_numpy()))
        ratios.index = ["to all, mean", "  std. error"]
        parts.append(f"H = {size}\n{pd.concat([means, ratios]).to_string(float_format='{:.4f}'.format)}")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing and print the table."""
    given = options(__doc__, arguments, UCI_TABLES, **SPLITS)
    print(means(STUDY.table(given, partial(measure, data_dir=given.data), given.names)))
    return 0


if __name__ == "__main__":
    sys.exit(answered("choosing", main))
