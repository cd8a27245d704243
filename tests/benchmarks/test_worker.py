"""What a worker measures beside time."""

from __future__ import annotations

import numpy as np
import pytest

from pacb_models.benchmarks.harness.worker import PeakMemory


@pytest.mark.long
def test_peak_memory_is_that_since_the_start_alone():
    """400 MB before, 100 MB during, nothing after: told apart whatever the machine does beside."""
    earlier = np.ones(50_000_000)
    del earlier
    memory = PeakMemory()
    during = np.ones(12_500_000)
    del during
    assert 80e6 < memory.rise() < 200e6
    assert PeakMemory().rise() < 50e6
