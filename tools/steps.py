"""What every set-up step shares: one line of progress, output into a log, problems in one sentence."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StepFailed(Exception):
    """A step could not be done; the text is the one sentence the user reads."""


class Log:
    """The file that keeps what the commands printed, so that the terminal shows one line per step."""

    def __init__(self, path: Path):
        self.path = path

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Announce a step, and say how long it took once it is done."""
        print(f"set-up: {title} ...", end="", flush=True)
        started = time.perf_counter()
        try:
            yield
        except BaseException:
            print(" failed", flush=True)
            raise
        print(f" {time.perf_counter() - started:.0f} s", flush=True)

    def run(self, command: list[str | Path], failure: str, **environment: str) -> None:
        """Run a command with its output in the log; when it cannot be started or fails, raise StepFailed(failure)."""
        with self.path.open("a", encoding="utf-8") as log:
            log.write("\n$ " + " ".join(map(str, command)) + "\n")
            log.flush()
            try:
                code = subprocess.run(
                    command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **environment}
                ).returncode
            except OSError as error:
                log.write(f"{error}\n")
                code = -1
        if code:
            raise StepFailed(f"{failure} (details: {self.path.name})")
