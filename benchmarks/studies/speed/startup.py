"""How long a start takes, in units of NumPy's own import.

    python -m pacb_models.benchmarks.studies.speed.startup [--repeats 15]

Processes that import NumPy, that do nothing at all, and that start the package or a command, in turns in one run; the
shortest time of each. Goal: at most 1.5 times NumPy's import for what computes nothing; the last two lines do.
"""

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from ..kept_rows import options
from .timing import best_seconds, show

IMPORTS = ("import numpy", "pass", "import pacb_models", "from pacb_models import BoundProblem, solve")
COMMANDS = ("pacb --help", "pacb --version", "pacb constants --m 1000", "pacb solve risks.csv --m 549")


def main() -> None:
    """Measure and print the ratios."""
    repeats = options(__doc__, repeats=15).repeats
    started = {code: ["-c", code] for code in IMPORTS}
    started |= {command: ["-m", "pacb_models", *command.split()[1:]] for command in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "risks.csv").write_text("0.04\n0.05\n0.08\n")
        run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        actions = {name: partial(run, [sys.executable, *arguments]) for name, arguments in started.items()}
        show(f"the shortest of {repeats} processes", best_seconds(actions, repeats))


if __name__ == "__main__":
    main()
