"""The command line, ``pacb``.

The commands on a single problem are named here. Larger ones (``bench``, ``reproduce``, ``train``, ``certify``) are
found through the entry-point group ``pacb_models.commands``: a function ``add_parser(subparsers)`` that adds one
command and sets its ``run``.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

from .. import __version__
from ..errors import InputError, RunStopped, SolverUnavailableError
from ..plugins import files_for_now, load, load_all, registered
from ..wording import shown
from . import streams

DONE, FAILED, BAD_INPUT = 0, 1, 2

#: The entry-point group of further commands.
COMMANDS_GROUP = "pacb_models.commands"

#: The commands that need no look at what is installed, by the modules that add them.
_COMMANDS = {"solve": ("solve", "check"), "constants": ("constants",), "prove": ("prove", "verify")}


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line, that knows what was typed, and whose help shows defaults."""

    def __init__(self, **settings: Any) -> None:
        # Examples in descriptions keep their line breaks.
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)
        #: The options that were typed, also those with the value that they have by default.
        self.typed: list[str] = []

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Add one; the help of an option shows its default, where that is a value."""
        default = settings.get("default")
        if "help" in settings and not (isinstance(default, bool) or default in (None, "", [], argparse.SUPPRESS)):
            settings["help"] += " (default: %(default)s)"
        return super().add_argument(*names, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
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
    """Return the exit code of a program; whatever ends it is said in one line. ``arguments`` is what the user typed."""
    streams.prepare()
    code, said = DONE, ""
    try:
        try:
            return work()
        finally:
            streams.flush(sys.stdout, "standard output")
    except BrokenPipeError:
        pass  # the reader of our output (head, less) left
    except InputError as reason:
        code, said = BAD_INPUT, _as_typed(reason, arguments)
    except (SolverUnavailableError, RunStopped) as reason:
        code, said = FAILED, str(reason)
    except ModuleNotFoundError as reason:
        code, said = FAILED, _to_install(reason)
    except MemoryError:
        code, said = FAILED, "out of memory"
    except OSError as reason:
        code, said = FAILED, f"{reason.strerror or reason}" + (f": {reason.filename}" if reason.filename else "")
    except KeyboardInterrupt:
        code, said = 130, "interrupted"
    finally:
        # What cannot be written, the code says.
        with suppress(OSError):
            sys.stderr.write(said and f"{program}: {shown(said)}\n")
        with suppress(OSError):
            streams.flush(sys.stderr, "standard error")
    return code


def _run(arguments: Sequence[str], command: str) -> int:
    parser = build_parser(command)
    options, left = parser.parse_known_args(arguments)
    if left:
        getattr(options, "parser", parser).refuse(left)
    for word, following in zip(arguments, [*arguments[1:], None]):
        name, equals, value = word.partition("=")
        if name.startswith("--") and not value and (equals or following == ""):
            # It would be ignored; a shell makes it of a variable that is not set.
            raise InputError(f"{name} is empty; it must have a value.")
    with files_for_now():
        return options.run(options)


def _as_typed(reason: InputError, arguments: Sequence[str]) -> str:
    """Return a complaint about an argument in Python as one about the option that the user typed for it."""
    sentence, option = str(reason), f"--{re.sub('_|: ', '-', reason.argument)}"
    typed = any(word.partition("=")[0] == option for word in arguments)
    return option + sentence.removeprefix(reason.argument) if typed else sentence


def _to_install(reason: ModuleNotFoundError) -> str:
    """Return what to install for a module that is missing: an extra of this package where one has it. One of ours is a
    bug."""
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


def build_parser(command: str = "") -> Parser:
    """Return the parser with our commands and those that are plugged in; of the latter only ``command``, when that is
    one."""
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
    if not any(command in names for names in _COMMANDS.values()):
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


@contextmanager
def kept_in(place: object) -> Iterator[None]:
    """Say how to go on with work that is stopped, from what ``place`` holds."""
    try:
        yield
    except (KeyboardInterrupt, RunStopped):
        print(f"\nThe same command with --resume goes on from what {place} holds.", file=sys.stderr)
        raise
