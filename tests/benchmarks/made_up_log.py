"""Rows of an imagined run, written as the runner writes them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pacb_models.benchmarks.harness.environment import Environments
from pacb_models.benchmarks.harness.results import ResultLog, load_results
from pacb_models.benchmarks.verdict import judged

_numbers = itertools.count()

LIMIT = 3.0


def row(
    solver: str, problem: str = "one", seconds: float = 0.1, gap: float | None = 0.0, **changes: Any
) -> dict[str, Any]:
    """A run that is right, but for the changes. ``gap=None``: no bound came back."""
    status = changes.get("status", "optimal")
    claims = status == "optimal"
    made = {
        "key": f"key-{next(_numbers)}",
        "repetition": 0,
        "environment": 1,
        "suite": "made up",
        "problem": problem,
        "dataset": "nowhere",
        "H": 50,
        "m": 100,
        "delta": 0.05,
        "distance": "kl",
        "divergence": "chi2",
        "order": 2.0,
        "constant": "exact",
        "prior": "uniform",
        "minima": 1,
        "solver": solver,
        "settings": "{}",
        "status": status,
        "message": "",
        "bound": None if gap is None else 0.25 + gap,
        "reference_bound": 0.25,
        "gap": gap,
        "kkt_residual": 1e-9,
        "simplex_residual": 0.0,
        "claims": claims,
        "success": claims,
        "correct": gap is not None and abs(gap) <= 1e-7,
        "iterations": 3,
        "setup_seconds": 0.0,
        "seconds": seconds,
        "time_limit": LIMIT,
        "parallel": False,
        "timestamp": "2025-01-01T00:00:00+00:00",
    }
    made.update(changes)
    return made


def write_log(directory: Path, rows: Iterable[dict[str, Any]], **environment: Any) -> Path:
    """A result directory with these rows."""
    with ResultLog(directory) as log:
        for made in rows:
            log.append(made)
    if environment:
        Environments([environment], {"cells": environment.pop("cells", 0)}).write(directory)
    return directory


def frame(directory: Path, rows: Iterable[dict[str, Any]]) -> Any:
    """The rows after a trip through the log, judged."""
    return judged(load_results(write_log(directory, rows)))
