"""Sets of classifiers to certify a table with, by name; what needs scaled features scales them on the training part."""

from __future__ import annotations

from typing import Any

from ..validation import check_choice

Members = list[tuple[str, Any]]

#: The names, in the order of "all".
SETS = ("linear", "svm", "trees", "forest", "boosting")


def classifier_set(name: str) -> Members:
    """The classifiers of one set, or of "all"."""
    check_choice("--classifiers", name, (*SETS, "all"))
    return [member for part in (SETS if name == "all" else (name,)) for member in _BUILDERS[part]()]


def _scaled(members: Members) -> Members:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return [(name, make_pipeline(StandardScaler(), member)) for name, member in members]


def _linear() -> Members:
    from sklearn.linear_model import LogisticRegression

    return _scaled([(f"logistic C={C:g}", LogisticRegression(C=C, max_iter=2000)) for C in (0.01, 0.1, 1.0, 10.0)])


def _svm() -> Members:
    from sklearn.svm import SVC

    return _scaled([(f"SVM C={C:g}", SVC(C=C)) for C in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)])


def _trees() -> Members:
    from sklearn.tree import DecisionTreeClassifier

    return [(f"tree of depth {depth}", DecisionTreeClassifier(max_depth=depth)) for depth in (2, 4, 8)]


def _forest() -> Members:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    return [("random forest", RandomForestClassifier(100)), ("extra trees", ExtraTreesClassifier(100))]


def _boosting() -> Members:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return [
        (f"boosting, {rounds} rounds", HistGradientBoostingClassifier(max_iter=rounds, max_leaf_nodes=8))
        for rounds in (30, 100)
    ]


_BUILDERS = {"linear": _linear, "svm": _svm, "trees": _trees, "forest": _forest, "boosting": _boosting}
