"""Where the compiled parts that Pyomo looks up by name are found: PyNumero's ASL library, ``ipopt`` and ``pounce``.

Pyomo searches ``PATH`` and ``LD_LIBRARY_PATH``. Set-up puts the ASL library into the environment's ``bin`` folder, and
conda into ``lib``; neither is on ``PATH`` when the environment's Python is started without activating it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ASL_LIBRARY = "libpynumero_ASL.dylib" if sys.platform == "darwin" else "libpynumero_ASL.so"


def environment_folders() -> list[Path]:
    """The folders of the running Python environment that may hold programs and libraries."""
    return [Path(sys.prefix) / "bin", Path(sys.prefix) / "lib"]


def use_environment_folders() -> None:
    """Append the environment's folders to ``PATH``, so that Pyomo finds what set-up installed.

    To be called before Pyomo's Ipopt is used; calling it again changes nothing.
    """
    present = os.environ.get("PATH", "").split(os.pathsep)
    missing = [str(folder) for folder in environment_folders() if folder.is_dir() and str(folder) not in present]
    os.environ["PATH"] = os.pathsep.join([entry for entry in present if entry] + missing)


def find_asl_library() -> Path | None:
    """The ASL library that Pyomo will load, found without importing Pyomo; None when there is none.

    ``SolverFactory("cyipopt").available()`` answers True without it, so this is what tells whether Pyomo's models can
    be solved in this environment.
    """
    searched = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) + os.environ.get("PATH", "").split(os.pathsep)
    folders = [Path(entry) for entry in searched if entry] + environment_folders()
    return next((folder / ASL_LIBRARY for folder in folders if (folder / ASL_LIBRARY).is_file()), None)


def find_ipopt_executable() -> Path | None:
    """A program ``ipopt`` on ``PATH`` or in the environment (conda-forge has one); None when there is none."""
    return _find_program("ipopt")


def find_pounce_executable() -> Path | None:
    """The program ``pounce``, which stands in for Ipopt's where there is none; None when it is missing, too.

    Pounce is an interior-point method of its own that takes Ipopt's options and ends with Ipopt's words; it comes as a
    wheel (``pip install pounce-solver``, nothing to compile).
    """
    return _behind_script(_find_program("pounce"))


def _find_program(name: str) -> Path | None:
    found = shutil.which(name) or shutil.which(name, path=str(environment_folders()[0]))
    return Path(found) if found else None


def _behind_script(script: Path | None) -> Path | None:
    """The program inside pounce's package, found without importing it: the script first starts Python, which Pyomo does
    not wait for when it asks for the version.
    """
    package = importlib.util.find_spec("pounce") if script is not None else None
    inside = Path(package.origin).parent / "bin" / "pounce" if package and package.origin else None
    return inside if inside is not None and os.access(inside, os.X_OK) else script


def pynumero_problem(model: Any) -> Any:
    """A Pyomo model as PyNumero's ``PyomoNLP``, read by the ASL library."""
    use_environment_folders()
    from pyomo.contrib.pynumero.interfaces.pyomo_nlp import PyomoNLP

    with float_environment_kept():
        return PyomoNLP(model)


@contextmanager
def float_environment_kept() -> Iterator[None]:
    """Restore the processor's floating-point environment afterwards.

    The ASL library sets the x87 unit to double precision, and leaves it so: ``numpy.longdouble`` would have 53 bits
    instead of 64 in the rest of the process.
    """
    library: Any = ctypes.CDLL(None) if sys.platform != "win32" else None
    if not hasattr(library, "fegetenv"):
        yield
        return
    # fenv_t has 32 bytes on x86-64 and fewer elsewhere.
    environment = ctypes.create_string_buffer(128)
    library.fegetenv(environment)
    try:
        yield
    finally:
        library.fesetenv(environment)


@contextmanager
def native_output_silenced() -> Iterator[None]:
    """Nothing that compiled code prints meanwhile reaches standard output."""
    sys.stdout.flush()
    library = ctypes.CDLL(None) if sys.platform != "win32" else None
    kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        if library is not None:
            library.fflush(None)  # what C still holds back would appear later
        os.dup2(kept, 1)
        os.close(kept)
        os.close(null)
