"""``pacb certify``: a certificate from error counts, or from predictions."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..terminal import Column, aligned
from .arguments import add_plot_argument, check_plot
from .program import DONE, add_command, refuse_ignored

if TYPE_CHECKING:
    from ..certificates import Certificate, ChosenCertificate
    from ..risk_file import RiskFile


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    parser = add_command(
        subparsers,
        "certify",
        run,
        "certify classifiers, from error counts or predictions",
        "Print what the error counts of a set of classifiers guarantee: a bound for each classifier alone, the best\n"
        "first, and one for a random choice among them, all valid together with probability 1 - delta.\n\n"
        "  printf 'name,errors\\nforest,23\\nboosting,21\\n' > counts.csv\n"
        "  pacb certify counts.csv --m 549\n"
        "  pacb certify counts.csv --m 549 --spread 3 --json\n"
        "  pacb certify sums.csv --m 549 --losses\n"
        "  pacb certify --predictions predictions/ --target label\n"
        "  pacb certify --predictions predictions/ --target label --choose 0.2    one of many, chosen on a part\n\n"
        "To train classifiers on a table and certify them: pacb fit.",
    )
    add = parser.add_argument
    text = "one error count per line, or a CSV with a column 'errors' (or 'risk', exact multiples of 1/m) and "
    text += "optionally 'prior' and 'name'; '-' reads standard input"
    add("counts", metavar="COUNTS.csv", nargs="?", help=text)
    add("--m", type=int, help="with COUNTS.csv: number of examples on which the errors were counted")
    text = "instead of COUNTS.csv: CSV or Parquet files, or folders of them, with a column of predictions per "
    text += "classifier; errors are counted batch by batch, so that the files may be larger than memory"
    add("--predictions", nargs="+", metavar="FILE", help=text)
    add("--target", metavar="COLUMN", help="with --predictions: the column of the true labels")
    add("--ignore", default="", metavar="A,B,...", help="with --predictions: columns to leave out")
    add("--id", metavar="COLUMN", help="with --predictions: refuse an example that is there twice")
    text = "with --predictions: this share of the rows chooses one classifier, the others certify it alone"
    add("--choose", type=float, metavar="SHARE", help=text)
    add("--seed", type=int, default=0, help="of that division; fix it and the share beforehand")
    add("--delta", type=float, default=0.05, help="it holds with probability at least 1 - delta")
    text = "above 0, to be fixed beforehand: counts on classifiers that are nearly as good as the best (3 for grids)"
    add("--spread", type=float, default=0.0, help=text)
    add("--losses", action="store_true", help="the column is 'losses': sums of losses between 0 and 1, not errors")
    add("--top", type=int, default=10, metavar="N", help="how many of the best classifiers to print")
    add("--json", action="store_true", help="print one JSON object with all fields")
    add_plot_argument(parser, "the best classifiers' observed errors and bounds")
    return parser


def run(options: argparse.Namespace) -> int:
    from ..certificates import ChosenCertificate
    from ..validation import check_count

    if options.target is not None and not options.predictions:
        raise InputError("--target needs --predictions; to train on a table: pacb fit TABLE.csv --target COLUMN.")
    check_plot(options.plot)
    check_count("--top", options.top, least=0)
    certificate = (_from_predictions if options.predictions else _from_file)(options)
    if options.json:
        print(json.dumps(certificate.as_dict(), allow_nan=False))
    elif isinstance(certificate, ChosenCertificate):
        print(certificate)
    else:
        print(_text(certificate, options.top, "losses" if options.losses else "errors"))
    if options.plot is not None:
        certificate.plot().save(options.plot)
    return DONE


def _from_file(options: argparse.Namespace) -> Certificate:
    from ..certificates import certify
    from ..risk_file import read_risk_file

    refuse_ignored(options, ("ignore", "id", "choose", "seed"), "needs --predictions and --target")
    if options.counts is None or options.m is None:
        raise InputError("COUNTS.csv and --m are needed, or --predictions and --target.")
    found = read_risk_file(options.counts, ("losses",) if options.losses else ("errors", "risk"))
    counted = {"losses": found.values} if options.losses else {"errors": _counts(found, options.m)}
    given = {"m": options.m, "delta": options.delta, "prior": found.prior, "names": found.names}
    return certify(**counted, **given, spread=options.spread)


def _from_predictions(options: argparse.Namespace) -> Certificate | ChosenCertificate:
    from ..certificates.prediction_files import certify_files, count_errors
    from ..certificates.predictions import check_share
    from ..validation import check_count, check_delta

    if options.counts is not None or options.losses or options.target is None:
        raise InputError("--predictions needs --target, and cannot be used with COUNTS.csv or --losses.")
    ignored = [name for name in options.ignore.split(",") if name]
    if options.choose is not None:
        share, seed = check_share(options.choose), check_count("--seed", options.seed, least=0)
        if options.spread != 0.0 or options.m is not None:
            raise InputError("--choose cannot be used with --spread or --m.")
        delta = check_delta(options.delta)
        return certify_files(options.predictions, options.target, ignored, delta, share, seed, options.id)
    refuse_ignored(options, ["seed"], "needs --choose")
    found = count_errors(options.predictions, options.target, ignored, options.id)
    if options.m not in (None, found.m):
        raise InputError(f"--m is {options.m}, but the files have {found.m} rows.")
    return found.certify(options.delta, spread=options.spread)


def _counts(found: RiskFile, m: int) -> Any:
    """Return whole numbers of errors; the first line that has none is named."""
    import numpy as np

    values = np.asarray(found.values)
    counts = values * m if found.kind == "risk" else values
    with np.errstate(invalid="ignore"):
        whole = np.rint(counts)
        # A risk is a count over m but for its own rounding, and that of two conversions and a product.
        allowed = 1e-9 + 4.0 * 2.0**-53 * np.abs(whole) if found.kind == "risk" else 0.0
        bad = ~(np.abs(counts - whole) <= allowed)
    if not bad.any():
        return whole
    first = int(np.argmax(bad))
    where = f"{found.source}, line {found.rows[first][0]}"
    if found.kind == "errors":
        raise InputError(f"{where}: errors", found.values[first], "a number of errors is a whole number")
    raise InputError(
        f"{where}: risk is {found.values[first]!r}, which is {counts[first]:.6g} of {m} examples; a rounded risk is no "
        "count. Give the numbers of errors in a column 'errors', or sums of losses with --losses."
    )


def _text(certificate: Certificate, top: int, counted: str) -> str:
    """Return the certificate and a table of the best classifiers."""
    from ..wording import at_most, one_line

    if not (shown := certificate.order[:top]):
        return str(certificate)
    cells = []
    for i in shown:
        name, bound = one_line(str(certificate.names[i])), at_most(float(certificate.single_bounds[i]))
        cells.append([name, f"{certificate.errors[i]:>8.9g}", bound, f"{certificate.posterior[i]:>8.4f}"])
    columns = [Column("name", numeric=False), Column(counted), Column("risk at most"), Column("weight")]
    rest = certificate.errors.size - len(shown)
    more = [f"... and {rest} more (--top N or --json)"] if rest else []
    return "\n".join([str(certificate), "", *aligned(columns, cells), *more])
