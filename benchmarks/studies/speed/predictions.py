"""Rows per second of ``pacb certify --predictions`` beside pyarrow's own scan of the same files, and its memory.

    python -m pacb_models.benchmarks.studies.speed.predictions [--rows 20000000] [--columns 20] [--format parquet]

A data set (``parquet`` or ``csv``) is generated in a temporary folder, in files of two million rows. Scanning reads
every column and looks at none. Each runs in a process of its own, whose largest memory is printed: it must not grow
with the rows.
"""

import resource
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from ..kept_rows import options
from .timing import apart

ROWS_PER_FILE = 2_000_000
TARGET = "label"


def write(folder: Path, rows: int, columns: int, kind: str) -> int:
    """Return labels of three classes and predictions with 1 to 30 % errors; the bytes written."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    random = np.random.default_rng(0)
    save = {"csv": pa.csv.write_csv, "parquet": pa.parquet.write_table}[kind]
    for number, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        size = min(ROWS_PER_FILE, rows - start)
        truth = random.integers(0, 3, size, dtype=np.int8)
        table = {TARGET: truth}
        for k in range(columns):
            wrong = random.random(size, dtype=np.float32) < 0.01 + 0.29 * k / columns
            table[f"c{k}"] = np.where(wrong, (truth + 1) % 3, truth).astype(np.int8)
        save(pa.table(table), folder / f"{number:05d}.{kind}")
    return sum(path.stat().st_size for path in folder.iterdir())


def counted_or_scanned(folder: str, kind: str, counting: bool) -> tuple[float, float]:
    """Return seconds of counting the errors, or of pyarrow's scan, and the process's largest memory in MB."""
    import pyarrow.csv  # noqa: F401  imported beforehand on both sides
    import pyarrow.dataset as ds

    from pacb_models.certificates.prediction_files import count_errors

    start = time.perf_counter()
    if counting:
        count_errors([folder], TARGET)
    else:
        for batch in ds.dataset(folder, format=kind).to_batches(batch_size=1 << 17):
            batch.num_rows  # noqa: B018
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print both rates and their ratio."""
    given = options(__doc__, rows=20_000_000, columns=20, format="parquet", repeats=3)
    with tempfile.TemporaryDirectory(prefix="predictions-") as folder:
        size = write(Path(folder), given.rows, given.columns, given.format)
        print(f"{given.rows:,} rows of {given.columns} classifiers, {given.format}, {size / 2**20:.0f} MB")
        best = {False: (float("inf"), 0.0), True: (float("inf"), 0.0)}
        for _, counting in product(range(given.repeats), best):
            found = apart(counted_or_scanned, folder, given.format, counting)
            best[counting] = min(best[counting], found)
    for name, (seconds, memory) in zip(("pyarrow's scan", "error counts"), best.values()):
        print(f"{name:<15} {seconds:7.2f} s  {given.rows / seconds / 1e6:7.2f} million rows/s  {memory:6.0f} MB")
    print(f"{best[False][0] / best[True][0]:.2f} of the scan's rate")


if __name__ == "__main__":
    main()
