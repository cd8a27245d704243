"""The machines and the software that a directory's figures belong to."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pacb_models.errors import InputError
from pacb_models.files import reading, write_atomically
from pacb_models.wording import shown

from .measurement import plain

ENVIRONMENT = "environment.json"
#: Whose versions are kept with the results.
_PACKAGES = (
    *("pacb-models", "numpy", "scipy", "pyomo", "cyipopt", "cvxpy", "clarabel", "scs", "casadi", "unopy"),
    *("pounce-solver", "pyscipopt", "scikit-learn", "joblib", "dask"),
)

#: What makes two environments one machine; times of different machines are never compared.
MACHINE = ("processor", "cores", "memory_bytes", "system")
#: What may differ within one environment: when it was described, and how many programs wanted a core just before.
MOMENTARY = ("date", "load")
#: What is known of a machine and its software, ready for JSON.
Description = dict[str, Any]


@cache
def described_here() -> Description:
    """Return versions, processor, memory, operating system, date and load, as JSON-ready values."""
    # A container or ``taskset`` may have made them fewer than there are.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    named = None
    with suppress(OSError):
        named = re.search(r"^model name\s*:[ \t]*(.*\S)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": named[1] if named else platform.processor() or platform.machine(),
        "cores": cores,
        "load": round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else None,
        "memory_bytes": memory_bytes(),
        "versions": versions(),
        "ipopt": ipopt_version(),
        "commit": _commit(),
    }


@dataclass
class Environments:
    """The environments of a directory, numbered from one as its rows name them, and what is planned there.

    ``environment.json`` holds them. A run adds its own when none of those before equals it, and changes none: rows that
    were measured elsewhere, or by other versions, keep theirs.
    """

    #: Name of the suite, number of its cells, repetitions; of the latest run.
    plan: Description = field(default_factory=dict)
    environments: list[Description] = field(default_factory=list)

    @classmethod
    def read(cls, directory: str | Path) -> Environments:
        """Return what the directory has; empty when nothing is there."""
        path = Path(directory) / ENVIRONMENT
        if not path.exists():
            return cls()
        with reading(path):
            found = json.loads(path.read_bytes())
            entries = found.get("environments") if isinstance(found, dict) else None
            if not isinstance(entries, list):
                raise InputError(f"{str(path)!r} holds no list 'environments'; move it away, or repair it.")
            try:
                return cls(_checked(found.get("plan") or {}), [*map(_checked, entries)])
            except ValueError as reason:
                raise InputError(f"{str(path)!r} describes no environments: {reason}.") from None

    def number(self, described: Description, directory: str | Path) -> int:
        """Return the number of an environment. One that equals none but for date and load is added, before rows name
        it."""
        *known, wanted = ({**each, **dict.fromkeys(MOMENTARY)} for each in (*self.environments, described))
        if wanted not in known:
            self.environments.append(described)
            self.write(directory)
            return len(self.environments)
        return known.index(wanted) + 1

    def machine(self, number: Any) -> tuple[Any, ...]:
        """Return what makes the environment of that number another machine than others."""
        return tuple(map(self.entry(number).get, MACHINE))

    def entry(self, number: Any) -> Description:
        """Return the environment of that number; empty for one that is not listed."""
        known = number is not None and 1 <= number <= len(self.environments)
        return self.environments[int(number) - 1] if known else {}

    def write(self, directory: str | Path) -> None:
        """Write ``environment.json``."""
        write_atomically(Path(directory) / ENVIRONMENT, json.dumps(asdict(self), indent=2) + "\n")


#: What an environment or a plan may have.
_KINDS: dict[str, type] = {
    **dict.fromkeys(("date", "python", "system", "processor", "ipopt", "commit", "suite", "unknown"), str),
    **dict.fromkeys(("cores", "load", "memory_bytes", "cells", "repeats"), int),
    "versions": dict,
}


def _checked(described: Any) -> Description:
    """Refuse what is no description of an environment, or of a plan; others may have written the file."""
    if not isinstance(described, dict):
        raise ValueError("one of them is no JSON object")
    facts = {name: plain(name, _KINDS.get(name, type(fact)), fact) for name, fact in described.items()}
    for name, fact in facts.items():
        if isinstance(fact, int) and fact < 0:
            raise ValueError(f"{name} is {fact}; it must be at least 0")
    if facts.get("versions"):
        facts["versions"] = {shown(name): plain(name, str, text) for name, text in facts["versions"].items()}
    return facts


def memory_bytes() -> int:
    """Return the machine's memory, or what its control group leaves of it."""
    import psutil

    limits = [int(psutil.virtual_memory().total)]
    # There may be no such group, or its limit may be the word "max".
    with suppress(OSError, ValueError):
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits)


def versions() -> dict[str, str | None]:
    """Return those of the packages that results depend on; None for one that is not installed."""
    found: dict[str, str | None] = dict.fromkeys(_PACKAGES)
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def ipopt_version() -> str | None:
    """Return the version of the Ipopt library that cyipopt loads; None without one."""
    with suppress(ImportError):
        import cyipopt

        return ".".join(map(str, cyipopt.IPOPT_VERSION))
    return None


def _commit() -> str | None:
    """Return the commit of the checkout that this file lies in, when it lies in one; with a mark when the checkout
    differs."""
    # git must not write there, not even the index that it would like to refresh.
    git = ["git", "--no-optional-locks", "-C", str(Path(__file__).resolve().parent)]
    asked = (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    how: dict[str, Any] = {"stderr": subprocess.DEVNULL, "text": True, "timeout": 10}
    with suppress(OSError, subprocess.SubprocessError):
        commit, changes = (subprocess.check_output([*git, *words], **how) for words in asked)
        return f"{commit.strip()}{'-dirty' if changes else ''}"
    return None
