"""What a worker measures beside time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: Alone in its process: 400 MB before, 100 MB during, nothing after.
PROGRAM = """
import numpy as np
from pacb_models.benchmarks.harness.worker import PeakMemory
before = np.ones(50_000_000)
del before
memory = PeakMemory()
during = np.ones(12_500_000)
del during
print(memory.rise(), PeakMemory().rise())
"""

#: Arrays of this size have pages of their own, of 2 MiB where the system likes them large. Linux counts pages on every
#: core apart, and adds up what a core has when it is this many (lib/percpu_counter.c). And Python reads a small file.
LARGE_PAGES = 2 * 2**21
CORES = os.cpu_count() or 1
NOT_ADDED_YET = max(32, 2 * CORES) * CORES * os.sysconf("SC_PAGE_SIZE")
A_SMALL_FILE = 2**20


@pytest.mark.outside
def test_peak_memory_is_that_since_the_start_alone():
    # BLAS threads would come and go.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-c", PROGRAM]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    during, after = map(int, result.stdout.split())
    assert during == pytest.approx(100e6, abs=LARGE_PAGES + NOT_ADDED_YET + A_SMALL_FILE)
    assert after <= NOT_ADDED_YET + A_SMALL_FILE
