"""Where Pyomo finds what set-up installed: it searches ``PATH`` and ``LD_LIBRARY_PATH``.

Set-up puts PyNumero's ASL library into the environment's ``bin`` folder, and conda into ``lib``; neither is on ``PATH``
when the environment's Python is started without activating it.
"""

import os
import sys
from pathlib import Path


def environment_folders() -> list[Path]:
    """Return the folders of the running Python environment that may hold programs and libraries."""
    return [Path(sys.prefix) / "bin", Path(sys.prefix) / "lib"]


def use_environment_folders() -> None:
    """Append the environment's folders to ``PATH``, so that Pyomo finds what set-up installed.

    Every Pyomo model and block of ours does so; calling it again changes nothing.
    """
    present = os.environ.get("PATH", "").split(os.pathsep)
    missing = [str(folder) for folder in environment_folders() if folder.is_dir() and str(folder) not in present]
    os.environ["PATH"] = os.pathsep.join([entry for entry in present if entry] + missing)
