"""Certify classifiers of your own: train them on one part of the data, weigh and certify them on another.

    python examples/certify_your_classifiers.py                       scikit-learn's breast-cancer data
    python examples/certify_your_classifiers.py my.csv --target label

Replace ``CLASSIFIERS`` by yours; anything with ``fit`` and ``predict`` will do. A third part of the data, which no
training and no certificate has seen, shows where the true risk lies.
"""

from __future__ import annotations

import argparse

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pacb_models import StochasticClassifier
from pacb_models.ensembles.tables import load_table
from pacb_models.wording import at_most

# Scaling is part of a classifier, so that it is learnt from the training part only.
CLASSIFIERS = [
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ("linear SVM", make_pipeline(StandardScaler(), SVC(kernel="linear"))),
    ("Gaussian SVM", make_pipeline(StandardScaler(), SVC())),
    ("neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier())),
    ("naive Bayes", GaussianNB()),
    ("forest", RandomForestClassifier(n_estimators=50)),
    ("tree", DecisionTreeClassifier(max_depth=4)),
]


def main() -> None:
    """Train, certify, test, print."""
    parser = argparse.ArgumentParser(description="Certify a weighted set of classifiers.")
    parser.add_argument("file", nargs="?", help="a CSV or Parquet file; scikit-learn's breast-cancer data by default")
    parser.add_argument("--target", help="the column that holds the classes")
    options = parser.parse_args()
    if options.file and not options.target:
        parser.error("a file needs --target COLUMN, the column that holds the classes")
    if options.file:
        table = load_table(options.file, options.target)
        X, y = table.X, table.y
    else:
        X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)

    # The bound is chosen here, before anything is measured: choosing after looking would have to be paid for.
    model = StochasticClassifier(CLASSIFIERS, distance="kl", divergence="kl", delta=0.05, random_state=0).fit(X, y)
    print(model.certificate_)

    print(f"\n{'classifier':<13} {'validation':>10} {'test':>7} {'weight':>7}")
    gibbs = 0.0
    members = zip(model.names_, model.estimators_, model.risks_, model.posterior_, strict=True)
    for name, member, validation, weight in members:
        test = 1 - member.score(X_test, y_test)
        gibbs += weight * test
        print(f"{name:<13} {validation:>10.4f} {test:>7.4f} {weight:>7.3f}")
    certificate, vote = model.certificate_, 1 - model.score(X_test, y_test)
    print(f"\ntest error of the random classifier {gibbs:.4f}, certified {at_most(certificate.bound)}")
    print(f"test error of the weighted vote     {vote:.4f}, certified {at_most(certificate.vote_bound)}")


if __name__ == "__main__":
    main()
