"""A real Dask cluster for the tests that need one."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache

import psutil

#: Imports Dask, and what workers train with, once; forked into every scheduler and worker. They end
#: with it, and it with the tests.
MOTHER = """
import gc, json, os, signal, sys
import dask, sklearn.svm
from distributed.cli import dask_scheduler, dask_worker

gc.freeze()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    program, arguments, folder, variables = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silence, stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        dask.config.refresh()
        sys.path.insert(0, variables["PYTHONPATH"])
        sys.argv[1:] = arguments
        {"scheduler": dask_scheduler, "worker": dask_worker}[program].main()
    print(child, flush=True)
os.killpg(0, signal.SIGKILL)
"""


@cache
def mother():
    command = [sys.executable, "-P", "-c", MOTHER]
    # Dask's own is 30 seconds: so long a worker would wait for another that was killed.
    variables = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=variables, start_new_session=True, **pipes)


class Process(psutil.Process):
    """One that may be gone, as those of :class:`subprocess.Popen`."""

    def send_signal(self, sig):
        with suppress(psutil.NoSuchProcess):
            super().send_signal(sig)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class Cluster:
    """A real Dask scheduler with two worker processes on loopback, in a directory of their own."""

    def __init__(self, folder, python_path, **variables):
        self._processes = []
        self._folder = folder
        self._variables = {**os.environ, **variables, "PYTHONPATH": str(python_path)}
        contact = folder / "scheduler.json"
        self._common = ("--no-dashboard", "--scheduler-file", str(contact), "--host", "127.0.0.1")
        self.scheduler = self._start("scheduler", *self._common, "--port", "0")
        self.workers = [self.start_worker() for _ in range(2)]
        self.address = self._address(contact)
        # joblib would compute here, and not there, as long as the scheduler knows one worker with one thread.
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=120)

    def start_worker(self):
        return self._start("worker", *self._common, "--no-nanny", "--nthreads", "1")

    @staticmethod
    def _address(contact):
        """What the scheduler writes into its file, once it is there as a whole."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                return json.loads(contact.read_text())["address"]
            except (OSError, ValueError):
                time.sleep(0.05)
        raise TimeoutError("the Dask scheduler did not start")

    def _start(self, program, *arguments):
        print(json.dumps([program, arguments, str(self._folder), self._variables]), file=mother().stdin, flush=True)
        self._processes.append(Process(int(mother().stdout.readline())))
        return self._processes[-1]

    def measuring_processes(self):
        return [child for worker in self.workers for child in worker.children()]

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait()
