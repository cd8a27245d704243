"""Mutation testing of the formulas: change one operator or number at a time, and see whether the tests notice.

    python tools/mutants.py [--sample 15] [--seed 0] [--only binary_kl ...] [--out build/mutants]

Cosmic Ray makes the mutants; a random sample of each part is tried, in a copy of the checkout, with the tests of that
part. Survivors are printed with their difference and written to a file: each asks for a test, or for a word why it
changes nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from namespace import ROOT, link_namespace

#: Part -> (file or folder that is changed, tests that must notice).
PARTS = {
    "problem": ("pacb_models/problem.py", ["pacb_models/test_problem.py", "pacb_models/test_optimality.py"]),
    "distances": ("pacb_models/distances.py", ["pacb_models/test_distances.py", "pacb_models/test_optimality.py"]),
    "divergences": (
        "pacb_models/divergences.py",
        ["pacb_models/test_divergences.py", "pacb_models/test_opt*.py"],
    ),
    "binary_kl": ("pacb_models/binary_kl.py", ["pacb_models/test_binary_kl.py"]),
    "constants": ("pacb_models/constants", ["pacb_models/test_constants*.py"]),
    "optimality": ("pacb_models/optimality.py", ["pacb_models/test_optimality.py"]),
    "certificates": ("pacb_models/certificates", ["pacb_models/test_certificates*.py"]),
    "frontier": ("solvers/exact/frontier", ["solvers/test_frontier.py", "pacb_models/test_many.py"]),
}
#: Operators whose mutants say nothing: `|` stands in annotations only, which are never evaluated.
MEANINGLESS = ("core/ReplaceBinaryOperator_BitOr", "core/RemoveDecorator")
#: Seconds after which a mutant counts as noticed: it made something run for ever.
TIMEOUT = 600.0
NOT_SOURCE = shutil.ignore_patterns(".git", ".venv", "build", "dist", "results", "__pycache__", ".*cache")


def main() -> int:
    """Try the sample; 0 whatever survives, since survivors are to be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=15, help="mutants tried of each part (default 15)")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to try (default all)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants", help="folder for the survivors")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(ROOT, copy, ignore=NOT_SOURCE, symlinks=True)
        link_namespace(copy)
        all_tried = all_surviving = 0
        for part in options.only:
            tried, survivors, total = try_part(part, copy, options.sample, options.seed)
            all_tried, all_surviving = all_tried + tried, all_surviving + len(survivors)
            (options.out / f"{part}.txt").write_text("\n".join(survivors))
            print(f"{part}: {len(survivors)} of {tried} survive ({total} mutants in all)", flush=True)
            print("\n".join(survivors), flush=True)
    print(f"noticed: {all_tried - all_surviving} of {all_tried}")
    return 0


def try_part(part: str, copy: Path, sample: int, seed: int) -> tuple[int, list[str], int]:
    """How many mutants of a part were tried, the survivors' differences, and how many there are."""
    from cosmic_ray.commands import execute
    from cosmic_ray.config import deserialize_config
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    target, tests = PARTS[part]
    session, config_file = copy / f"{part}.sqlite", copy / f"{part}.toml"
    test_files = [str(path) for pattern in tests for path in sorted((copy / "tests").glob(pattern))]
    # -P: the copy's own folders are found through the links only, so that solvers and benchmarks are the copy's too.
    command = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *test_files]
    config_file.write_text(
        f'[cosmic-ray]\nmodule-path = "{target}"\ntimeout = {TIMEOUT}\nexcluded-modules = []\n'
        f'test-command = "{shlex.join(command)}"\n[cosmic-ray.distributor]\nname = "local"\n'
    )
    os.chdir(copy)
    os.environ.update(PYTHONPATH=str(copy / "build" / "namespace"), PYTHONDONTWRITEBYTECODE="1", CI="true")
    # Tests that fail before anything is changed would count every mutant as noticed.
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-m", "cosmic_ray.cli", "init", config_file, session], check=True)
    config = deserialize_config(config_file.read_text())
    with use_db(session, WorkDB.Mode.open) as work:
        every = [item.job_id for item in work.work_items]
        telling = [
            item.job_id
            for item in work.work_items
            if not any(mutation.operator_name.startswith(MEANINGLESS) for mutation in item.mutations)
        ]
        chosen = set(random.Random(seed).sample(telling, min(sample, len(telling))))
        work.set_multiple_results(
            [job for job in every if job not in chosen], WorkResult(WorkerOutcome.SKIPPED, output="not in the sample")
        )
        execute(work, config)
        survivors = [result.diff for job, result in work.results if job in chosen and not result.is_killed]
    return len(chosen), survivors, len(telling)


if __name__ == "__main__":
    sys.exit(main())
