"""Rows per second of ``pacb certify --predictions`` beside pyarrow's own scan of the same files, and its memory.

    python -m pacb_models.benchmarks.studies.speed.predictions [--rows 20000000] [--columns 20] [--format parquet]

A data set is generated in a temporary folder, in files of two million rows. Scanning reads every column and looks at
none. Each runs in a process of its own, whose largest memory is printed: it must not grow with the rows.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

ROWS_PER_FILE = 2_000_000
TARGET = "label"


def write(folder: Path, rows: int, columns: int, kind: str) -> int:
    """Labels of three classes and predictions with 1 to 30 % errors; the bytes written."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    random = np.random.default_rng(0)
    for number, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        size = min(ROWS_PER_FILE, rows - start)
        truth = random.integers(0, 3, size, dtype=np.int8)
        table = {TARGET: truth}
        for k in range(columns):
            wrong = random.random(size, dtype=np.float32) < 0.01 + 0.29 * k / columns
            table[f"c{k}"] = np.where(wrong, (truth + 1) % 3, truth).astype(np.int8)
        path = folder / f"{number:05d}.{kind}"
        if kind == "csv":
            pa.csv.write_csv(pa.table(table), path)
        else:
            pa.parquet.write_table(pa.table(table), path)
    return sum(path.stat().st_size for path in folder.iterdir())


def scan(folder: str, kind: str) -> tuple[float, float]:
    """Seconds of pyarrow's scan, and the process's largest memory in MB."""
    import pyarrow.dataset as ds

    start = time.perf_counter()
    for batch in ds.dataset(folder, format=kind).to_batches(batch_size=1 << 17):
        batch.num_rows  # noqa: B018
    return time.perf_counter() - start, _largest_memory()


def count(folder: str, kind: str) -> tuple[float, float]:
    """The same of counting the errors."""
    import pyarrow.csv
    import pyarrow.dataset  # noqa: F401  imported beforehand on both sides

    from pacb_models.certificates.prediction_files import count_errors

    start = time.perf_counter()
    count_errors([folder], TARGET)
    return time.perf_counter() - start, _largest_memory()


def _largest_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print both rates and their ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=20, help="classifiers")
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--repeats", type=int, default=3, help="runs in turns, of which the shortest counts (3)")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="predictions-"))
    try:
        size = write(folder, options.rows, options.columns, options.format)
        print(f"{options.rows:,} rows of {options.columns} classifiers, {options.format}, {size / 2**20:.0f} MB")
        best = {scan: (float("inf"), 0.0), count: (float("inf"), 0.0)}
        for _ in range(options.repeats):
            for action in best:
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    best[action] = min(best[action], pool.submit(action, str(folder), options.format).result())
        for name, (seconds, memory) in (("pyarrow's scan", best[scan]), ("error counts", best[count])):
            print(f"{name:<15} {seconds:7.2f} s  {options.rows / seconds / 1e6:7.2f} million rows/s  {memory:6.0f} MB")
        print(f"{best[scan][0] / best[count][0]:.2f} of the scan's rate")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
