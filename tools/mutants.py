"""Mutation testing of what is trusted: change one operator or number at a time, and see whether the tests notice.

    python tools/mutants.py [--sample 15] [--seed 0] [--only distances ...] [--out build/mutants]

Cosmic Ray makes the mutants; a random sample of each part is tried, in a copy of the checkout: with tests that run the
changed line, wherever they are, then with the tests of the part: of the test folder that mirrors its own, those that
are called after it and those that import it. Survivors are printed with their difference and written to a file: each
asks for a test, or for a word why it changes nothing.
"""

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path

from namespace import MAPPED, ROOT, link_namespace

#: The parts that a claim or a certificate rests on: modules or folders, wherever they are.
TRUSTED = (
    *("problem", "optimality", "constants", "distances", "divergences", "numerics", "constraints", "certificates"),
    *("proofs", "exact"),
)
#: Operators whose mutants say nothing: `|` stands in annotations only, which are never evaluated.
MEANINGLESS = ("core/ReplaceBinaryOperator_BitOr", "core/RemoveDecorator")
#: Seconds after which a mutant counts as noticed: it made something run for ever.
TIMEOUT = 600.0
#: -P: the copy's own folders are found through the links only, so that solvers and benchmarks are the copy's too.
PYTEST = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
QUICK = "not outside and not long"
#: Of the tests that run a changed line so many are tried, from all files: about a minute.
MOST = 200
NOT_SOURCE = shutil.ignore_patterns(".git", ".venv", "build", "dist", "results", "__pycache__", ".*cache")


def main() -> int:
    """Try the sample; 0 whatever survives, since survivors are to be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=15, help="mutants tried of each part (default 15)")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    present = [part for part in TRUSTED if target(part)]
    parser.add_argument("--only", nargs="+", choices=present, default=present, help="parts to try (default all)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants", help="folder for the survivors")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(ROOT, copy, ignore=NOT_SOURCE, symlinks=True)
        os.chdir(copy)
        os.environ.update(PYTHONPATH=str(link_namespace(copy)), PYTHONDONTWRITEBYTECODE="1", CI="true")
        running = tests_by_line()
        all_tried = all_surviving = 0
        for part in options.only:
            tried, survivors, total = try_part(part, copy, running, options.sample, options.seed)
            all_tried, all_surviving = all_tried + tried, all_surviving + len(survivors)
            (options.out / f"{part}.txt").write_text("\n".join(survivors))
            print(f"{part}: {len(survivors)} of {tried} survive ({total} mutants in all)", flush=True)
            print("\n".join(survivors), flush=True)
    print(f"noticed: {all_tried - all_surviving} of {all_tried}")
    return 0


def target(part: str, root: Path = ROOT) -> Path | None:
    """The module or folder of that name, the one nearest to the top where there are several; None without one."""
    folders = [root / "pacb_models", *(root / name for name in MAPPED)]
    found = [path for folder in folders for name in (part, f"{part}.py") for path in folder.rglob(name)]
    return min(found, key=lambda path: (len(path.parts), str(path)), default=None)


def tests_of(part: str, root: Path = ROOT) -> list[Path]:
    """Of the folder that mirrors a part's own, the test files that are called after it, and those that import it."""
    place = target(part, root)
    if place is None:
        return []
    # setup.cfg maps the other folders into the package.
    folder, *inner = place.relative_to(root).with_suffix("").parts
    words = inner if folder == "pacb_models" else [folder, *inner]
    imports = re.compile(rf"^\s*(?:from|import) pacb_models\.{re.escape('.'.join(words))}\b", re.MULTILINE)
    every = sorted((root / "tests" / folder).glob("test_*.py"))
    return [path for path in every if path.stem.startswith(f"test_{part}") or imports.search(path.read_text())]


def try_part(
    part: str, copy: Path, running: dict[tuple[Path, int], set[str]], sample: int, seed: int
) -> tuple[int, list[str], int]:
    """How many mutants of a part were tried, the survivors' differences, and how many there are."""
    from cosmic_ray import commands, plugins
    from cosmic_ray.modules import find_modules
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.work_db import WorkDB, use_db

    place, tests = target(part, copy), tests_of(part, copy)
    assert place is not None and tests, part
    with use_db(copy / f"{part}.sqlite", WorkDB.Mode.create) as work:
        commands.init(list(find_modules([place])), work, {})
        every = [item.mutations[0] for item in work.work_items]
    telling = [mutant for mutant in every if not mutant.operator_name.startswith(MEANINGLESS)]
    survivors = []
    chosen = random.Random(seed).sample(telling, min(sample, len(telling)))
    for mutant in chosen:
        path = mutant.module_path.resolve()
        lines = range(mutant.start_pos[0], mutant.end_pos[0] + 1)
        first = sorted({test for line in lines for test in running.get((path, line), ())})
        with use_mutation(mutant.module_path, plugins.get_operator(mutant.operator_name)(), mutant.occurrence) as codes:
            if not noticed(first[:: len(first) // MOST + 1], tests):
                before, after = (code.splitlines() for code in codes)
                survivors.append("\n".join(unified_diff(before, after, str(path.relative_to(copy)), lineterm="")))
    return len(chosen), survivors, len(telling)


def tests_by_line() -> dict[tuple[Path, int], set[str]]:
    """The quick tests that run each line of the package. They have to pass: nothing is changed yet."""
    from coverage import CoverageData

    settings, data = Path("mutants.coveragerc"), Path("mutants.coverage")
    settings.write_text(f"[run]\ndata_file = {data}\nsource = pacb_models, solvers\n")
    measured = [f"--cov-config={settings}", "--cov", "--cov-context=test", "--cov-report=", "-m", QUICK, "-n", "auto"]
    subprocess.run([*PYTEST, *measured, "tests/pacb_models", "tests/solvers"], check=True, stdout=subprocess.DEVNULL)
    contexts = CoverageData(data)
    contexts.read()
    return {
        (Path(path), line): {name.rpartition("|")[0] for name in names} - {""}
        for path in contexts.measured_files()
        for line, names in contexts.contexts_by_lineno(path).items()
    }


def noticed(first: list[str], tests: list[Path]) -> bool:
    """Whether a test fails: of those that run the changed line, then of all that need no other process.

    A line may run once for several tests, which share what was computed; all tests need all lines of a module.
    """
    from cosmic_ray.testing import TestOutcome, run_tests

    stages = ([["-m", QUICK, *first]] if first else []) + [["-m", "not outside", *map(str, tests)]]
    return any(run_tests(shlex.join([*PYTEST, *stage]), TIMEOUT)[0] != TestOutcome.SURVIVED for stage in stages)


if __name__ == "__main__":
    sys.exit(main())
