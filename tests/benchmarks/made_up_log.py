"""Rows of an imagined run, written as the runner writes them."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pacb_models.benchmarks.harness.environment import Environments
from pacb_models.benchmarks.harness.measurement import Measurement
from pacb_models.benchmarks.harness.results import ResultLog, load_results
from pacb_models.benchmarks.verdict import Judged

_numbers = itertools.count()


def row(
    solver: str, problem: str = "one", seconds: float = 0.1, gap: float | None = 0.0, **changes: Any
) -> Measurement:
    """A run that is right, but for the changes. ``gap=None``: no bound came back."""
    made = {
        **{"key": f"key-{next(_numbers)}", "environment": 1, "suite": "made up", "problem": problem},
        **{"family": "nowhere", "size": 50, "m": 100, "delta": 0.05, "distance": "kl", "divergence": "chi2"},
        **{"order": 2.0, "minima": 1, "constant": "exact", "prior": "uniform", "solver": solver, "settings": {}},
        **{"status": "optimal", "message": "", "bound": None if gap is None else 0.25 + gap, "reference_bound": 0.25},
        **{"kkt_residual": 1e-9, "simplex_residual": 0.0, "iterations": 3, "setup_seconds": 0.0, "seconds": seconds},
        **{"time_limit": 3.0, "timestamp": "2025-01-01T00:00:00+00:00"},
    }
    return Measurement(**{**made, "claims": changes.get("status", "optimal") == "optimal", **changes})


def write_log(directory: Path, rows: Iterable[Measurement], **environment: Any) -> Path:
    """A result directory with these rows."""
    with ResultLog(directory, resume=True) as log:
        for made in rows:
            log.append(made)
    if environment:
        Environments({"cells": environment.pop("cells", 0)}, [environment]).write(directory)
    return directory


def judged(directory: Path, rows: Iterable[Measurement]) -> Judged:
    """The rows after a trip through the log, judged."""
    return Judged(load_results(write_log(directory, rows)))


def frame(directory: Path, rows: Iterable[Measurement]) -> Any:
    """All of them as a data frame."""
    return judged(directory, rows).runs
