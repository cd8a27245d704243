"""Processes that we start end with us."""

import subprocess
import sys

import psutil
import pytest

WORK = """
import time
from joblib import Parallel, delayed
from pacb_models.processes import ended_with_us

def work(seconds):
    time.sleep(seconds)

if __name__ == "__main__":
    with ended_with_us():
        Parallel(n_jobs=2)(delayed(work)(0.1) for _ in range(4))
        print("started", flush=True)
        Parallel(n_jobs=2)(delayed(work)(600) for _ in range(2))
"""


@pytest.mark.outside
def test_a_program_that_is_told_to_end_leaves_none_of_joblib_s_processes(tmp_path):
    (tmp_path / "program.py").write_text(WORK)
    program = subprocess.Popen([sys.executable, tmp_path / "program.py"], stdout=subprocess.PIPE)
    assert program.stdout.readline() == b"started\n"
    children = psutil.Process(program.pid).children(recursive=True)
    workers = [child for child in children if "loky" in " ".join(child.cmdline())]
    program.terminate()
    program.wait(timeout=30)
    _, left = psutil.wait_procs(workers, timeout=30)
    assert len(workers) >= 2 and not left
