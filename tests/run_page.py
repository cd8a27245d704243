"""Run the code of a documentation page as its reader would: ``python -P tests/run_page.py PAGE.md DIRECTORY``.

Blocks are run in the page's order, in one process and in one directory:

* ``python``: executed, in one namespace for the page; a ``text`` block right below it is the output it must print.
* any block with ``title="NAME"``: the file of that name; the entry points of a ``pyproject.toml`` are installed.
* ``console``: lines that start with ``$`` are commands, the lines below a command what it must print.
* ``sh``: commands whose output is not shown.
* ``text``: output (see above), or a sketch that is not run.

Pages that change the tree are for ``tests/test_recipes.py``.

In shown output, a line ``...`` stands for any number of lines, and figures that differ from run to run or between
processors (seconds, iterations, residuals, zero or tiny) stand for any such figure. Commands of ``make`` are looked
up, not run, and those of :data:`TOO_LONG` only parsed. Blocks that load a data set are not run without ``PACB_DATA``,
the directory of the raw files; their lines are printed. Exit status 1 and a message that names the line when something
goes wrong.

Without arguments, pages are read from standard input (see :func:`serve`).
"""

import contextlib
import difflib
import gc
import importlib
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)

_SUITES = "quick|hard|field|certify-optimum|paper|scaling"
#: Commands that take minutes to hours.
TOO_LONG = re.compile(rf"pacb (bench( --suite ({_SUITES}).*)?|reproduce( --out \S+| all .*)?|train all .*)$")

#: A command that a shell would pass on as it is.
_PLAIN = re.compile(r"pacb [^|<>&;$*\\\n]*")

#: What may differ between two runs, and what stands for it.
_VARIABLE = [
    (re.compile(r"\d+(\.\d+)?(e-\d+)? s\b"), "<time>"),
    (re.compile(r"KKT residual \S+"), "KKT residual <tiny>"),
    (re.compile(r"-?(\d(\.\d+)?e-[123]\d|0(\.0+)?e\+00)\b"), "<tiny>"),
    (re.compile(r"\b\d+ iterations"), "<count> iterations"),
]
#: Numbers whose last digits depend on the processor: they need to agree to seven decimals.
_LONG_NUMBER = re.compile(r"-?\d*\.\d{8,}")
#: In tables of measurements everything but names and bounds (ten digits) may differ.
_MEASUREMENTS = re.compile(r"(?<![\w.])-?(\d+\.\d{4}|\d\.\de[+-]\d\d|\d+)(?![\w.])")


class Wrong(Exception):
    """A block that does not do what the page says."""


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    title: str | None
    text: str
    line: int
    #: The block below it, when only blank lines are between.
    output: str | None = None


def blocks_of(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = list(_FENCE.finditer(page))
    blocks = []
    for match, following in zip(found, [*found[1:], None], strict=True):
        adjacent = following is not None and not page[match.end() : following.start()].strip()
        output = following[3] if adjacent and following[1] == "text" and not following[2] else None
        blocks.append(Block(*match.groups(), page.count("\n", 0, match.start()) + 1, output))
    return blocks


def write_files(blocks: list[Block], directory: Path) -> None:
    """Write the files that the page shows; entry points in a ``pyproject.toml`` are installed as pip would do.

    A ``pyproject.toml`` with a ``build-system`` is written, too; further ones add their entry points to it.
    """
    groups: dict[str, list[str]] = {}
    for block in blocks:
        if block.title == "pyproject.toml":
            content = tomllib.loads(block.text)
            for group, entries in content["project"]["entry-points"].items():
                groups.setdefault(group, []).extend(f"{name} = {target}" for name, target in entries.items())
        if block.title and not (block.title == "pyproject.toml" and "build-system" not in block.text):
            (directory / block.title).write_text(block.text)
    if groups:
        metadata = directory / "shown_on_the_page-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shown-on-the-page\nVersion: 1.0\n")
        sections = (f"[{group}]\n" + "\n".join(lines) for group, lines in groups.items())
        (metadata / "entry_points.txt").write_text("\n".join(sections) + "\n")


def run_python(block: Block, namespace: dict, name: str) -> None:
    """Execute a block and compare what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * block.line + block.text, name, "exec"), namespace)
    if block.output is not None:
        compare(block.output, printed.getvalue())


def run_console(block: Block) -> None:
    """Run the commands after ``$`` and compare what each prints."""
    for session in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = session.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more.lstrip("> ")
        compare(shown, run_command(command), measurements=re.match(r"pacb (check|bench)\b", command) is not None)


def run_command(command: str) -> str:
    """What a command prints on both streams; run in this process, which saves the imports, where that is the same."""
    script = re.fullmatch(r"python (examples/[\w/]+\.py)", command)
    code = re.fullmatch(r'python -c "[^"$`\\]*"', command)
    if not (script or code or _PLAIN.fullmatch(command)):
        return run_shell(command, options="-o")
    status, printed = 0, io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if script:
            # As in a checkout, whose scripts a page names from its root.
            runpy.run_path(str(ROOT / script[1]), run_name="__main__")
        elif code:
            exec(shlex.split(command)[2], {"__name__": "__main__"})
        else:
            from pacb_models.commands.program import main

            status = main(shlex.split(command)[1:])
    if status != 0:
        raise Wrong(f"exit status {status}:\n{printed.getvalue()}")
    return printed.getvalue()


def run_shell(script: str, options: str = "-eo") -> str:
    """What a script prints; by default it ends with the first command that fails, as ours must not."""
    variables = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(["bash", options, "pipefail", "-c", script], env=variables, **pipes)
    if done.returncode != 0:
        raise Wrong(f"exit status {done.returncode}:\n{done.stdout}")
    return done.stdout


def run_commands(block: Block) -> None:
    """Run a ``sh`` block; look its targets up when it calls make, parse it when it takes too long."""
    lines = [line.partition("  #")[0].strip() for line in block.text.strip().splitlines()]
    if all(line.startswith("make ") for line in lines):
        for line in lines:
            run_shell(f"make -n -C {shlex.quote(str(ROOT))} {line.removeprefix('make ')}")
    elif all(TOO_LONG.match(line) for line in lines):
        from pacb_models.commands.program import build_parser

        for line in lines:
            build_parser().parse_args(shlex.split(line)[1:])
    elif all(_PLAIN.fullmatch(line) for line in lines):
        for line in lines:
            run_command(line)
    else:
        run_shell(block.text)


def compare(shown: str, printed: str, measurements: bool = False) -> None:
    """Complain unless the output is as shown."""
    wanted, got = (normal_lines(text, measurements) for text in (shown, printed))
    if wanted and not matches(wanted, got):
        difference = "\n".join(difflib.unified_diff(wanted, got, "shown", "printed", lineterm="", n=1))
        raise Wrong(f"{difference}\n\nprinted in full:\n{printed}")


def normal_lines(text: str, measurements: bool) -> list[str]:
    """Lines without what differs between two runs, and without their spacing."""
    for pattern, sign in [*([(_MEASUREMENTS, "<number>")] if measurements else []), *_VARIABLE]:
        text = pattern.sub(sign, text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def matches(wanted: list[str], got: list[str]) -> bool:
    """Whether the lines agree, ``...`` standing for any number of them."""
    if not wanted:
        return not got
    if wanted[0] == "...":
        return any(matches(wanted[1:], got[k:]) for k in range(len(got) + 1))
    return bool(got) and alike(wanted[0], got[0]) and matches(wanted[1:], got[1:])


def alike(wanted: str, got: str) -> bool:
    """Whether two lines agree but for the last digits of long numbers."""
    if _LONG_NUMBER.sub("", wanted) != _LONG_NUMBER.sub("", got):
        return False
    pairs = zip(_LONG_NUMBER.findall(wanted), _LONG_NUMBER.findall(got), strict=True)
    return all(abs(float(one) - float(other)) <= 1e-7 for one, other in pairs)


def loads_data(block: Block) -> bool:
    """Whether a block, or a script of ours that it runs, loads a data set."""
    scripts = (ROOT / name for name in re.findall(r"\bexamples/\S+\.py\b", block.text))
    return any("load_dataset" in text for text in (block.text, *(path.read_text() for path in scripts)))


def run_page(page: Path, directory: Path) -> None:
    """Run every block of a page."""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    write_files(blocks, directory)
    os.chdir(directory)
    sys.path.insert(0, str(directory))
    os.environ.update(PYTHONPATH=str(directory), MPLBACKEND="Agg", COLUMNS="120")
    namespace: dict = {"__name__": "page"}
    without: list[str] = []
    actions = {
        "python": lambda block: run_python(block, namespace, page.name),
        "console": run_console,
        "sh": run_commands,
        "text": lambda block: None,
    }
    for block in blocks:
        if block.title:
            continue
        if loads_data(block) and "PACB_DATA" not in os.environ:
            without.append(str(block.line))
            continue
        try:
            if block.language not in actions:
                raise Wrong(f"a block of the language {block.language!r} is not run by anything")
            actions[block.language](block)
        except Exception as reason:
            details = str(reason) if isinstance(reason, Wrong) else traceback.format_exc()
            sys.exit(f"{page}, line {block.line}: {details}")
    if without:
        print(f"{page.name}: not run: line {', '.join(without)}")


def serve() -> None:
    """Run each page in a process forked from this one, so that what they import from others is imported once.

    Lines of JSON name a page, its directory, and a file for what is printed; each is answered by the exit status.
    """
    for name in ("cvxpy", "matplotlib.figure", "pandas", "scipy.stats", "sklearn.ensemble", "sklearn.svm"):
        importlib.import_module(name)
    gc.freeze()  # or collecting garbage would copy all of it into each process
    for line in sys.stdin:
        page, directory, printed = map(Path, json.loads(line))
        child = os.fork()
        if child == 0:
            with open(os.devnull) as nothing, open(printed, "w") as file:
                for source, stream in ((nothing, 0), (file, 1), (file, 2)):
                    os.dup2(source.fileno(), stream)
            sys.exit(run_page(page, directory))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        run_page(*(Path(argument).resolve() for argument in sys.argv[1:]))
    else:
        serve()
