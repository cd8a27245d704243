"""The machines and the software that a directory's figures belong to."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
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
    """Versions, processor, memory, operating system, date and load, as JSON-ready values."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": cores(),
        "load": round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else None,
        "memory_bytes": memory_bytes(),
        "versions": versions(),
        "ipopt": ipopt_version(),
        "commit": _commit(),
    }


def cores() -> int:
    """How many cores this process may use, which a container or ``taskset`` may have made fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Environments:
    """The environments of a directory, numbered from one as its rows name them, and what is planned there.

    ``environment.json`` holds them. A run adds its own when none of those before equals it, and changes none: rows that
    were measured elsewhere, or by other versions, keep theirs.
    """

    listed: list[Description] = field(default_factory=list)
    #: Name of the suite, number of its cells, repetitions; of the latest run.
    plan: Description = field(default_factory=dict)

    @classmethod
    def read(cls, directory: str | Path) -> Environments:
        """What the directory has; empty when nothing is there."""
        path = Path(directory) / ENVIRONMENT
        with reading(path):
            try:
                found = json.loads(path.read_bytes())
            except FileNotFoundError:
                return cls()
            entries = found.get("environments") if isinstance(found, dict) else None
            if not isinstance(entries, list):
                raise InputError(f"{str(path)!r} holds no list 'environments'; move it away, or repair it.")
            plan = found.get("plan") or {}
            for described in (*entries, plan):
                _check(described, path)
            return cls(entries, plan)

    def number(self, described: Description, directory: str | Path) -> int:
        """The number of an environment. One that equals none but for date and load is added, before rows name it."""
        for position, known in enumerate(self.listed, 1):
            if _undated(known) == _undated(described):
                return position
        self.listed.append(described)
        self.write(directory)
        return len(self.listed)

    def machines(self, numbers: Iterable[Any]) -> dict[Any, int]:
        """The machine of each environment's number, numbered from one as they appear."""
        order: dict[tuple[Any, ...], int] = {}
        return {number: order.setdefault(self.machine(number), len(order) + 1) for number in numbers}

    def machine(self, number: Any) -> tuple[Any, ...]:
        """What makes the environment of that number another machine than others."""
        return tuple(map(self.entry(number).get, MACHINE))

    def entry(self, number: Any) -> Description:
        """The environment of that number; empty for one that is not listed."""
        known = number is not None and 1 <= number <= len(self.listed)
        return self.listed[int(number) - 1] if known else {}

    def as_dict(self) -> Description:
        """The content of the file."""
        return {"plan": self.plan, "environments": self.listed}

    def write(self, directory: str | Path) -> None:
        """Write ``environment.json``."""
        write_atomically(Path(directory) / ENVIRONMENT, json.dumps(self.as_dict(), indent=2) + "\n")


def _check(described: Any, path: Path) -> None:
    """Refuse what is no description of an environment, or of a plan; others may have written the file."""
    try:
        facts = plain("an environment", dict, described)
        if facts is None:
            raise ValueError("one of them is null")
        for name in facts.keys() & _KINDS.keys():
            facts[name] = plain(name, _KINDS[name], facts[name])
            if _KINDS[name] is int and (facts[name] or 0) < 0:
                raise ValueError(f"{name} is {facts[name]}; it must be at least 0")
        if facts.get("versions"):
            facts["versions"] = {shown(name): plain(name, str, text) for name, text in facts["versions"].items()}
    except ValueError as reason:
        raise InputError(f"{str(path)!r} describes no environments: {reason}.") from None


#: What an environment or a plan may have.
_KINDS: dict[str, type] = {
    **dict.fromkeys(("date", "python", "system", "processor", "ipopt", "commit", "suite", "unknown"), str),
    **dict.fromkeys(("cores", "load", "memory_bytes", "cells", "repeats"), int),
    "versions": dict,
}


def _undated(described: Description) -> str:
    return json.dumps({name: described[name] for name in described if name not in MOMENTARY}, sort_keys=True)


def memory_bytes() -> int:
    """The machine's memory, or what its control group leaves of it."""
    import psutil

    total = int(psutil.virtual_memory().total)
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):
        # No such group, or the word "max".
        return total


def versions() -> dict[str, str | None]:
    """Those of the packages that results depend on; None for one that is not installed."""
    return {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def ipopt_version() -> str | None:
    """The version of the Ipopt library that cyipopt loads; None without one."""
    try:
        import cyipopt
    except ImportError:
        return None
    return ".".join(map(str, cyipopt.IPOPT_VERSION))


def _commit() -> str | None:
    """The commit of the checkout that this file lies in, when it lies in one; with a mark when the checkout differs."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return f"{commit}-dirty" if _git("status", "--porcelain", "--untracked-files=no") else commit
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*words: str) -> str:
    """What git says of this checkout. It must not write there, not even the index that it would like to refresh."""
    command = ["git", "--no-optional-locks", "-C", str(Path(__file__).resolve().parent), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
