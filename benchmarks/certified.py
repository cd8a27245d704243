r"""What is the smallest certificate of a predictor that one can deploy? ``CertifiedClassifier`` beside the usual ways.

Each data set is divided at random several times: a test part that nothing sees, and the rest, half for training and
half held out. On the same fitted classifiers and the same held-out examples, at the same :math:`\delta`,

* **certified**: ``CertifiedClassifier``, the deployed candidate;
* **PAC-Bayes vote**: the vote of ``StochasticClassifier`` (kl distance, :math:`\chi^2` divergence), twice its bound;
* **Occam**: the single classifier with the fewest errors, Clopper-Pearson at :math:`\delta/H`;
* **uniform vote**: the plain majority, Clopper-Pearson at :math:`\delta`;
* **validate, test**: the best on half of the held-out examples, Clopper-Pearson on the other half at :math:`\delta`;
* **CV, test**: the best by cross-validation on the training part, Clopper-Pearson on all held-out ones at
  :math:`\delta`;
* **CV all, test**: the same with the votes of ``CertifiedClassifier`` among those that are compared.

    python -m pacb_models.benchmarks.certified                              all, ten splits: ten minutes
    python -m pacb_models.benchmarks.certified wdbc "digits, trees" --splits 2
    python -m pacb_models.benchmarks.certified --coverage                   how often is a certificate wrong?

``--out FILE.csv`` keeps a row for every split, and a second run adds only what is missing there.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from pacb_models import BoundProblem, CertifiedClassifier, certify, clopper_pearson, solve
from pacb_models.ensembles.candidates import Tally
from pacb_models.ensembles.datasets import load_dataset
from pacb_models.ensembles.sharing import predict_members
from pacb_models.files import write_atomically
from pacb_models.validation import check_choice

DELTA = 0.05
TEST_SHARE = 0.1
METHODS = ("certified", "PAC-Bayes vote", "Occam", "uniform vote", "validate, test", "CV, test", "CV all, test")

FIELDS = ("certificate", "test_error")
UCI = (
    "haberman",
    "bupa-no-leak",
    "ionosphere",
    "wdbc",
    "mammographic",
    "banknote",
    "spambase",
    "waveform",
    "mushroom",
)

Members = list[tuple[str, Any]]


@dataclass(frozen=True)
class Case:
    """A data set, as a function without arguments, and a set of classifiers for it, as a function of the features."""

    name: str
    load: Callable[[], tuple[np.ndarray, np.ndarray]]
    members: Callable[[np.ndarray], Members]


@dataclass(frozen=True)
class Row:
    """One method on one split."""

    case: str
    split: int
    method: str
    certificate: float
    test_error: float


def svms(X: np.ndarray) -> Members:
    """200 Gaussian-kernel SVMs: ten C from 0.1 to 1000, twenty widths around scikit-learn's default of 1/(d var X)."""
    return [
        (f"C={C:.3g}, width {factor:.3g}", SVC(C=C, gamma=factor / (X.shape[1] * X.var())))
        for C in np.logspace(-1, 3, 10)
        for factor in np.logspace(-2, 0.5, 20)
    ]


def scaled_svms(X: np.ndarray) -> Members:
    """The same on scaled features."""
    return [(name, make_pipeline(StandardScaler(), member)) for name, member in svms(StandardScaler().fit_transform(X))]


def trees(X: np.ndarray) -> Members:
    """A hundred random trees, as in a forest that does not resample."""
    return [(f"tree {index}", DecisionTreeClassifier(max_features="sqrt")) for index in range(100)]


def mixed(X: np.ndarray) -> Members:
    """What somebody would try on a table."""
    scaled: Members = [(f"logistic C={C:g}", LogisticRegression(C=C, max_iter=1000)) for C in (0.01, 0.1, 1.0, 10.0)]
    scaled += [(f"SVM C={C:g}", SVC(C=C)) for C in (0.3, 1.0, 3.0, 10.0, 30.0)]
    scaled += [(f"{k} neighbours", KNeighborsClassifier(k)) for k in (3, 9, 25)]
    plain: Members = [("naive Bayes", GaussianNB())]
    plain += [(f"tree of depth {depth}", DecisionTreeClassifier(max_depth=depth)) for depth in (2, 4, 8)]
    plain += [("forest", RandomForestClassifier(50)), ("extra trees", ExtraTreesClassifier(50))]
    plain += [
        (f"boosting, {rounds} rounds", HistGradientBoostingClassifier(max_iter=rounds, max_leaf_nodes=8))
        for rounds in (30, 100)
    ]
    return [(name, make_pipeline(StandardScaler(), member)) for name, member in scaled] + plain


def cases(data_dir: str | None = None) -> dict[str, Case]:
    """By name: breast cancer and digits with SVMs and with trees, and the nine UCI data sets with a mixed set.

    Bupa without the feature that its classes were made from.
    """
    cancer, digits = (partial(load, return_X_y=True) for load in (load_breast_cancer, load_digits))
    listed = [
        Case("breast cancer, SVMs", cancer, scaled_svms),
        Case("breast cancer, trees", cancer, trees),
        Case("digits, SVMs", digits, svms),
        Case("digits, trees", digits, trees),
    ]
    listed += [Case(name, partial(_uci, name, data_dir), mixed) for name in UCI]
    return {case.name: case for case in listed}


def _uci(name: str, data_dir: str | None) -> tuple[np.ndarray, np.ndarray]:
    dataset = load_dataset(name, data_dir)
    return dataset.X, dataset.y


def measure(case: Case, split: int, n_jobs: int | None = None) -> list[Row]:
    """All methods on one split; ``split`` is its seed."""
    X, y = case.load()
    order = np.random.RandomState(split).permutation(len(y))
    tested, rest = np.split(order, [round(TEST_SHARE * len(y))])
    held_out, training = np.split(rest, [len(rest) // 2])
    model = CertifiedClassifier(
        case.members(X[training]), delta=DELTA, validation_size=None, n_jobs=n_jobs, random_state=split
    )
    # One thread: boosting's threads wait for each other in loops, which costs more than it gains on small tables.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop at their iteration limit
        model.fit(X[training], y[training]).calibrate(X[held_out], y[held_out])
    ballots = [np.array(predict_members(model.estimators_, X[rows], n_jobs)) for rows in (held_out, tested)]
    found = {"certified": (model.bound_, np.mean(model.predict(X[tested]) != y[tested]))}
    found |= rivals(ballots[0], y[held_out], ballots[1], y[tested], model)
    return [Row(case.name, split, method, *map(float, found[method])) for method in METHODS]


def rivals(
    ballots: np.ndarray, y: np.ndarray, test_ballots: np.ndarray, y_test: np.ndarray, model: CertifiedClassifier
) -> dict[str, tuple[Any, Any]]:
    """Certificate and test error of the other methods on the same members."""
    m, size = len(y), len(ballots)
    wrong, test_risks = ballots != y, np.mean(test_ballots != y_test, axis=1)
    errors = np.count_nonzero(wrong, axis=1)
    solution = solve(BoundProblem(errors / m, m=m, delta=DELTA, distance="kl", divergence="chi2"))
    occam = certify(errors, m, delta=DELTA)
    uniform = np.full(size, 1.0 / size)
    # The examples were drawn in random order.
    half = m // 2
    validated = int(np.argmin(np.count_nonzero(wrong[:, :half], axis=1)))
    assert model.cv_errors_ is not None and solution.posterior is not None
    chosen, of_all = int(np.argmin(model.cv_errors_[-size:])), int(np.argmin(model.cv_errors_))
    return {
        "PAC-Bayes vote": (
            min(1.0, 2.0 * solution.bound),
            np.mean(_vote(test_ballots, solution.posterior, model.classes_) != y_test),
        ),
        "Occam": (occam.single_bound, test_risks[occam.single]),
        "uniform vote": (
            clopper_pearson(np.count_nonzero(_vote(ballots, uniform, model.classes_) != y), m, DELTA),
            np.mean(_vote(test_ballots, uniform, model.classes_) != y_test),
        ),
        "validate, test": (
            clopper_pearson(np.count_nonzero(wrong[validated, half:]), m - half, DELTA),
            test_risks[validated],
        ),
        "CV, test": (clopper_pearson(errors[chosen], m, DELTA), test_risks[chosen]),
        "CV all, test": (
            clopper_pearson(model.errors_[of_all], m, DELTA),
            np.mean(_vote(test_ballots, model.candidates_[of_all].weights, model.classes_) != y_test),
        ),
    }


def _vote(ballots: np.ndarray, weights: np.ndarray, classes: np.ndarray) -> np.ndarray:
    tally = Tally(ballots.shape[1], len(classes))
    for weight, ballot in zip(weights, ballots):
        tally.add(weight, np.searchsorted(classes, ballot))
    return classes[tally.shares.argmax(axis=1)]


def table(rows: Sequence[Row]) -> str:
    """Mean certificate and, in parentheses, mean test error of each method; the smallest certificate has a star."""
    names = list(dict.fromkeys(row.case for row in rows))
    lines = [f"{'':<22} {'splits':>6}" + "".join(f" {method:>17}" for method in METHODS)]
    for name in names:
        own = [row for row in rows if row.case == name]
        means = {
            method: [np.mean([getattr(row, field) for row in own if row.method == method]) for field in FIELDS]
            for method in METHODS
        }
        smallest = min(certificate for certificate, _ in means.values())
        cells = [
            f" {certificate:>8.4f}{'*' if certificate == smallest else ' '}({error:.4f})"
            for certificate, error in means.values()
        ]
        ratio = means["certified"][0] / smallest
        lines.append(f"{name:<22} {len({row.split for row in own}):>6}" + "".join(cells) + f"  {ratio:6.3f}")
    lines[0] += "   ratio"
    lines.append("certificate (test error), means; * the smallest; ratio: certified to the smallest")
    return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Coverage:
    """Certificates, and true risks, of what was deployed in many draws of the whole sample."""

    bounds: np.ndarray
    risks: np.ndarray

    def violations(self, shrink: float = 1.0) -> int:
        """How many true risks were above ``shrink`` times the certificate."""
        return int(np.count_nonzero(self.risks > shrink * self.bounds))


def coverage(draws: int, examples: int = 80, delta: float = 0.2, seed: int = 0) -> Coverage:
    """Fit on synthetic data whose true risks are known exactly.

    A feature takes the values 0 to 11, each as often, and the class is one with a known probability at each, so that
    the true risk of whatever is deployed is a sum of twelve terms. A large ``delta`` and few examples make violations
    frequent enough to be counted.
    """
    values = np.arange(12)
    rates = np.where(values < 6, 0.25, 0.75)
    members = [DecisionTreeClassifier(max_depth=1, splitter="random") for _ in range(3)]
    random = np.random.RandomState(seed)
    found = Coverage(np.empty(draws), np.empty(draws))
    for draw in range(draws):
        X = random.randint(12, size=(examples, 1))
        y = (random.uniform(size=examples) < rates[X[:, 0]]).astype(int)
        y[:2] = 0, 1  # both classes exist; these two train, they do not certify
        model = CertifiedClassifier(members, delta=delta, validation_size=None, cv=2, random_state=random)
        half = examples // 2
        model.fit(X[:half], y[:half]).calibrate(X[half:], y[half:])
        found.bounds[draw] = model.bound_
        found.risks[draw] = np.mean(np.where(model.predict(values[:, None]) == 1, 1.0 - rates, rates))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing and print the table, or the coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="CASE", help="which (all)")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", metavar="DIR", help="directory of the raw UCI files (the variable PACB_DATA)")
    parser.add_argument("--jobs", type=int, default=None, metavar="N")
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="rows are kept here, and not measured again")
    parser.add_argument("--coverage", action="store_true", help="simulate how often a certificate is too small")
    parser.add_argument("--draws", type=int, default=2000, help="for --coverage")
    options = parser.parse_args(arguments)
    if options.coverage:
        return _show_coverage(options.draws)
    known = cases(options.data)
    for name in options.names:
        check_choice("CASE", name, list(known))
    rows = _read(options.out)
    for name in options.names or known:
        for split in range(options.splits):
            if not any(row.case == name and row.split == split for row in rows):
                rows += measure(known[name], split, options.jobs)
                print(f"{name}: split {split + 1} of {options.splits}", file=sys.stderr, flush=True)
                if options.out:
                    _write(options.out, rows)
    order = {name: position for position, name in enumerate(known)}
    print(table(sorted(rows, key=lambda row: order[row.case])))
    return 0


def _show_coverage(draws: int, delta: float = 0.2) -> int:
    found = coverage(draws, delta=delta)
    means = f"mean certificate {found.bounds.mean():.4f}, mean risk {found.risks.mean():.4f}"
    print(f"{draws} draws, delta {delta:g}: {means}")
    for shrink in (1.0, 0.9, 0.8, 0.7):
        print(f"certificates times {shrink:g}: {found.violations(shrink) / draws:.4f} below the true risk")
    return 0 if found.violations() <= delta * draws else 1


def _read(path: Path | None) -> list[Row]:
    if path is None or not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Row(row["case"], int(row["split"]), row["method"], float(row["certificate"]), float(row["test_error"]))
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
