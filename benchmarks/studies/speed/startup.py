"""How long a start takes, in units of NumPy's own import.

    python -m pacb_models.benchmarks.studies.speed.startup [--repeats 15]

Processes that import NumPy and processes that start the package or a command, in turns in one run; the shortest time
of each. Goal: at most 1.5 times NumPy's import for what computes nothing; the last two lines do.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from .timing import best_seconds

REFERENCE = "import numpy"


def actions(risks: Path) -> dict[str, list[str]]:
    """What is started, by the name under which it is printed: arguments of Python."""
    imports = (REFERENCE, "import pacb_models", "from pacb_models import BoundProblem, solve")
    commands = ("pacb --help", "pacb --version", "pacb constants --m 1000", f"pacb solve {risks.name} --m 549")
    started = {code: ["-c", code] for code in imports}
    return started | {
        command: ["-m", "pacb_models", *command.replace(risks.name, str(risks)).split()[1:]] for command in commands
    }


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15, help="processes of each kind (default 15)")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        risks = Path(folder) / "risks.csv"
        risks.write_text("0.04\n0.05\n0.08\n")
        seconds = best_seconds(
            {
                name: partial(subprocess.run, [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
                for name, arguments in actions(risks).items()
            },
            repeats,
        )
    for name, time in seconds.items():
        print(f"{name:<48} {1000 * time:6.0f} ms  {time / seconds[REFERENCE]:5.2f} times NumPy")


if __name__ == "__main__":
    main()
