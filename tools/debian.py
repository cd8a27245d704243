"""Debian packages, installed by apt when they are missing: by root, unless somebody at the terminal says no in ten
seconds, or through sudo where somebody says yes to it.
"""

import os
import shutil
import sys
import sysconfig
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from steps import Log, StepFailed

#: Seconds in which somebody at a terminal can keep root from installing.
GRACE = 10.0


@cache
def administrator() -> list[str] | None:
    """The words to put before a command so that it runs as root; None where that is not possible or not wanted.

    Set-up changes nothing outside the checkout unasked: somebody at a terminal is asked, once, and nobody else.
    """
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo") or not sys.stdin.isatty():
        return None
    print("set-up: some solvers need Debian packages. Install them with sudo apt-get? [y/N] ", end="", flush=True)
    return ["sudo"] if sys.stdin.readline().strip().lower() in ("y", "yes") else None


def install(packages: list[str], log: Log) -> None:
    """Install the packages, renewing apt's lists when the first attempt fails.

    StepFailed says why they could not be installed and how to get them by hand.
    """
    names = " ".join(packages)
    by_hand = f"get it as root with: apt-get install {names}"
    if not shutil.which("apt-get"):
        raise StepFailed(f"no {names}, and no apt-get to install it; get it by this system's own means")
    prefix = administrator()
    if prefix is None:
        raise StepFailed(f"no {names}; {by_hand}")
    if not prefix and sys.stdin.isatty():
        try:
            print(f"set-up: apt-get installs {names} in {GRACE:g} seconds; Ctrl-C goes on without.", flush=True)
            time.sleep(GRACE)
        except KeyboardInterrupt:
            raise StepFailed(f"no {names}; {by_hand}") from None
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"]
    command = [*apt, "install", "-y", "--no-install-recommends", *packages]
    with log.step(f"Debian packages {names}"):
        try:
            log.run(command, "")
        except StepFailed:
            # The lists are empty on a fresh machine and stale on an old one; an update that fails in part may still do.
            with suppress(StepFailed):
                log.run([*apt, "update"], "")
            log.run(command, f"apt-get could not install {names}; {by_hand}")


def missing_compiler() -> list[str]:
    """Packages without which nothing can be compiled against the running Python."""
    packages = [package for package in ("g++", "pkg-config") if not shutil.which(package)]
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        packages.append(f"python{sys.version_info.major}.{sys.version_info.minor}-dev")
    return packages
