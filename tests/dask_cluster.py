"""A real Dask cluster for the tests that need one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import psutil


class Cluster:
    """A real Dask scheduler with two worker processes on loopback, in a directory of their own."""

    def __init__(self, folder, python_path):
        self._processes = []
        self._folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(python_path)}
        contact = folder / "scheduler.json"
        common = ("--no-dashboard", "--scheduler-file", str(contact), "--host", "127.0.0.1")
        self._common = common
        self.scheduler = self._start("dask_scheduler", *common, "--port", "0")
        self.workers = [self.start_worker() for _ in range(2)]
        self.address = self._address(contact)

    def start_worker(self):
        return self._start("dask_worker", *self._common, "--no-nanny", "--nthreads", "1")

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
        command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, env=self._environment, cwd=self._folder, **quiet)
        self._processes.append(process)
        return process

    def address_of(self, worker):
        """What the scheduler calls a worker process, once it knows it."""
        from distributed import Client

        deadline = time.monotonic() + 120
        with Client(self.address, set_as_default=False) as client:
            while time.monotonic() < deadline:
                for address, process in client.run(os.getpid).items():
                    if process == worker.pid:
                        return address
                time.sleep(0.05)
        raise TimeoutError("the Dask worker did not start")

    def measuring_processes(self):
        return [child for worker in self.workers for child in psutil.Process(worker.pid).children()]

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait()
