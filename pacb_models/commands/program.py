"""The command line, ``pacb``.

The commands on a single problem are named here. Larger ones (``bench``, ``reproduce``, ``train``, ``certify``) are
found through the entry-point group ``pacb_models.commands``: a function ``add_parser(subparsers)`` that adds one
command and sets its ``run``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from .. import __version__
from ..errors import InputError, RunStopped, SolverUnavailableError
from ..names import CONSTANTS, DISTANCES
from ..plugins import files_for_now, load, load_all, registered
from ..wording import shown
from . import streams
from .constraint_arguments import CONSTRAINTS, add_constraint_arguments, constraints_from

if TYPE_CHECKING:
    from ..problem import Problem

DONE, FAILED, BAD_INPUT = 0, 1, 2

#: The entry-point group of further commands.
COMMANDS_GROUP = "pacb_models.commands"

_DISTANCE_NAMES = tuple(dict.fromkeys(name for names in DISTANCES.values() for name in names))

_RISKS_HELP = (
    "one risk per line, or a CSV with a column 'risk' and optionally 'prior', 'name' and columns for constraints; "
    "'-' reads standard input; or a problem as JSON, which 'pacb export' writes and which needs no options"
)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line, that knows what was typed, and whose help shows defaults."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        # Examples in descriptions keep their line breaks.
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        settings.setdefault("allow_abbrev", False)
        super().__init__(*arguments, **settings)
        #: The options that were typed, also those with the value that they have by default.
        self.typed: list[str] = []

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Add one; the help of an option shows its default, where that is a value."""
        default = settings.get("default")
        if "help" in settings and not (isinstance(default, bool) or default in (None, "", [], argparse.SUPPRESS)):
            settings["help"] += " (default: %(default)s)"
        return super().add_argument(*names, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and keep the options that were typed."""
        words = sys.argv[1:] if args is None else list(args)
        self.typed = [word.partition("=")[0] for word in words if word.startswith("--")]
        return super().parse_known_args(words, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {shown(message)} (see '{self.prog} --help')\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Complain about words that no option or argument takes, with the option that the first one is nearest to."""
        known = re.findall(r"--[\w-]+", self.format_usage())
        nearest = get_close_matches(words[0].partition("=")[0], known, 1, 0.75)
        self.error(f"unrecognized arguments: {' '.join(words)}" + (f"; did you mean {nearest[0]}?" if nearest else ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0: done, 1: a solver failed or solvers disagree, 2: bad input."""
    words = sys.argv[1:] if arguments is None else arguments
    command = next((word for word in words if not word.startswith("-")), "")
    return answered(f"pacb {command}".strip(), lambda: _run(words, command), words)


def answered(program: str, work: Callable[[], int], arguments: Sequence[str] = ()) -> int:
    """The exit code of a program; whatever ends it is said in one line. ``arguments`` is what the user typed."""
    streams.prepare()
    try:
        try:
            return work()
        finally:
            streams.flush_output()
    except InputError as reason:
        return _complain(program, _as_typed(reason, arguments), BAD_INPUT)
    except (SolverUnavailableError, RunStopped) as reason:
        return _complain(program, reason, FAILED)
    except ModuleNotFoundError as reason:
        return _complain(program, _to_install(reason), FAILED)
    except MemoryError:
        return _complain(program, "out of memory", FAILED)
    except BrokenPipeError:
        return DONE  # the reader of our output (head, less) left
    except OSError as reason:
        where = f": {reason.filename}" if reason.filename else ""
        return _complain(program, f"{reason.strerror or reason}{where}", FAILED)
    except KeyboardInterrupt:
        return _complain(program, "interrupted", 130)
    finally:
        streams.flush_errors()


def _run(arguments: Sequence[str], command: str) -> int:
    parser = build_parser(command)
    options, left = parser.parse_known_args(arguments)
    if left:
        getattr(options, "parser", parser).refuse(left)
    _refuse_empty(arguments)
    with files_for_now():
        return options.run(options)


def _refuse_empty(arguments: Sequence[str]) -> None:
    """An option with an empty value, which a shell makes of a variable that is not set, would be ignored."""
    for word, following in zip(arguments, [*arguments[1:], None]):
        name, equals, value = word.partition("=")
        if name.startswith("--") and not value and (equals or following == ""):
            raise InputError(f"{name} is empty; it must have a value.")


def _as_typed(reason: InputError, arguments: Sequence[str]) -> str:
    """A complaint about an argument in Python as one about the option that the user typed for it."""
    sentence, option = str(reason), f"--{re.sub('_|: ', '-', reason.argument)}"
    typed = any(word.partition("=")[0] == option for word in arguments)
    return option + sentence.removeprefix(reason.argument) if typed else sentence


def _to_install(reason: ModuleNotFoundError) -> str:
    """What to install for a module that is missing: an extra of this package where one has it. One of ours is a bug."""
    from importlib.metadata import PackageNotFoundError, requires

    module = (reason.name or "").partition(".")[0]
    if module in ("", "pacb_models"):
        raise reason
    wanted = []
    with suppress(PackageNotFoundError):
        wanted = [line for line in requires("pacb-models") or [] if re.match(rf"{re.escape(module)}\b", line)]
    extras = [found[1] for line in wanted if (found := re.search(r"extra == ['\"]([\w-]+)", line))]
    package = f"'pacb-models[{extras[0]}]'" if extras else module
    return f"{module} is not installed: pip install {package}"


def _complain(program: str, reason: object, status: int) -> int:
    # One line that no terminal obeys, whatever the message quotes; where it cannot be written, the status says it.
    with suppress(OSError):
        print(f"{program}: {shown(' '.join(str(reason).split()))}", file=sys.stderr)
    return status


def build_parser(command: str = "") -> Parser:
    """The parser with our commands and those that are plugged in; of the latter only ``command``, when that is one."""
    parser = Parser(
        prog="pacb",
        description=textwrap.fill(
            "Compare fixed-point, Ipopt, convex-concave and exact solvers that minimise PAC-Bayesian bounds "
            "on the error of weighted classifiers, and certify classifiers.",
            79,
            break_on_hyphens=False,
        ),
        epilog="begin with:\n"
        "  pacb doctor                          what works here\n"
        "  pacb check risks.csv --m 549         every solver on one bound\n"
        "  pacb certify counts.csv --m 549      a certificate from error counts\n"
        "  pacb reproduce table3 --out paper    a table of the paper",
    )
    parser.add_argument("--version", action="version", version=f"pacb {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in _COMMANDS:
        import_module(f".{name}", __package__).add_parser(subparsers)
    if command not in _COMMANDS:
        entry = next((entry for entry in registered(COMMANDS_GROUP) if entry.name == command), None)
        if entry is None:
            load_all(COMMANDS_GROUP, lambda add: add(subparsers))
        else:
            load(entry, lambda add: add(subparsers))
    return parser


def add_command(subparsers: Any, name: str, run: Any, summary: str, description: str = "") -> argparse.ArgumentParser:
    """Add one command in the common form; for our commands and plugged-in ones alike. Without summary, unlisted."""
    listed = {"help": summary} if summary else {}
    parser = subparsers.add_parser(name, **listed, description=description or summary)
    parser.set_defaults(run=run, parser=parser)
    return parser


def refuse_ignored(options: argparse.Namespace, names: Iterable[str], because: str) -> None:
    """Refuse options that were given but would be ignored; ``because`` completes the sentence."""
    refused = {f"--{name.replace('_', '-')}" for name in names}
    for option in options.parser.typed:
        if option in refused:
            raise InputError(f"{option} {because}.")


def add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that describe one problem."""
    parser.add_argument("risks", metavar="RISKS.csv|PROBLEM.json", help=_RISKS_HELP)
    parser.add_argument("--m", type=int, help="number of examples on which each risk was measured")
    parser.add_argument(
        "--direct", action="store_true", help="the bound without change of measure: convex and never larger"
    )
    add_bound_arguments(parser)
    add_constraint_arguments(parser)


#: The names of the arguments that describe a bound, and of all that describe a problem beside its risks.
BOUND = ("delta", "distance", "divergence", "order", "constant")
_OF_RISKS = ("m", "direct", *BOUND, *CONSTRAINTS)

_PLOT = "--plot draws a bound along its path of optimal posteriors"


def add_bound_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that describe a bound."""
    parser.add_argument("--delta", type=float, default=0.05, help="the bound holds with probability at least 1 - delta")
    parser.add_argument("--distance", default="kl", help=f"one of {', '.join(_DISTANCE_NAMES)}")
    parser.add_argument("--divergence", default="chi2", help=f"one of {', '.join(DISTANCES)}")
    parser.add_argument("--order", type=float, default=2.0, help="Rényi order, with --divergence renyi")
    parser.add_argument(
        "--constant",
        default="exact",
        help=f"one of {', '.join(CONSTANTS)}; 'one-sided' is smaller and as valid, 'paper' reproduces printed figures",
    )


def problem_from(options: argparse.Namespace) -> tuple[Problem, list[str]]:
    """The problem that the arguments describe, or that is in a JSON file, and the classifiers' names."""
    from ..direct import DirectProblem
    from ..problem import BoundProblem
    from ..problem_file import read_problem
    from ..risk_file import read_risk_file

    check_plot(options.plot)
    if options.risks.endswith(".json"):
        refuse_ignored(options, _OF_RISKS, "needs a file of risks; a problem as JSON has its own")
        named = read_problem(options.risks)[1]
        if options.plot and (named.kind != "bound" or named.constraints):
            raise InputError(f"{_PLOT}, which this problem does not have.")
        return named, [str(number) for number in range(named.size)]
    if options.m is None:
        raise InputError("--m is missing; a file of risks needs the number of examples.")
    if options.direct and options.plot:
        raise InputError(f"{_PLOT}, which direct bounds do not have.")
    if options.divergence != "renyi":
        refuse_ignored(options, ["order"], "needs --divergence renyi")
    content = read_risk_file(options.risks)
    constraints = constraints_from(options, content)
    if constraints and options.plot:
        raise InputError(f"{_PLOT}, which cannot have constraints.")
    problem = (DirectProblem if options.direct else BoundProblem)(
        content.values,
        m=options.m,
        prior=content.prior,
        constraints=constraints,
        **{name: getattr(options, name) for name in BOUND},
    )
    return problem, content.names


def named_solvers(text: str | None) -> list[str] | None:
    """The names in ``--solvers A,B,FILE.py:SOLVER``; None where nothing was chosen."""
    from ..solving.registry import named_solver

    return None if text is None else list(dict.fromkeys(named_solver(word.strip()) for word in text.split(",")))


#: For the help of ``--solver`` and ``--solvers``.
SOLVER_FILE = "FILE.py:SOLVER for an object in a Python file, nl:PROGRAM for a program that reads .nl files"


@contextmanager
def kept_in(place: object) -> Iterator[None]:
    """Say how to go on with work that is stopped, from what ``place`` holds."""
    try:
        yield
    except (KeyboardInterrupt, RunStopped):
        print(f"\nThe same command with --resume goes on from what {place} holds.", file=sys.stderr)
        raise


def add_plot_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """The option that asks for a picture."""
    parser.add_argument("--plot", metavar="FILE", help=f"draw {what}, into a file that ends in .svg, .pdf or .png")


def check_plot(path: str | None) -> None:
    """Refuse a picture that cannot be written before anything is computed for it."""
    if path is not None:
        from ..plots.style import check_picture

        check_picture(path)


def draw_path(path: str | None, problem: Any, solutions: Any) -> None:
    """Draw the bound along its path, with solutions on it, where a picture is asked for."""
    if path is not None:
        from ..plots import PathDisplay

        PathDisplay.from_problem(problem, solutions).save(path)


def parse_options(pairs: Sequence[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs as keyword arguments; a value is read as JSON where it is JSON, else as text."""
    options = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise InputError("--option", pair, "it must have the form NAME=VALUE")
        if name in ("problem", "solver"):
            raise InputError(f"--option is {pair!r}, but the {name} is no option of a solver.")
        try:
            options[name] = json.loads(text)
        except (ValueError, RecursionError):
            options[name] = text
    return options


#: The commands that need no look at what is installed, and where they are.
_COMMANDS = ("solve", "check", "constants", "prove", "verify")
