"""What a worker measures beside time."""

from __future__ import annotations

import numpy as np
import pytest

from pacb_models.benchmarks.worker import PeakMemory


def test_peak_memory_is_that_since_the_start_alone():
    earlier = np.ones(50_000_000)
    del earlier
    memory = PeakMemory()
    during = np.ones(12_500_000)
    del during
    # 100 MB; the interpreter's own comings and goings are far smaller.
    assert memory.rise() == pytest.approx(100e6, rel=0.05)
    assert PeakMemory().rise() < 5e6
