"""The program ``pacb``; also ``python -m pacb_models``.

Imports take a moment in which Ctrl-C may be pressed already, so none comes before that is provided for.
"""

import os
import sys


def main() -> int:
    """Run the command line; the exit code."""
    # For the processes that we start, and theirs: Python would look for modules in the current directory first, where
    # a file that happens to be called random.py would be run.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    try:
        from .commands.program import main as run

        return run()
    except KeyboardInterrupt:
        print("pacb: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
