"""Make or renew ``.venv`` for one of two levels, the second containing the first.

    run     to use the package (make bench)
    dev     to test it and to build its documentation (make test, make docs, ...)

Without an argument, the level it has. Standard library only: this runs before anything is installed. What is there
already is left alone, so that a second run is quick. When pip cannot install the packages, set-up ends; for any other
part that cannot be had, one line says what will not work and how to get it, and set-up goes on.
"""

import argparse
import configparser
import fcntl
import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import debian
import ipopt
from steps import Log, StepFailed

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
LEVELS = {"run": "bench,dask", "dev": "bench,dask,dev,docs"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Set up; 0 when the environment can be used, whatever optional part is missing."""
    parser = argparse.ArgumentParser(description="Make or renew .venv.")
    parser.add_argument("level", nargs="?", choices=LEVELS, help="what the environment is for; by default as it is")
    level = parser.parse_args().level or present_level()
    log = Log(ROOT / ".setup.log")
    with (ROOT / "setup.cfg").open() as lock:
        # Two makes at once share the environment: the second waits, then finds everything done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        log.path.write_text("")
        try:
            python = make_environment(log)
            install_packages(python, level, log)
        except StepFailed as failure:
            print(f"set-up: {failure}", file=sys.stderr)
            return 1
        install_optional_parts(python, level, log)
        mark_ready(level)
    return 0


def stamp(level: str) -> Path:
    """The file whose date tells make when the environment was last brought to this level."""
    return ENVIRONMENT / f"ready-{level}"


def present_level() -> str:
    """The highest level the environment has been brought to; the lowest when there is none."""
    return next((level for level in reversed(LEVELS) if stamp(level).exists()), "run")


def mark_ready(level: str) -> None:
    """Stamp the level and those it contains."""
    names = list(LEVELS)
    for name in names[: names.index(level) + 1]:
        stamp(name).touch()


def make_environment(log: Log) -> Path:
    """The environment's interpreter; made anew when it is missing, broken or of another Python version."""
    python = ENVIRONMENT / "bin" / "python"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if ipopt.ask(python, "import pip, sys; print(*sys.version_info[:2], sep='.')") == version:
        return python
    if not importlib.util.find_spec("ensurepip"):
        debian.install([f"python{version}-venv"], log)
    with log.step(f"environment .venv with Python {version}"):
        log.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], "python -m venv failed")
    return python


def install_packages(python: Path, level: str, log: Log) -> None:
    """The package itself, editable, with the extras of the level."""
    extras = LEVELS[level]
    with log.step(f"pip packages ({extras}); a minute or two when they are new"):
        # Compiling every file of pandas and dask takes longer than installing them; Python compiles what it imports.
        command = [python, "-m", "pip", "install", "--quiet", "--no-compile", "-e", f"{ROOT}[{extras}]"]
        log.run(command, "pip could not install the packages of setup.cfg; is the network there?")


def install_optional_parts(python: Path, level: str, log: Log) -> None:
    """What the package works without: other people's solvers, Ipopt and, to test the report, a browser."""
    for requirement in requirements("solvers"):
        name = requirement.partition(">=")[0]
        attempt(f"what needs {name}", lambda requirement=requirement: install_wheel(python, requirement, log))
    attempt("the solvers ipopt and cyipopt", lambda: ipopt.install_cyipopt(python, requirements("ipopt"), log))
    attempt("the solver ipopt (Pyomo's models)", lambda: ipopt.install_asl_library(python, log))
    if level != "run" and not any(map(shutil.which, BROWSERS)):
        attempt("the test of the report in a browser", lambda: debian.install(["chromium"], log))


def install_wheel(python: Path, requirement: str, log: Log) -> None:
    """Install a package that is worth having only if nothing has to be compiled."""
    with log.step(requirement):
        command = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:", requirement]
        log.run(command, f"pip found no wheel of {requirement}")


def attempt(part: str, install: Callable[[], None]) -> None:
    """Install a part; when that fails, say in one line what will not work and how to get it."""
    try:
        install()
    except StepFailed as failure:
        print(f"set-up: {part} will not work: {failure}; then: make setup", file=sys.stderr)


def requirements(extra: str) -> list[str]:
    """The requirements of an extra in setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser["options.extras_require"][extra].split()


if __name__ == "__main__":
    sys.exit(main())
