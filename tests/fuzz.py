"""Look for examples that break a property: ``python -P tests/fuzz.py [--minutes 30] [--seed N] [options of pytest]``.

The properties are run again and again, each time with another seed, until the time is over or one of them fails; the
line that is printed then runs the same examples once more. With ``--seed`` they are run once.
"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import time

NO_TESTS = 5  # exit status of pytest


def main(arguments: list[str]) -> int:
    """1 when an example was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=30.0, help="when to end the search (30)")
    parser.add_argument("--seed", type=int, help="run the examples of this seed, once")
    options, others = parser.parse_known_args(arguments)
    start, passes = time.time(), 0
    until = start + 60 * options.minutes
    while time.time() < until and not (options.seed is not None and passes):
        seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
        status = search(seed, until, others)
        if status == NO_TESTS:
            return 2
        if status != 0:
            rest = f" ARGS={shlex.quote(shlex.join(others))}" if others else ""
            print(f"== found something; again: make fuzz SEED={seed}{rest}")
            return 1
        passes += 1
    print(f"== nothing found: {passes} seeds in {(time.time() - start) / 60:.1f} minutes")
    return 0


def search(seed: int, until: float, others: list[str]) -> int:
    """Every property once; those for which there is no time left are skipped."""
    print(f"== seed {seed}, {max(until - time.time(), 0) / 60:.1f} minutes left", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "hypothesis", "--hypothesis-profile=fuzz"]
    environment = {**os.environ, "PACB_FUZZ_UNTIL": str(until)}
    return subprocess.run([*command, f"--hypothesis-seed={seed}", *others], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
