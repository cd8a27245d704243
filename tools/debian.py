"""Debian packages: installed by apt as root or through sudo, and only when they are missing."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

from steps import Log, StepFailed


def administrator() -> list[str] | None:
    """The words to put before a command so that it runs as root; None where that is not possible."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        # Without a terminal nobody can type a password: fail at once instead of waiting for one.
        return ["sudo"] if sys.stdin.isatty() else ["sudo", "-n"]
    return None


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
        raise StepFailed(f"no {names}, and neither root nor sudo to install it; {by_hand}")
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
