"""``pacb fit``: a certified classifier from a table."""

import argparse
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import check_writable, write_atomically
from .arguments import BOUND, add_bound_arguments
from .program import DONE, FAILED, add_command, refuse_ignored

#: Options of the paper's ensemble, and options of all others.
_OF_THE_PAPER = (*BOUND[1:], "solver", "lambdas", "count", "scale")
_OF_CERTIFIED = ("resume", "report", "per_class", "per_prediction", "positive", "group")
_HOW_TO_PREDICT = "to predict: model = joblib.load(FILE); model.predict(table[model.feature_names_in_])"


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    parser = add_command(
        subparsers,
        "fit",
        run,
        "train and certify classifiers, from a table",
        "Train classifiers on one part of a table, certify them and their votes on the other part, and\n"
        "deploy the one with the smallest certificate.\n\n"
        "  pacb fit cells.csv --target diagnosis --report cells.html\n"
        "  pacb fit cells.csv --target diagnosis --positive malignant --per-class --model cells.joblib\n"
        "  pacb fit cells.csv --target diagnosis --classifiers paper-svm   the paper's SVMs and bound\n\n"
        "A saved model is a pickle: loading one runs code, so load only your own.",
    )
    add = parser.add_argument
    add("file", metavar="TABLE.csv", help="a CSV with a header line, or a Parquet file")
    add("--target", required=True, metavar="COLUMN", help="the column that holds the classes")
    add("--ignore", default="", metavar="A,B,...", help="columns to leave out, such as identifiers")
    add("--missing", default="refuse", help="rows that lack a value: 'refuse', 'drop' or 'impute'")
    text = "linear, svm, trees, forest, boosting or all of them (the default); or paper-svm, the paper's ensemble: "
    text += "--lambdas, --count, --scale, --solver and the options on bounds are for it alone"
    add("--classifiers", metavar="SET", help=text)
    add("--per-class", action="store_true", help="certify the error in each class too (1 - recall)")
    text = "certify the error among what is given each class (1 - precision)"
    add("--per-prediction", action="store_true", help=text)
    add("--positive", metavar="CLASS", help="which of two classes is the positive one")
    add("--group", metavar="COLUMN", help="certify the error in each group of this column too")
    add("--report", metavar="FILE.html", help="write a page about the certificate")
    add("--lambdas", default=None, help="'paper' (0.10, 0.11, ...) or 'arithmetic-geometric'")
    add("--count", type=int, default=None, metavar="H", help="number of SVMs of the grid 'paper' (50)")
    add("--scale", action="store_true", help="scale the features to variance 1 (on the training part)")
    add(
        "--validation-size",
        type=share_or_count,
        default=0.5,
        metavar="SIZE",
        help="share or number of rows that certify",
    )
    add_bound_arguments(parser)
    add("--solver", default="auto", help="a name that 'pacb doctor' lists")
    add("--seed", type=int, default=0, help="of the random split")
    add("--jobs", type=int, default=None, metavar="N", help="processes for training")
    add("--dask", metavar="ADDRESS", help="train on the workers of a Dask scheduler")
    text = "keep finished folds in this folder (as pickles), and take those that are there: a run that was stopped "
    add("--resume", metavar="DIR", help=f"{text}goes on with the same command")
    add("--model", metavar="FILE", help="save the fitted classifier (joblib format)")
    add("--out", metavar="FILE.json", help="save the certificate")
    add("--json", action="store_true", help="print one JSON object")
    return parser


def share_or_count(text: str) -> float:
    """Return a number of rows where it is whole as typed, else a share of them."""
    return int(text) if text.isdigit() else float(text)


def run(options: argparse.Namespace) -> int:
    """Train, certify, print, and save what was asked for."""
    from ..cluster import fitted_on
    from ..estimators.tables import read_table
    from ..processes import ended_with_us
    from ..validation import check_choice, check_count, check_jobs

    paper = options.classifiers == "paper-svm"
    if options.classifiers is None:
        paper = bool(options.lambdas or options.count or options.scale)
    if paper:
        refuse_ignored(options, _OF_CERTIFIED, "is not for --classifiers paper-svm")
    else:
        refuse_ignored(options, _OF_THE_PAPER, "needs --classifiers paper-svm")
    options.lambdas = check_choice("--lambdas", options.lambdas or "paper", ("paper", "arithmetic-geometric"))
    check_count("--seed", options.seed, least=0, most=2**32 - 1)
    if options.jobs is not None:
        check_jobs("--jobs", options.jobs)
    _check_files(options)
    ignore = [name for name in options.ignore.split(",") if name]
    table = read_table(options.file, options.target, missing=options.missing, ignore=ignore, group=options.group)
    if options.dask is not None:
        return fitted_on(options.dask, lambda: _train(options, table, paper))
    with ended_with_us():
        return _train(options, table, paper)


def _check_files(options: argparse.Namespace) -> None:
    """Refuse files that cannot be written, or that would be written over the table or over each other."""
    taken = {os.path.realpath(options.file): "the table itself"}
    for option, path in (("--model", options.model), ("--out", options.out), ("--report", options.report)):
        if path is not None:
            check_writable(option, path)
            place = os.path.realpath(path)
            if place in taken:
                raise InputError(f"{option} is {path!r}, {taken[place]}; choose another file.")
            taken[place] = f"as is {option}"


def _train(options: argparse.Namespace, table: Any, paper: bool) -> int:
    """Fit, certify, print and save what was asked for."""
    import joblib
    import numpy as np
    from threadpoolctl import threadpool_limits

    # Classes by name: a saved model must predict what stood in the table.
    labels = np.asarray(table.class_names)[table.y]
    model, groups = _estimator(options, table, paper), {} if paper else {"groups": table.groups}
    try:
        # Threads of boosting wait for each other in loops: on a small table and a busy machine that takes minutes.
        # Rows from which threads gain more than they cost.
        with threadpool_limits(1 if len(labels) < 10_000 else None):
            model.fit(table.features, labels, **groups)
    except InputError:
        raise
    except ValueError as reason:
        raise InputError(f"the classifiers cannot be trained on this table: {reason}") from None
    record = _record(options, model, table)
    if options.model:
        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        write_atomically(options.model, buffer.getvalue())
    if options.out:
        write_atomically(options.out, json.dumps(record, indent=2, allow_nan=False) + "\n")
    if options.report:
        from ..estimators.certificate_page import certificate_page

        page = certificate_page(model, f"Certificate: {table.name}", _facts(options), table)
        write_atomically(options.report, page)
    if options.json:
        print(json.dumps(record, allow_nan=False))
    else:
        rows, columns = table.features.shape
        print(
            f"{table.name}: {rows} rows, {columns} columns, classes {', '.join(map(str, model.classes_))}; "
            f"{len(model.names_)} {'SVMs' if paper else 'classifiers'} trained on {rows - model.n_validation_} rows",
            *table.reading.notes,
            model.certificate_ if paper else model.guarantee_,
            *(f"saved {path}" for path in (options.model, options.out, options.report) if path),
            *([_HOW_TO_PREDICT] if options.model else []),
            sep="\n",
        )
    return FAILED if paper and model.solution_.status not in ("optimal", "acceptable") else DONE


def _estimator(options: argparse.Namespace, table: Any, paper: bool) -> Any:
    """Return the paper's SVMs, or a set of classifiers and their votes of which one is deployed."""
    import joblib

    from ..estimators.certified import CertifiedClassifier
    from ..estimators.coding import TableCoding, classifier_set
    from ..estimators.stochastic import StochasticSVC

    # How the classifiers read the table is learnt with them, and saved with them.
    coding = TableCoding(table.text, impute=options.missing == "impute")
    own = (*BOUND, "scale", "solver") if paper else ("delta", "per_class", "per_prediction", "positive")
    same = {name: getattr(options, name) for name in ("validation_size", *own)}
    same |= {"n_jobs": options.jobs, "random_state": options.seed}
    if paper:
        return StochasticSVC(options.lambdas, n_lambdas=options.count, coding=coding, **same)
    memory = options.resume and joblib.Memory(options.resume, verbose=0)
    return CertifiedClassifier(classifier_set(options.classifiers or "all", coding), memory=memory, **same)


def _facts(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return what an auditor needs to repeat the run."""
    return [
        ("file", str(options.file)),
        ("SHA-256 of the file", hashlib.sha256(Path(options.file).read_bytes()).hexdigest()),
        ("target", options.target),
        ("classifiers", options.classifiers or "all"),
        ("share held out", f"{options.validation_size:g}, at random"),
        ("missing values", options.missing),
        ("delta", f"{options.delta:g}"),
        ("seed", str(options.seed)),
    ]


def _record(options: argparse.Namespace, model: Any, table: Any) -> dict[str, Any]:
    """Return what is saved and printed as JSON."""
    if hasattr(model, "guarantee_"):
        own = {"guarantee": model.guarantee_.as_dict()}
    else:
        svms = {"lambdas": model.lambdas_.tolist(), "risks": model.risks_.tolist()}
        own = {**svms, "solution": model.solution_.as_dict()}
    rows, columns = table.features.shape
    reading = {"rows_in_file": table.reading.rows, "rows_dropped": table.reading.dropped}
    data = {"file": str(options.file), "target": options.target, "rows": rows, "columns": columns, **reading}
    return {
        **own,
        "certificate": model.certificate_.as_dict(),
        "data": {**data, "columns_ignored": list(table.reading.ignored)},
        "classes": [str(name) for name in model.classes_],
        "seed": options.seed,
    }
