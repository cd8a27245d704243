"""Work on a real Dask cluster of two processes: the same results, and what a killed worker or scheduler costs."""

import importlib
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer

from pacb_models.benchmarks.commands.reproduce import compute
from pacb_models.benchmarks.experiments.cross_validation import cross_validate
from pacb_models.benchmarks.experiments.risks import BATCH, Experiment, train_risks
from pacb_models.benchmarks.paper.document import ITEMS
from pacb_models.benchmarks.paper.study import Study, embedded_tables
from pacb_models.benchmarks.studies import simulation
from pacb_models.cluster import fitted_on, spread
from pacb_models.commands.program import main
from pacb_models.errors import InputError, RunStopped

from ..conftest import slowness
from ..small_data import small_dataset

# Processes of a cluster start, are killed, and are missed only after a while.
pytestmark = [pytest.mark.outside, pytest.mark.timeout(300)]


@pytest.fixture
def work(monkeypatch, tmp_path):
    """Functions that the workers can import, and this process too."""
    (tmp_path / "spread_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("spread_work", None)
    return importlib.import_module("spread_work")


@pytest.fixture
def cluster(start_cluster, work, tmp_path):
    return start_cluster(tmp_path)


def test_training_on_a_cluster_is_the_same_and_survives_a_killed_worker(cluster, tmp_path, capsys):
    """Byte for byte the table of a serial run; one of the two workers dies by kill -9 in the middle."""
    dataset = small_dataset()
    arguments = ("train", "wdbc", "--count", str(6 * BATCH))
    assert main([*arguments, "--out", str(tmp_path / "serial.csv")]) == 0
    assert main([*arguments, "--out", str(tmp_path / "cluster.csv"), "--dask", cluster.address]) == 0
    assert (tmp_path / "cluster.csv").read_bytes() == (tmp_path / "serial.csv").read_bytes()

    capsys.readouterr()
    load_breast_cancer(as_frame=True).frame.iloc[:306, [4, 8, 9, 30]].to_csv(tmp_path / "table.csv", index=False)
    certify = ["fit", str(tmp_path / "table.csv"), "--target", "target", "--classifiers", "linear", "--json"]
    records = []
    for more in ([], ["--dask", cluster.address]):
        assert main([*certify, *more]) == 0
        records.append(json.loads(capsys.readouterr().out))
    assert records[0] == records[1]
    seen = []

    def kill_one(done, total):
        seen.append(done)
        if 0 < done < total:
            cluster.workers[0].kill()

    table = train_risks(dataset, count=6 * BATCH, dask=cluster.address, progress=kill_one)
    assert seen[0] == 0 and seen[-1] == 6 * BATCH and len(seen) == 7
    serial = train_risks(dataset, count=6 * BATCH)
    for name in ("validation_errors", "test_errors", "training_errors"):
        np.testing.assert_array_equal(getattr(table, name), getattr(serial, name))
    quiet = {"report": lambda line: None, "draws": 40}
    assert simulation.table(**quiet, dask=cluster.address) == simulation.table(**quiet)
    there, here = (cross_validate(dataset, count=20, dask=dask) for dask in (cluster.address, None))
    assert there.errors_by_lambda == here.errors_by_lambda


def test_the_kernel_matrix_does_not_travel():
    experiment = Experiment(small_dataset(), np.array([0.1, 0.2]))
    before = len(pickle.dumps(experiment))
    experiment.errors([0])
    assert "gram" in experiment.__dict__ and len(pickle.dumps(experiment)) == before
    assert pickle.loads(pickle.dumps(experiment)).errors([0, 1]) == experiment.errors([0, 1])


WORK = """
import os, time

def doubled(item):
    return 2 * item

def with_process(shared, item):
    time.sleep(0.05)
    return id(shared), os.getpid()

def held(folder, item, data=()):
    (folder / f"began-{os.getpid()}").touch()
    while not (folder / "free").exists():
        time.sleep(0.01)
    return item + sum(data)

def napping(item):
    time.sleep(0.2)
    return item

class Slow:
    def __init__(self, item, seconds):
        self.item, self.seconds = item, seconds

    def __reduce__(self):
        time.sleep(self.seconds)
        return Slow, (self.item, 0.0)

def slow_to_fetch(item):
    return Slow(item, 1.5)

def broken(item):
    if item == 3:
        raise ValueError("three is too many")
    return item
"""


def test_spreading(cluster, work, monkeypatch):
    assert dict(spread(work.doubled, range(20), cluster.address)) == {item: 2 * item for item in range(20)}
    found = [result for _, result in spread(work.with_process, range(12), cluster.address, shared={"data": 1})]
    # One copy in each process that worked, or two: a task may fetch one while the one that was sent is on its way.
    assert len(set(found)) <= 2 * len({process for _, process in found}) <= 4 < len(found)
    assert os.getpid() not in {process for _, process in found}
    with pytest.raises(ValueError, match="three is too many"):
        list(spread(work.broken, range(5), cluster.address))
    handled = dict(spread(work.broken, range(5), cluster.address, failed=lambda item, reason: f"{item}: {reason}"))
    assert handled[3] == "3: three is too many" and handled[4] == 4
    # What takes long to fetch is fetched once.
    fetched = [(item, result.item) for item, result in spread(work.slow_to_fetch, range(2), cluster.address)]
    assert sorted(fetched) == [(0, 0), (1, 1)]

    monkeypatch.setattr("pacb_models.cluster.PATIENCE", 1.0)
    done = []
    with pytest.raises(RunStopped, match="had no workers for 1 s"):
        for item, _ in spread(work.napping, range(500), cluster.address):
            done.append(item)
            for worker in cluster.workers:
                worker.kill()
    assert done and len(done) == len(set(done)) < 500


@pytest.fixture
def when_both_work(tmp_path):
    """Do something as soon as both workers are held up by a task, and let them go then."""

    def wait_and_do(something):
        while len(list(tmp_path.glob("began-*"))) < 2:
            time.sleep(0.01)
        something()
        (tmp_path / "free").touch()

    return lambda something: threading.Thread(target=wait_and_do, args=(something,), daemon=True).start()


def replace_both_workers(cluster):
    """As a nanny or a batch system would. The scheduler learns of both at once, and not of one that the other outlives:
    work would move there, and be lost a second time."""
    cluster.scheduler.suspend()
    for worker in cluster.workers:
        worker.kill()
        worker.wait()
    cluster.scheduler.resume()
    cluster.start_worker()


def test_what_is_shared_is_sent_again_when_no_worker_has_it_left(cluster, work, when_both_work, tmp_path):
    when_both_work(lambda: replace_both_workers(cluster))
    assert dict(spread(work.held, range(12), cluster.address, shared=tmp_path)) == {item: item for item in range(12)}
    assert len(list(tmp_path.glob("began-*"))) == 3


def test_work_of_a_worker_that_does_not_answer_is_done_elsewhere(start_cluster, work, when_both_work, tmp_path):
    """The scheduler's own setting says how long it may be silent."""
    seconds = math.ceil(4 * slowness())
    cluster = start_cluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=f"{seconds} s")
    when_both_work(lambda: cluster.workers[0].send_signal(signal.SIGSTOP))
    assert sorted(item for item, _ in spread(work.held, range(20), cluster.address, shared=tmp_path)) == [*range(20)]


def test_a_killed_scheduler_ends_the_work_with_a_sentence(cluster, work):
    done = []
    with pytest.raises(RunStopped, match=r"the Dask scheduler at tcp://.* is gone"):
        for item, _ in spread(work.napping, range(200), cluster.address):
            done.append(item)
            cluster.scheduler.kill()
    assert len(done) == len(set(done)) < 200


@pytest.mark.parametrize("who", ["scheduler", "worker"])
def test_a_fit_goes_on_without_a_worker_and_ends_without_a_scheduler(cluster, work, when_both_work, tmp_path, who):
    def fit():
        when_both_work((cluster.scheduler if who == "scheduler" else cluster.workers[0]).kill)
        return Parallel(n_jobs=2)(delayed(work.held)(tmp_path, item) for item in range(40))

    if who == "worker":
        assert fitted_on(cluster.address, fit) == list(range(40))
        return
    with pytest.raises(RunStopped, match=r"the Dask scheduler at tcp://.* is gone"):
        fitted_on(cluster.address, fit)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("who", ["scheduler", "worker"])
def test_an_interrupt_is_answered_while_nobody_else_does(cluster, tmp_path, who):
    program = (
        "import spread_work\nfrom pacb_models.cluster import spread\n"
        f"for item, _ in spread(spread_work.napping, range(1000), {cluster.address!r}):\n    print(item, flush=True)\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    running = subprocess.Popen([sys.executable, "-c", program], env=environment, **pipes)
    assert running.stdout.readline()
    stopped = [cluster.scheduler] if who == "scheduler" else cluster.workers
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    time.sleep(1.0)
    running.send_signal(signal.SIGINT)
    # Dask would wait for half a minute, and ask again.
    running.communicate(timeout=25)
    assert running.returncode == -signal.SIGINT


def test_a_fit_begins_anew_when_a_worker_takes_its_data_along(cluster, work, when_both_work, capsys, tmp_path):
    """joblib puts an array on one worker, and never again; no worker has it left."""
    array, begun = np.arange(10_000), []

    def fit():
        begun.append(True)
        if len(begun) == 1:
            when_both_work(lambda: replace_both_workers(cluster))
        return Parallel(n_jobs=2)(delayed(work.held)(tmp_path, item, array) for item in range(10))

    assert fitted_on(cluster.address, fit) == [int(array.sum()) + item for item in range(10)]
    assert len(begun) == 2
    assert capsys.readouterr().err.count("training begins anew") == 1


def test_workers_without_the_package_are_one_sentence(start_cluster, tmp_path, capsys):
    """The package is there and cannot be imported, as where a dependency of it is missing."""
    (tmp_path / "pacb_models").mkdir()
    (tmp_path / "pacb_models/__init__.py").write_text("import nothing_of_this_name\n")
    out = tmp_path / "x.csv"
    command = ["train", "wdbc", "--count", "4", "--out", str(out)]
    assert main([*command, "--dask", start_cluster(tmp_path).address]) == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert "the Dask workers cannot run pacb-models" in line and "nothing_of_this_name" in line
    assert not out.exists()


def test_reproduction_on_a_cluster_is_the_same_and_survives_a_killed_worker(cluster, tmp_path):
    item = ITEMS["change-of-measure"]

    def kill_one(what, done, total):
        if what == "change of measure" and done == 5:
            cluster.workers[0].kill()

    here, there = tmp_path / "here", tmp_path / "there"
    compute([item], Study(embedded_tables()), here, resume=False)
    compute([item], Study(embedded_tables(), dask=cluster.address, report=kill_one), there, resume=False)
    name = "results.jsonl"
    cluster.workers[0].wait(60)
    assert (there / name).read_bytes() == (here / name).read_bytes()


def test_no_cluster_is_one_sentence(tmp_path, capsys, monkeypatch):
    # Dask asks again and again, however quickly it is refused.
    monkeypatch.setattr("pacb_models.cluster.ANSWER", 1.0)
    with pytest.raises(InputError, match="no Dask scheduler answers there"):
        list(spread(abs, range(3), "tcp://127.0.0.1:9"))
    command = ["train", "wdbc", "--count", "4", "--out", str(tmp_path / "x.csv")]
    assert main([*command, "--dask", "tcp://127.0.0.1:9"]) == 2
    assert "no Dask scheduler answers there" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "x.csv").exists()
