"""Sets of classifiers to certify a table with, by name; each codes and scales the table by its training part."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ..validation import check_choice

#: The names, in the order of "all".
SETS = ("linear", "svm", "trees", "forest", "boosting")


def classifier_set(name: str, coding: Any) -> list[tuple[str, Any]]:
    """The classifiers of one set, or of "all", each behind a ``coding`` of its own."""
    check_choice("classifiers", name, (*SETS, "all"))
    logistic = {f"logistic C={C:g}": LogisticRegression(C=C, max_iter=2000) for C in (0.01, 0.1, 1.0, 10.0)}
    machines = {f"SVM C={C:g}": SVC(C=C) for C in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
    members: dict[str, dict[str, tuple[Any, ...]]] = {
        "linear": {key: (StandardScaler(), member) for key, member in logistic.items()},
        "svm": {key: (StandardScaler(), member) for key, member in machines.items()},
        "trees": {f"tree of depth {depth}": (DecisionTreeClassifier(max_depth=depth),) for depth in (2, 4, 8)},
        "forest": {"random forest": (RandomForestClassifier(100),), "extra trees": (ExtraTreesClassifier(100),)},
        "boosting": {
            f"boosting, {rounds} rounds": (HistGradientBoostingClassifier(max_iter=rounds, max_leaf_nodes=8),)
            for rounds in (30, 100)
        },
    }
    parts = SETS if name == "all" else (name,)
    return [(key, make_pipeline(clone(coding), *steps)) for part in parts for key, steps in members[part].items()]
