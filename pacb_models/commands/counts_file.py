"""What ``pacb certify`` does: from a file of error counts, or of predictions, to a certificate in print."""

from __future__ import annotations

import argparse
import json

import numpy as np
from numpy.typing import NDArray

from ..certificates import Certificate, ChosenCertificate, certify
from ..errors import InputError
from ..risk_file import ValueFile, read_value_file
from ..terminal import Column, aligned
from ..validation import check_count, check_delta
from ..wording import at_most, one_line
from .program import DONE

#: A risk is a count over m when it differs from one by no more than its own rounding: so much, in units of counts, and
#: so much of the count, which two conversions and a product leave.
_ROUNDING, _RELATIVE_ROUNDING = 1e-9, 4.0 * 2.0**-53


def run(options: argparse.Namespace) -> int:
    """Read, certify, print."""
    check_count("--top", options.top, least=0)
    certificate = _certificate(options)
    if options.json:
        print(json.dumps(certificate.as_dict(), allow_nan=False))
    elif isinstance(certificate, ChosenCertificate):
        print(certificate)
    else:
        print(_text(certificate, options.top, "losses" if options.losses else "errors"))
    if options.plot is not None:
        certificate.plot().save(options.plot)
    return DONE


def _certificate(options: argparse.Namespace) -> Certificate | ChosenCertificate:
    if options.predictions:
        return _from_predictions(options)
    if options.choose is not None or options.ignore:
        raise InputError(f"--{'ignore' if options.ignore else 'choose'} goes with --predictions and --target.")
    if options.counts is None or options.m is None:
        raise InputError("COUNTS.csv and --m are needed, or --predictions and --target.")
    if options.losses:
        found = read_value_file(options.counts, ("losses",))
        return certify(
            losses=found.values,
            m=options.m,
            delta=options.delta,
            prior=found.prior,
            names=found.names,
            spread=options.spread,
        )
    found = read_value_file(options.counts, ("errors", "risk"))
    errors = _counts(found, options.m)
    return certify(errors, options.m, options.delta, prior=found.prior, names=found.names, spread=options.spread)


def _from_predictions(options: argparse.Namespace) -> Certificate | ChosenCertificate:
    from ..certificates.prediction_files import certify_files, count_errors
    from ..certificates.predictions import check_share

    if options.counts is not None or options.losses or options.target is None:
        raise InputError("--predictions goes with --target, and without COUNTS.csv and --losses.")
    ignored = [name for name in options.ignore.split(",") if name]
    if options.choose is not None:
        share, seed = check_share(options.choose), check_count("--seed", options.seed, least=0)
        if options.spread != 0.0 or options.m is not None:
            raise InputError("--choose goes without --spread and --m.")
        return certify_files(options.predictions, options.target, ignored, check_delta(options.delta), share, seed)
    found = count_errors(options.predictions, options.target, ignored)
    if options.m not in (None, found.m):
        raise InputError(f"--m is {options.m}, but the files have {found.m} rows.")
    return found.certify(options.delta, spread=options.spread)


def _counts(found: ValueFile, m: int) -> NDArray[np.float64]:
    """Whole numbers of errors; the first line that has none is named."""
    values = np.asarray(found.values)
    counts = values * m if found.kind == "risk" else values
    with np.errstate(invalid="ignore"):
        whole = np.rint(counts)
        allowed = _ROUNDING + _RELATIVE_ROUNDING * np.abs(whole) if found.kind == "risk" else 0.0
        bad = ~(np.abs(counts - whole) <= allowed)
    if not bad.any():
        return whole
    first = int(np.argmax(bad))
    where = f"{found.source}, line {found.lines[first]}"
    if found.kind == "errors":
        raise InputError(f"{where}: errors is {found.values[first]!r}; a number of errors is a whole number.")
    raise InputError(
        f"{where}: risk is {found.values[first]!r}, which is {counts[first]:.6g} of {m} examples; a rounded risk is no "
        "count. Give the numbers of errors in a column 'errors', or sums of losses with --losses."
    )


def _text(certificate: Certificate, top: int, counted: str) -> str:
    """The certificate and a table of the best classifiers."""
    of, order = certificate, np.argsort(certificate.single_bounds, kind="stable")[:top]
    if not order.size:
        return str(of)
    columns = [Column("name", numeric=False), Column(counted), Column("risk at most"), Column("weight")]
    cells = [
        [
            one_line(str(of.names[i])),
            f"{of.errors[i]:>8.9g}",
            at_most(float(of.single_bounds[i])),
            f"{of.posterior[i]:>8.4f}",
        ]
        for i in order.tolist()
    ]
    rest = of.errors.size - order.size
    more = [f"... and {rest} more (--top N or --json)"] if rest else []
    return "\n".join([str(of), "", *aligned(columns, cells), *more])
