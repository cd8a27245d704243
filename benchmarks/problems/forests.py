"""Votes of the trees of random forests, on data sets that come with scikit-learn.

Half of the examples train the trees, and on the other half their errors are counted. The same forests are made anew
wherever they are needed.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pacb_models as pm

from .problem import Problem

DATASETS = ("breast_cancer", "digits", "wine")
SIZES = (100, 300)
BOUNDS = (("kl", 2.0), ("chi2", 2.0), ("renyi", 3.0))
DELTA = 0.05


@cache
def forest(dataset: str, count: int) -> tuple[NDArray[np.bool_], int]:
    """Return which tree errs on which example, and on how many examples the vote with equal weights errs."""
    from sklearn import datasets
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    X, y = getattr(datasets, f"load_{dataset}")(return_X_y=True)
    X, rest, y, truth = train_test_split(X, y, test_size=0.5, random_state=0)
    trees = RandomForestClassifier(count, random_state=0).fit(X, y).estimators_
    said = np.column_stack([tree.predict(rest).astype(int) for tree in trees])
    voted = np.array([np.bincount(row).argmax() for row in said])
    return said != truth[:, None], int((voted != truth).sum())


def tandem(dataset: str, count: int, **bound: Any) -> pm.TandemProblem:
    """Return the problem of a forest's vote."""
    return pm.TandemProblem.from_errors(forest(dataset, count)[0], delta=DELTA, **bound)


def problems() -> Iterator[Problem]:
    """Yield bounds for the votes of all forests, by name."""
    for (divergence, order), dataset, count in product(BOUNDS, DATASETS, SIZES):
        name, family = f"{dataset}-H{count}-{divergence}", f"forests, {dataset}"
        arguments = {"dataset": dataset, "count": count, "divergence": divergence, "order": order}
        yield Problem(name, family, tandem, arguments, count)


def vote_bounds() -> str:
    """Return what each theorem says of the same votes, as a table of text: KL and kl, and Clopper and Pearson."""
    heads = ("equal weights", "softmax", "optimal", "first order", "hold-out")
    lines = [f"{'forest':<20}" + "".join(f"{head:>15}" for head in heads)]
    for dataset, count in product(DATASETS, SIZES):
        problem, wrong = tandem(dataset, count, divergence="kl"), forest(dataset, count)[1]
        found = (pm.solve(problem, "softmax"), pm.solve(problem), pm.solve(problem.first_order))
        bounds = [problem.vote_bound(problem.bound(problem.prior)), *(each.vote_bound for each in found)]
        bounds.append(float(pm.clopper_pearson(wrong, problem.m, DELTA)))
        lines.append(f"{f'{dataset}, {count}':<20}" + "".join(f"{each:15.4f}" for each in bounds))
    return "\n".join(lines)
