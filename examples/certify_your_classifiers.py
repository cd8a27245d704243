"""Certify classifiers of your own: train them on one part of the data, certify votes and singles on another.

    python examples/certify_your_classifiers.py                       scikit-learn's breast-cancer data
    python examples/certify_your_classifiers.py my.csv --target label

Replace ``CLASSIFIERS`` by yours; anything with ``fit`` and ``predict`` will do. A third part of the data, which no
training and no certificate has seen, shows where the true risk lies.
"""

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

from pacb_models import CertifiedClassifier
from pacb_models.estimators.coding import TableCoding
from pacb_models.estimators.tables import read_table
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
    parser = argparse.ArgumentParser(description="Certify a set of classifiers.")
    parser.add_argument("file", nargs="?", help="a CSV or Parquet file; scikit-learn's breast-cancer data by default")
    parser.add_argument("--target", help="the column that holds the classes")
    options = parser.parse_args()
    if options.file and not options.target:
        parser.error("a file needs --target COLUMN, the column that holds the classes")
    if options.file:
        table = read_table(options.file, options.target)
        X, y = table.features, table.y
        # So is the coding of text as numbers.
        classifiers = [(name, make_pipeline(TableCoding(table.text), member)) for name, member in CLASSIFIERS]
    else:
        X, y = load_breast_cancer(return_X_y=True)
        classifiers = CLASSIFIERS
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)

    # Votes and their prior are settled by cross-validation on the training part, before a held-out label is read.
    model = CertifiedClassifier(classifiers, delta=0.05, random_state=0).fit(X, y)
    print(model.guarantee_)

    certificate = model.certificate_
    print("\nthe five candidates with the smallest bounds")
    for index in certificate.single_bounds.argsort(kind="stable")[:5]:
        rate, bound = certificate.errors[index] / certificate.m, at_most(certificate.single_bounds[index])
        print(f"  held-out error {rate:.4f}, certified {bound:<7}  {certificate.names[index]}")
    print(f"\ntest error of the deployed predictor {1 - model.score(X_test, y_test):.4f}")


if __name__ == "__main__":
    main()
