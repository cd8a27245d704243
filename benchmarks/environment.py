"""The machine and the software that a run's figures belong to."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    "pacb-models",
    "numpy",
    "scipy",
    "pyomo",
    "cyipopt",
    "cvxpy",
    "clarabel",
    "scs",
    "scikit-learn",
    "joblib",
    "dask",
)


def describe() -> dict[str, Any]:
    """Versions, processor, memory, operating system and date, as JSON-ready values."""
    import psutil

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "versions": {name: _version(name) for name in _PACKAGES},
        "ipopt": _ipopt_version(),
        "commit": _commit(),
    }


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


def _ipopt_version() -> str | None:
    try:
        import cyipopt
    except ImportError:
        return None
    return ".".join(map(str, cyipopt.IPOPT_VERSION))


def _commit() -> str | None:
    """The commit of the checkout that this file lies in, when it lies in one."""
    folder = Path(__file__).resolve().parent
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
