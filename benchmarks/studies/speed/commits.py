"""The exact solver of this checkout beside that of an earlier commit, in turns: ratios of times in one run.

    python -m pacb_models.benchmarks.studies.speed.commits --commit 458629e [--sizes 50 1990 1000000] [--rounds 5]

Each commit is laid out in a folder of its own and measured in a process of its own, one after the other, round after
round; the best time of each counts. The second time is what ``pm.solve`` spends outside of the method. Large sets are
also set against a sort of the same risks.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import product
from pathlib import Path

from ..kept_rows import options

ROOT = Path(__file__).resolve().parents[3]
PAIRS = [pair.split("-") for pair in "chi2-linear chi2-squared chi2-kl renyi-kl kl-linear kl-kl kl-ch".split()]

#: What a process of either commit runs: the best seconds of each pair and of a sort, and those outside of the method.
PROGRAM = """
import json, sys, time
import numpy as np
import pacb_models as pm
size, pairs = json.loads(sys.argv[1])
def best(function, count):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        result = function()
        seconds = time.perf_counter() - began
        times.append((seconds, seconds - getattr(result, "seconds", 0.0)))
    return [min(column) for column in zip(*times)]
risks = np.random.default_rng(0).beta(4, 16, size)
count = max(3, min(200, 100_000 // size))
found = {"argsort": best(lambda: np.argsort(risks), 3)}
for divergence, distance in pairs:
    problem = pm.BoundProblem(risks, m=549, distance=distance, divergence=divergence, order=3.0)
    problem.coefficient
    found[f"{divergence}-{distance}"] = best(lambda: pm.solve(problem, "frontier"), count)
    if size > 10_000:
        counts = pm.BoundProblem.from_counts(np.rint(549 * risks).astype(int), 549, distance=distance,
            divergence=divergence, order=3.0)
        found[f"{divergence}-{distance}, merged"] = best(lambda: pm.solve(counts, "frontier"), count)
print(json.dumps(found))
"""


def best_seconds_of(checkout: Path, size: int) -> dict[str, list[float]]:
    """Return the best seconds in a process that imports the package from a checkout."""
    # Earlier commits stumble over a __pycache__ in the folder that they lay out.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    output = partial(subprocess.check_output, env=environment, text=True)
    layout = "import sys; sys.path.insert(0, 'tools'); from namespace import link_namespace; print(link_namespace())"
    folder = environment["PYTHONPATH"] = output([sys.executable, "-c", layout], cwd=checkout).strip()
    found = output([sys.executable, "-c", PROGRAM, json.dumps([size, PAIRS])], cwd=folder)
    return dict[str, list[float]](json.loads(found))


def main() -> None:
    """Print a line for each bound and size."""
    given = options(__doc__, commit="HEAD~1", sizes=(50, 1990, 1_000_000), rounds=3)
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        subprocess.run(["git", "worktree", "add", "--detach", "-q", earlier, given.commit], cwd=ROOT, check=True)
        try:
            for size in given.sizes:
                best: dict[Path, dict[str, list[float]]] = {earlier: {}, ROOT: {}}
                for _, (checkout, kept) in product(range(given.rounds), best.items()):
                    for name, found in best_seconds_of(checkout, size).items():
                        kept[name] = list(map(min, found, kept.get(name, found)))
                print(f"H = {size}")
                for name, (seconds, outside) in best[ROOT].items():
                    sorts = f"  {seconds / best[ROOT]['argsort'][0]:6.2f} sorts" if size > 10_000 else ""
                    ratio = f"{seconds / best[earlier][name][0]:5.2f} of the earlier"
                    print(f"  {name:<22} {1e6 * seconds:10.0f} µs, outside {1e6 * outside:6.0f}  {ratio}{sorts}")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", earlier], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
