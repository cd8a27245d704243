"""``pacb certify``: a certified stochastic classifier from a table."""

from __future__ import annotations

import argparse
import io
import json
import os
from typing import Any

from ..cli import DONE, FAILED, add_bound_arguments, add_command
from ..errors import InputError
from ..files import write_atomically


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``certify``."""
    parser = add_command(
        subparsers,
        "certify",
        run,
        "a certified stochastic classifier from a table",
        "Train SVMs over a grid of regularisation parameters on one part of a table, weigh them by the\n"
        "posterior that minimises the bound on the other part, and print what is guaranteed.\n\n"
        "  pacb certify cells.csv --target diagnosis\n"
        "  pacb certify cells.csv --target diagnosis --scale --model cells.joblib --out cells.json",
    )
    parser.add_argument("file", metavar="FILE.csv", help="a CSV with a header line, or a Parquet file")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column that holds the classes")
    parser.add_argument("--ignore", default="", metavar="A,B,...", help="columns to leave out, such as identifiers")
    parser.add_argument("--missing", default="refuse", help="rows that lack a value: 'refuse' or 'drop'")
    parser.add_argument("--lambdas", default="paper", help="'paper' (0.10, 0.11, ...) or 'arithmetic-geometric'")
    parser.add_argument("--count", type=int, default=None, metavar="H", help="number of SVMs of the grid 'paper' (50)")
    parser.add_argument("--scale", action="store_true", help="scale the features to variance 1 (on the training part)")
    parser.add_argument("--validation-size", type=float, default=0.5, help="share of the rows kept back to certify")
    add_bound_arguments(parser)
    parser.add_argument("--solver", default="auto", help="a name that 'pacb doctor' lists")
    parser.add_argument("--seed", type=int, default=0, help="of the random split")
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="processes for training")
    parser.add_argument("--model", metavar="FILE", help="save the fitted classifier (joblib format)")
    parser.add_argument("--out", metavar="FILE.json", help="save the certificate")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def run(options: argparse.Namespace) -> int:
    """Train, certify, print, and save what was asked for."""
    import numpy as np

    from ..validation import check_count
    from .tables import load_table

    if options.lambdas not in ("paper", "arithmetic-geometric"):
        raise InputError(f"--lambdas is {options.lambdas!r}; it must be 'paper' or 'arithmetic-geometric'.")
    check_count("--seed", options.seed, least=0)
    for option, path in (("--model", options.model), ("--out", options.out)):
        if path and os.path.exists(path) and os.path.exists(options.file) and os.path.samefile(path, options.file):
            raise InputError(f"{option} is {path!r}, the table itself; choose another file.")
    if options.jobs == 0:
        raise InputError("--jobs is 0; it must be a number of processes, or -1 for one per core.")
    ignored = [name for name in options.ignore.split(",") if name]
    table = load_table(options.file, options.target, missing=options.missing, ignore=ignored)
    # Classes by name: a saved model must predict what stood in the table.
    classifier = _fit(_estimator(options), table.X, np.asarray(table.class_names)[table.y])
    record = _record(options, classifier, table)
    if options.model:
        _save_model(classifier, options.model)
    if options.out:
        write_atomically(options.out, json.dumps(record, indent=2, allow_nan=False) + "\n")
    print(json.dumps(record, allow_nan=False) if options.json else _text(options, classifier, table))
    return DONE if classifier.solution_.status in ("optimal", "acceptable") else FAILED


def _fit(classifier: Any, X: Any, y: Any) -> Any:
    """The classifier fitted; what scikit-learn refuses to train on is bad input."""
    try:
        return classifier.fit(X, y)
    except InputError:
        raise
    except ValueError as reason:
        raise InputError(f"the classifiers cannot be trained on this table: {reason}") from None


def _estimator(options: argparse.Namespace) -> Any:
    from .svc import StochasticSVC

    return StochasticSVC(
        options.lambdas,
        n_lambdas=options.count,
        scale=options.scale,
        distance=options.distance,
        divergence=options.divergence,
        order=options.order,
        delta=options.delta,
        constant=options.constant,
        validation_size=options.validation_size,
        solver=options.solver,
        n_jobs=options.jobs,
        random_state=options.seed,
    )


def _record(options: argparse.Namespace, classifier: Any, table: Any) -> dict[str, Any]:
    return {
        "certificate": classifier.certificate_.as_dict(),
        "data": {
            "file": str(options.file),
            "target": options.target,
            "rows": len(table.y),
            "features": table.X.shape[1],
        },
        "classes": [str(name) for name in classifier.classes_],
        "seed": options.seed,
        "lambdas": classifier.lambdas_.tolist(),
        "risks": classifier.risks_.tolist(),
        "solution": classifier.solution_.as_dict(),
    }


def _text(options: argparse.Namespace, classifier: Any, table: Any) -> str:
    rows, features = table.X.shape
    heading = (
        f"{table.name}: {rows} rows, {features} features, classes {', '.join(map(str, classifier.classes_))}; "
        f"{len(classifier.names_)} SVMs trained on {rows - classifier.n_validation_} rows"
    )
    saved = [f"saved {path}" for path in (options.model, options.out) if path]
    return "\n".join([heading, str(classifier.certificate_), *saved])


def _save_model(model: Any, path: str) -> None:
    import joblib

    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    write_atomically(path, buffer.getvalue())
