"""Where the compiled parts that Pyomo looks up by name are found: PyNumero's ASL library and ``ipopt``.

See :mod:`pacb_models.environment` for the folders.
"""

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacb_models.environment import environment_folders, use_environment_folders

if TYPE_CHECKING:
    from pyomo.contrib.pynumero.interfaces.pyomo_nlp import PyomoNLP

ASL_LIBRARY = "libpynumero_ASL.dylib" if sys.platform == "darwin" else "libpynumero_ASL.so"


def find_asl_library() -> Path | None:
    """Return the ASL library that Pyomo will load, found without importing Pyomo; None when there is none.
    ``SolverFactory("cyipopt").available()`` answers True without it, so this is what tells whether Pyomo's models can
    be solved in this environment."""
    searched = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) + os.environ.get("PATH", "").split(os.pathsep)
    folders = [Path(entry) for entry in searched if entry] + environment_folders()
    return next((folder / ASL_LIBRARY for folder in folders if (folder / ASL_LIBRARY).is_file()), None)


def find_ipopt_executable() -> Path | None:
    """Return a program ``ipopt`` on ``PATH`` or in the environment (conda-forge has one); None when there is none."""
    found = shutil.which("ipopt") or shutil.which("ipopt", path=str(environment_folders()[0]))
    return Path(found) if found else None


def pynumero_problem(model: Any) -> "PyomoNLP":
    """Return a Pyomo model as PyNumero's ``PyomoNLP``, read by the ASL library."""
    use_environment_folders()
    from pyomo.contrib.pynumero.interfaces.pyomo_nlp import PyomoNLP

    with float_environment_restored():
        return PyomoNLP(model)


@contextmanager
def float_environment_restored() -> Iterator[None]:
    """Restore the processor's floating-point environment afterwards. The ASL library sets the x87 unit to double
    precision, and leaves it so: ``numpy.longdouble`` would have 53 bits instead of 64 in the rest of the process."""
    library: Any = ctypes.CDLL(None) if sys.platform != "win32" else None
    # fenv_t has 32 bytes on x86-64 and fewer elsewhere.
    environment, known = ctypes.create_string_buffer(128), hasattr(library, "fegetenv")
    if known:
        library.fegetenv(environment)
    try:
        yield
    finally:
        if known:
            library.fesetenv(environment)


@contextmanager
def native_output_silenced() -> Iterator[None]:
    """Keep what compiled code prints meanwhile from standard output."""
    sys.stdout.flush()
    saved = os.dup(1)
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 1)
    try:
        yield
    finally:
        if sys.platform != "win32":
            ctypes.CDLL(None).fflush(None)  # what C still holds back would appear later
        os.dup2(saved, 1)
        os.close(saved)
