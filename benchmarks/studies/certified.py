r"""What is the smallest certificate of a predictor that one can deploy? ``CertifiedClassifier`` beside the usual ways.

Each data set is divided at random several times: a test part that nothing sees, and the rest, half for training and
half held out. On the same fitted classifiers and the same held-out examples, at the same :math:`\delta`,

* **certified**: ``CertifiedClassifier``, the deployed candidate;
* **trusting prior**: the same with 0.9 of the prior on the best candidate by cross-validation;
* **PAC-Bayes vote**: the vote of ``StochasticClassifier`` (kl distance, :math:`\chi^2` divergence), twice its bound;
* **Occam**: the single classifier with the fewest errors, Clopper-Pearson at :math:`\delta/H`;
* **uniform vote**: the plain majority, Clopper-Pearson at :math:`\delta`;
* **20/80**, **50/50**: the best, or the plain majority, on a part of the held-out examples, Clopper-Pearson on the
  others at :math:`\delta`;
* **prefit, 0.5**: fitted classifiers and their majority, which has so much of the prior;
* **CV all, test**: the best candidate by cross-validation on the training part, Clopper-Pearson on all held-out
  examples at :math:`\delta`;
* **level, every**, **level, in order**: is a candidate within a level that the training part fixed, the fewest
  cross-validation errors and two standard errors of so many held-out examples? By the bounds of **certified**, which
  hold for every level, and by tests in the order of the cross-validation errors (``level=``, ``order=``). The
  certificate is the level, or 1 where nothing is certified.

    python -m pacb_models.benchmarks.studies.certified                              all, ten splits: ten minutes
    python -m pacb_models.benchmarks.studies.certified wdbc "digits, trees" --splits 2
    python -m pacb_models.benchmarks.studies.certified --held-out 0.35 0.5 0.65     how much to hold out?

``--out FILE.csv`` keeps the rows of every split in FILE.jsonl, too, and ``--resume`` measures what is missing there.
"""

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_hastie_10_2
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from pacb_models import BoundProblem, CertifiedClassifier, LevelCertificate, certify, clopper_pearson, solve
from pacb_models.certificates.votes import vote_shares
from pacb_models.commands.program import answered
from pacb_models.estimators.candidates import default_prior, poll
from pacb_models.estimators.sharing import predict_members

from ..experiments.datasets import load_dataset
from .kept_rows import SPLITS, KeptRows, Rows, options

DELTA = 0.05
TEST_SHARE = 0.1
#: Share of the held-out examples among those that are not for testing.
HELD_OUT = 0.5
RIVALS = ["certified", "trusting prior", "PAC-Bayes vote", "Occam", "uniform vote", "20/80", "50/50", "prefit, 0.5"]
RIVALS += ["CV all, test"]
LEVEL_WAYS = ["level, every", "level, in order"]

STUDY = KeptRows("certified", 1, ("split", "case", "held_out"))

FIELDS = ("certificate", "test_error")
UCI_TABLES = "haberman bupa-no-leak ionosphere wdbc mammographic banknote spambase waveform mushroom".split()

Members = list[tuple[str, Any]]


class Case(NamedTuple):
    """A data set, as a function without arguments, and a set of classifiers for it, as a function of the features."""

    name: str
    load: Callable[[], tuple[np.ndarray, np.ndarray]]
    members: Callable[[np.ndarray], Members]


def svms(X: np.ndarray) -> Members:
    """200 Gaussian-kernel SVMs: ten C from 0.1 to 1000, twenty widths around scikit-learn's default of 1/(d var X)."""
    return [
        (f"C={C:.3g}, width {factor:.3g}", SVC(C=C, gamma=factor / (X.shape[1] * X.var())))
        for C in np.logspace(-1, 3, 10)
        for factor in np.logspace(-2, 0.5, 20)
    ]


def scaled_svms(X: np.ndarray) -> Members:
    """Return the same on scaled features."""
    return [(name, make_pipeline(StandardScaler(), member)) for name, member in svms(StandardScaler().fit_transform(X))]


def trees(X: np.ndarray, count: int = 100) -> Members:
    """Return random trees, as in a forest that does not resample."""
    return [(f"tree {index}", DecisionTreeClassifier(max_features="sqrt")) for index in range(count)]


def mixed(X: np.ndarray) -> Members:
    """Return what somebody would try on a table."""
    scaled: Members = [(f"logistic C={C:g}", LogisticRegression(C=C, max_iter=1000)) for C in (0.01, 0.1, 1.0, 10.0)]
    scaled += [(f"SVM C={C:g}", SVC(C=C)) for C in (0.3, 1.0, 3.0, 10.0, 30.0)]
    scaled += [(f"{k} neighbours", KNeighborsClassifier(k)) for k in (3, 9, 25)]
    plain: Members = [("naive Bayes", GaussianNB())]
    plain += [(f"tree of depth {depth}", DecisionTreeClassifier(max_depth=depth)) for depth in (2, 4, 8)]
    plain += [("forest", RandomForestClassifier(50)), ("extra trees", ExtraTreesClassifier(50))]
    for rounds in (30, 100):
        boosting = HistGradientBoostingClassifier(max_iter=rounds, max_leaf_nodes=8)
        plain.append((f"boosting, {rounds} rounds", boosting))
    return [(name, make_pipeline(StandardScaler(), member)) for name, member in scaled] + plain


def _diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Return whether the disease has progressed by more than the median."""
    X, y = load_diabetes(return_X_y=True)
    return X, (y > np.median(y)).astype(int)


def _ringnorm() -> tuple[np.ndarray, np.ndarray]:
    """Return Breiman's: twenty normal variables, with variance 4, or with mean 2/sqrt(20)."""
    random = np.random.RandomState(0)
    y = random.randint(2, size=1500)
    noise = random.standard_normal((1500, 20))
    return np.where(y[:, None] == 0, 2.0 * noise, noise + 2.0 / math.sqrt(20.0)), y


def _uci(name: str, data_dir: str | None) -> tuple[np.ndarray, np.ndarray]:
    dataset = load_dataset(name, data_dir)
    return dataset.X, dataset.y


#: Data sets that had no part in choosing any of the defaults; the last two are simulated.
FRESH: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "wine": partial(load_wine, return_X_y=True),
    "iris": partial(load_iris, return_X_y=True),
    "diabetes": _diabetes,
    # Example 10.2 of Hastie, Tibshirani and Friedman: is the sum of ten squared normal variables above its median?
    "hastie": partial(make_hastie_10_2, 1500, random_state=0),
    "ringnorm": _ringnorm,
}


def cases(data_dir: str | None = None) -> dict[str, Case]:
    """Return, by name, breast cancer and digits with SVMs and with trees, and the nine UCI data sets with a mixed set.

    Bupa without the feature that its classes were made from.
    """
    cancer, digits = (partial(load, return_X_y=True) for load in (load_breast_cancer, load_digits))
    listed = [Case("breast cancer, SVMs", cancer, scaled_svms), Case("breast cancer, trees", cancer, trees)]
    listed += [Case("digits, SVMs", digits, svms), Case("digits, trees", digits, trees)]
    listed += [Case(name, partial(_uci, name, data_dir), mixed) for name in UCI_TABLES]
    listed += [Case(name, load, mixed) for name, load in FRESH.items()]
    return {case.name: case for case in listed}


def measure(case: Case, split: int, held_out_share: float = HELD_OUT, n_jobs: int | None = None) -> Rows:
    """Return all methods on one split; ``split`` is its seed, ``held_out_share`` a part of what is not for testing."""
    X, y = case.load()
    order = np.random.RandomState(split).permutation(len(y))
    tested, rest = np.split(order, [round(TEST_SHARE * len(y))])
    held_out, training = np.split(rest, [int(len(rest) * held_out_share)])
    model = CertifiedClassifier(
        case.members(X[training]), delta=DELTA, validation_size=None, n_jobs=n_jobs, random_state=split
    )
    # One thread: boosting's threads wait for each other in loops, which costs more than it gains on small tables.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop at their iteration limit
        model.fit(X[training], y[training]).calibrate(X[held_out], y[held_out])
        ballots = [np.array(predict_members(model.estimators_, X[rows], n_jobs)) for rows in (held_out, tested)]
    found = compared(model, ballots[0], y[held_out], ballots[1], y[tested])
    place = {"case": case.name, "split": split, "held_out": held_out_share}
    return [{**place, "method": each, **dict(zip(FIELDS, map(float, found[each])))} for each in [*RIVALS, *LEVEL_WAYS]]


def compared(
    model: CertifiedClassifier, ballots: np.ndarray, y: np.ndarray, test_ballots: np.ndarray, y_test: np.ndarray
) -> dict[str, tuple[float, float]]:
    """Return certificate and test error of each method on the same members and the same held-out examples."""

    def wrong_on(ballots: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return which candidates err on which examples, votes first."""
        opinions = np.searchsorted(model.classes_, ballots)
        return model.classes_[poll(model.candidates_, opinions, len(y), len(model.classes_)).choices] != y

    m, size = len(y), len(ballots)
    wrong, test_errors = wrong_on(ballots, y), wrong_on(test_ballots, y_test).mean(axis=1)
    errors = np.count_nonzero(wrong, axis=1)
    votes = len(wrong) - size
    # What somebody with fitted classifiers has: their plain majority, if there is a vote at all, and each alone.
    plain = np.concatenate([np.arange(min(votes, 1)), np.arange(votes, len(wrong))])
    assert model.cv_errors_ is not None
    # The best candidate by cross-validation, ties to votes.
    committed = int(np.argmin(model.cv_errors_))
    trusting = 0.9 * (np.arange(len(wrong)) == committed) + 0.1 * model.prior_
    found = {
        "certified": _smallest(errors, m, model.prior_),
        "trusting prior": _smallest(errors, m, trusting),
        "Occam": _smallest(errors[votes:], m, np.full(size, 1.0 / size), np.arange(votes, len(wrong))),
        "uniform vote": (_limit(errors[0], m), 0),
        "20/80": _chosen_on_a_part(wrong, plain, 0.2),
        "50/50": _chosen_on_a_part(wrong, plain, 0.5),
        "prefit, 0.5": _smallest(errors[plain], m, default_prior(plain.size - size, size, None), plain),
        "CV all, test": (_limit(errors[committed], m), committed),
    }
    result = {name: (certificate, float(test_errors[index])) for name, (certificate, index) in found.items()}
    by_training = np.argsort(model.cv_errors_, kind="stable")
    level = fixed_level(model.cv_errors_.min() / model.n_training_, m)
    bounds = certify(errors, m, delta=DELTA, prior=model.prior_).single_bounds
    tested = LevelCertificate(errors[by_training], m, DELTA, level, [str(index) for index in by_training])
    for method, passed in (("level, every", bounds.min() <= level), ("level, in order", bool(tested.certified))):
        result[method] = (level if passed else 1.0, float(test_errors[committed]))
    # Twice the bound of the stochastic classifier, for its vote.
    solution = solve(BoundProblem(errors[votes:] / m, m=m, delta=DELTA, distance="kl", divergence="chi2"))
    opinions = np.searchsorted(model.classes_, test_ballots)
    assert solution.posterior is not None
    shares = vote_shares(solution.posterior, opinions, len(y_test), len(model.classes_))
    test_error = float(np.mean(model.classes_[shares.argmax(axis=1)] != y_test))
    result["PAC-Bayes vote"] = (min(1.0, 2.0 * solution.bound), test_error)
    return result


def fixed_level(rate: float, m: int) -> float:
    """Return an error rate and two standard errors of m examples; not below what passes without an error."""
    return float(np.clip(rate + 2.0 * math.sqrt(rate * (1.0 - rate) / m), clopper_pearson(0, m, DELTA), 0.99))


def _limit(errors: Any, m: int) -> float:
    return float(clopper_pearson(errors, m, DELTA))


def _smallest(errors: np.ndarray, m: int, prior: np.ndarray, of: np.ndarray | None = None) -> tuple[float, int]:
    """Return the smallest limit of one candidate with this prior, and which it is."""
    certificate = certify(errors, m, delta=DELTA, prior=prior)
    return certificate.single_bound, certificate.single if of is None else int(of[certificate.single])


def _chosen_on_a_part(wrong: np.ndarray, among: np.ndarray, share: float) -> tuple[float, int]:
    """Return the fewest errors on the first rows, votes before singles; the limit of its errors on the others."""
    rows = wrong.shape[1]
    first = math.ceil(share * rows)
    index = int(among[np.argmin(np.count_nonzero(wrong[among, :first], axis=1))])
    return _limit(np.count_nonzero(wrong[index, first:]), rows - first), index


class Ratio(NamedTuple):
    """Certificates of one kind to those of another: the geometric mean over cases, its standard error, the worst."""

    mean: float
    standard_error: float
    smallest: float
    largest: float
    test_error: float  # difference of the mean test errors

    def __str__(self) -> str:
        return (
            f"{self.mean:.3f} ± {self.standard_error:.3f} ({self.smallest:.2f} to {self.largest:.2f}), "
            f"test error {self.test_error:+.4f}"
        )


def ratio(rows: pd.DataFrame, others: pd.DataFrame) -> Ratio:
    """Return, of ``rows`` to ``others`` of the same cases and splits, ratios of the cases' mean certificates."""
    columns = [*FIELDS, *(f"{field}_other" for field in FIELDS)]
    means = rows.merge(others, on=["case", "split"], suffixes=("", "_other")).groupby("case")[columns].mean()
    quotients = means["certificate"] / means["certificate_other"]
    error = float((means["test_error"] - means["test_error_other"]).mean())
    return Ratio(*geometric_mean(quotients.to_numpy()), quotients.min(), quotients.max(), error)


def geometric_mean(values: np.ndarray) -> tuple[float, float]:
    """Return the geometric mean and its standard error."""
    logs = np.log(values)
    mean = float(np.exp(logs.mean()))
    return mean, mean * float(logs.std(ddof=1)) / math.sqrt(logs.size) if logs.size > 1 else math.nan


def ratios(rows: pd.DataFrame) -> str:
    """Return every method beside the default one, on the cases that it was chosen on and on fresh ones; every share."""
    lines = []
    for title, fresh in (("cases that had a part in choosing", False), ("data sets that had none", True)):
        own = rows[rows["case"].isin(FRESH) == fresh]
        usual = own[own["held_out"] == HELD_OUT]
        if usual.empty:
            continue
        lines.append(f"{title}: certificates to those of CertifiedClassifier")
        default = usual[usual["method"] == RIVALS[0]]
        lines += [f"  {method:<16} {ratio(usual[usual['method'] == method], default)}" for method in RIVALS[1:]]
        for method in LEVEL_WAYS:
            passed = usual[usual["method"] == method]["certificate"] < 1.0
            if passed.size:
                lines.append(f"  {method:<16} certified in {100.0 * passed.mean():.0f} % of {passed.size} splits")
        for share in sorted(set(own["held_out"]) - {HELD_OUT}):
            of_share = own[(own["held_out"] == share) & (own["method"] == RIVALS[0])]
            lines.append(f"  held out {share:<7g} {ratio(of_share, default)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing and print the ratios."""
    given = options(__doc__, arguments, cases(), **SPLITS | {"splits": 10}, held_out=(HELD_OUT,), jobs=int)
    known = cases(given.data)

    def rows_of(split: int, name: str, share: float) -> Rows:
        return measure(known[name], split, share, given.jobs)

    print(ratios(STUDY.table(given, rows_of, given.names, given.held_out)))
    return 0


if __name__ == "__main__":
    sys.exit(answered("certified", main))
