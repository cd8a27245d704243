"""Work on a real Dask cluster of two processes: the same results, and what a killed worker or scheduler costs."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed

import pacb_models as pm
from pacb_models.benchmarks import simulation
from pacb_models.benchmarks.cluster import solver_complaint
from pacb_models.benchmarks.paper.catalogue import ITEMS
from pacb_models.benchmarks.paper.reproduce_command import compute
from pacb_models.benchmarks.paper.study import Study, embedded_tables
from pacb_models.cli import main
from pacb_models.cluster import fitted_on, spread
from pacb_models.ensembles.cross_validation import cross_validate
from pacb_models.ensembles.datasets import load_dataset
from pacb_models.ensembles.risks import BATCH, Experiment, train_risks
from pacb_models.errors import InputError, RunStopped

from ..dask_cluster import Cluster


@pytest.fixture
def cluster(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    (folder / "spread_work.py").write_text(WORK)
    running = Cluster(folder, folder)
    yield running
    running.close()


def test_training_on_a_cluster_is_the_same_and_survives_a_killed_worker(cluster, data_dir, tmp_path, capsys):
    """Byte for byte the table of a serial run; one of the two workers dies by kill -9 in the middle."""
    dataset = load_dataset("haberman", data_dir)
    arguments = ("train", "haberman", "--count", str(6 * BATCH), "--data", str(data_dir))
    assert main([*arguments, "--out", str(tmp_path / "serial.csv")]) == 0
    assert main([*arguments, "--out", str(tmp_path / "cluster.csv"), "--dask", cluster.address]) == 0
    assert (tmp_path / "cluster.csv").read_bytes() == (tmp_path / "serial.csv").read_bytes()

    capsys.readouterr()
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
    rows = "\n".join(",".join(f"{value:g}" for value in (*x, label)) for x, label in zip(dataset.X, dataset.y))
    (tmp_path / "table.csv").write_text(f"age,year,nodes,survived\n{rows}\n")
    certify = ["certify", str(tmp_path / "table.csv"), "--target", "survived", "--classifiers", "linear", "--json"]
    assert main(certify) == 0
    alone = capsys.readouterr().out
    assert main([*certify, "--dask", cluster.address]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(alone)
    quiet = {"report": lambda line: None, "draws": 40}
    assert simulation.table(**quiet, dask=cluster.address) == simulation.table(**quiet)
    folds = cross_validate(dataset, count=20, dask=cluster.address), cross_validate(dataset, count=20)
    np.testing.assert_array_equal(folds[0].errors, folds[1].errors)


def test_the_kernel_matrix_does_not_travel(data_dir):
    dataset = load_dataset("haberman", data_dir)
    experiment = Experiment(dataset, np.array([0.1, 0.2]))
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

def summed(array, item):
    time.sleep(0.3)
    return int(array.sum()) + item

def broken(item):
    if item == 3:
        raise ValueError("three is too many")
    return item
"""


def test_spreading(cluster, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path / "cluster"))
    work = importlib.import_module("spread_work")
    assert dict(spread(work.doubled, range(20), cluster.address)) == {item: 2 * item for item in range(20)}
    found = [result for _, result in spread(work.with_process, range(12), cluster.address, shared={"data": 1})]
    # One copy in each process that worked, or two: a task may fetch one while the one that was sent is on its way.
    assert len(set(found)) <= 2 * len({process for _, process in found}) <= 4 < len(found)
    assert os.getpid() not in {process for _, process in found}
    with pytest.raises(ValueError, match="three is too many"):
        list(spread(work.broken, range(5), cluster.address))
    handled = dict(spread(work.broken, range(5), cluster.address, failed=str))
    assert handled[3] == "three is too many" and handled[4] == 4

    monkeypatch.setattr("pacb_models.cluster.PATIENCE", 1.0)
    told = []
    done = []
    with pytest.raises(RunStopped, match="had no workers for 1 s"):
        for item, _ in spread(work.doubled, range(500), cluster.address, tell=told.append):
            done.append(item)
            for worker in cluster.workers:
                worker.kill()
    assert done and len(told) == 1 and "has no workers" in told[0]


def test_what_is_shared_is_sent_again_when_no_worker_has_it_left(cluster, monkeypatch, tmp_path):
    """Both workers die and another one comes, as a nanny or a batch system would start it."""
    monkeypatch.syspath_prepend(str(tmp_path / "cluster"))
    work = importlib.import_module("spread_work")
    done = []
    for item, _ in spread(work.with_process, range(12), cluster.address, shared={"data": 1}, tell=lambda text: None):
        done.append(item)
        if len(done) == 3:
            for worker in cluster.workers:
                worker.kill()
            cluster.start_worker()
    assert sorted(done) == list(range(12))


def test_a_fit_begins_anew_when_a_worker_takes_its_data_along(cluster, monkeypatch, tmp_path, capsys):
    """joblib puts an array on one worker: one of the two is killed while all tasks wait for it or run."""
    monkeypatch.syspath_prepend(str(tmp_path / "cluster"))
    work = importlib.import_module("spread_work")
    array = np.arange(10_000)
    begun = []

    def fit():
        begun.append(True)
        if len(begun) == 1:
            threading.Timer(0.5, cluster.workers[0].kill).start()
        return Parallel(n_jobs=2)(delayed(work.summed)(array, item) for item in range(10))

    assert fitted_on(cluster.address, fit) == [int(array.sum()) + item for item in range(10)]
    assert ("training begins anew" in capsys.readouterr().err) == (len(begun) > 1)
    assert fitted_on(None, lambda: 3) == 3


def test_workers_without_the_package_are_one_sentence(tmp_path, data_dir, capsys):
    """The package is there and cannot be imported, as where a dependency of it is missing."""
    (tmp_path / "pacb_models").mkdir()
    (tmp_path / "pacb_models/__init__.py").write_text("import nothing_of_this_name\n")
    bare = Cluster(tmp_path, tmp_path)
    try:
        out = tmp_path / "x.csv"
        command = ["train", "haberman", "--count", "4", "--data", str(data_dir), "--out", str(out)]
        assert main([*command, "--dask", bare.address]) == 2
        (line,) = capsys.readouterr().err.splitlines()[-1:]
        assert "the workers cannot run pacb-models" in line and "nothing_of_this_name" in line
        assert not out.exists()
    finally:
        bare.close()


def test_solvers_that_a_worker_lacks_are_named():
    assert solver_complaint(pm.__version__, ["frontier"]) == ""
    assert solver_complaint(pm.__version__, ["frontier", "oracle"]) == "cannot run the solver 'oracle'"
    assert solver_complaint("0.0", []).startswith("has pacb-models")


def test_reproduction_on_a_cluster_is_the_same_and_survives_a_killed_worker(cluster, tmp_path):
    item = ITEMS["change-of-measure"]

    def kill_one(what, done, total):
        if what == "change of measure" and done == 5:
            cluster.workers[0].kill()

    here, there = tmp_path / "here", tmp_path / "there"
    compute([item], Study(embedded_tables()), here, resume=False)
    compute([item], Study(embedded_tables(), dask=cluster.address, report=kill_one), there, resume=False)
    name = "results/change-of-measure.json"
    assert cluster.workers[0].poll() is not None
    assert (there / name).read_bytes() == (here / name).read_bytes()


def test_no_cluster_is_one_sentence(data_dir, tmp_path, capsys):
    with pytest.raises(InputError, match="no Dask scheduler answers there"):
        list(spread(abs, range(3), "tcp://127.0.0.1:9"))
    command = ["train", "haberman", "--count", "4", "--data", str(data_dir), "--out", str(tmp_path / "x.csv")]
    assert main([*command, "--dask", "tcp://127.0.0.1:9"]) == 2
    assert "no Dask scheduler answers there" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "x.csv").exists()
