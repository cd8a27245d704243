"""How long the frontier solver takes: in units of ``numpy.argsort`` of the same risks, of other solvers, and in µs.

    python -m pacb_models.benchmarks.speed.frontier [--sizes 1000000 10000000] [--repeats 5] [--without-solvers]

Four tables from one run, every time the shortest of several alternating repeats, so that both sides of a ratio see the
machine in the same state:

* large sets of different risks: the search itself (``run``: posterior included) and the whole ``pm.solve``, which
  evaluates bound and KKT residual anew, against ``numpy.argsort`` of the risks; and the most memory either needs beyond
  the problem itself, in arrays of as many floats as there are risks;
* large sets of error counts over a thousand examples: ``pm.solve``, which merges equal risks, for a problem given by
  its risks and one given by its counts, against ``numpy.argsort`` of these risks and of as many different ones;
* fifty classifiers: microseconds per ``pm.solve`` for every bound, and to build the problem;
* a hundred thousand classifiers: Clarabel on the linear bound and Ipopt's lifted formulation on kl, their time to build
  a model included.
"""

from __future__ import annotations

import argparse
import os
import tracemalloc
from collections.abc import Callable

# One thread for every side, set before NumPy is imported: on a busy machine BLAS threads wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import pacb_models as pm
from pacb_models.solvers.exact.frontier import SOLVER

from .timing import best_seconds


def peak_arrays(action: Callable[[], object], size: int) -> float:
    """The most memory an action holds, in arrays of ``size`` floats."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / (8 * size)
    finally:
        tracemalloc.stop()


def make_problem(size: int, distance: str, random_prior: bool = False, divergence: str = "chi2") -> pm.BoundProblem:
    """Uniform risks, a thousand examples."""
    generator = np.random.default_rng(0)
    risks = generator.random(size)
    prior = generator.random(size) + 1e-3 if random_prior else None
    problem = pm.BoundProblem(
        risks, 1000, 0.05, distance, divergence, None if prior is None else prior / prior.sum(), order=3.0
    )
    problem.coefficient  # noqa: B018 (the constant is computed once, and remembered)
    return problem


def large_sets(sizes: list[int], repeats: int) -> None:
    print(
        "risks      prior    bound         argsort s    run s  x argsort   solve s  x argsort  peak arrays run, solve"
    )
    bounds = [(divergence, distance) for divergence, distances in SOLVER.handles.items() for distance in distances]
    for size in sizes:
        for random_prior in (False, True):
            for divergence, distance in bounds:
                problem = make_problem(size, distance, random_prior, divergence)
                actions = {
                    "argsort": lambda problem=problem: np.argsort(problem.risks),
                    "run": lambda problem=problem: SOLVER.run(problem),
                    "solve": lambda problem=problem: pm.solve(problem, "frontier"),
                }
                seconds = best_seconds(actions, repeats)
                sort = seconds["argsort"]
                peaks = [peak_arrays(actions[name], size) for name in ("run", "solve")]
                bound = f"{divergence}-{distance}"
                print(
                    f"{size:<10d} {'random' if random_prior else 'uniform':8s} {bound:13s} {sort:10.3f} "
                    f"{seconds['run']:9.3f} {seconds['run'] / sort:10.2f} {seconds['solve']:11.3f} "
                    f"{seconds['solve'] / sort:8.2f} {peaks[0]:12.1f} {peaks[1]:9.1f}"
                )


def merged_sets(sizes: list[int], repeats: int) -> None:
    print("\nequal risks merged")
    print("counts     prior    bound            argsort s   of different    risks s  x argsort   counts s  x argsort")
    for size in sizes:
        generator = np.random.default_rng(0)
        errors = generator.binomial(1000, generator.beta(2.0, 5.0, size))
        weights = generator.random(size) + 1e-3
        for prior in (None, weights / weights.sum()):
            for divergence, distances in SOLVER.handles.items():
                for distance in distances:
                    arguments = {"distance": distance, "divergence": divergence, "prior": prior, "order": 3.0}
                    counted = pm.BoundProblem.from_counts(errors, 1000, **arguments)
                    measured = counted.replace(risks=counted.risks)
                    pm.solve(measured)
                    actions = {
                        "argsort": lambda measured=measured: np.argsort(measured.risks),
                        "different": lambda weights=weights: np.argsort(weights),
                        "risks": lambda measured=measured: pm.solve(measured),
                        "counts": lambda counted=counted: pm.solve(counted),
                    }
                    sort, other, risks, counts = best_seconds(actions, repeats).values()
                    bound = f"{divergence}-{distance}"
                    print(
                        f"{size:<10d} {'uniform' if prior is None else 'random':8s} {bound:14s} {sort:11.4f} "
                        f"{other:14.4f} {risks:10.4f} {risks / sort:10.2f} {counts:10.4f} {counts / sort:10.2f}"
                    )


def fifty_classifiers(repeats: int) -> None:
    print("\nH = 50     distance   solve µs   of which run   build the problem µs")
    for divergence, distances in SOLVER.handles.items():
        for distance in distances:
            problem = make_problem(50, distance, divergence=divergence)
            actions = {
                "solve": lambda problem=problem: pm.solve(problem, "frontier"),
                "run": lambda problem=problem: SOLVER.run(problem),
                "build": lambda problem=problem: problem.replace(),
            }
            best = best_seconds(actions, 100 * repeats)
            solve, run, build = (1e6 * best[name] for name in actions)
            print(f"{divergence:10s} {distance:9s} {solve:9.0f} {run:14.0f} {build:18.0f}")


def other_solvers(repeats: int) -> None:
    print("\nH = 100000")
    for distance, name in (("linear", "cvxpy"), ("kl", "ipopt"), ("kl", "cyipopt")):
        problem = make_problem(100_000, distance)
        reason = pm.available_solvers(problem)[name]
        if reason:
            print(f"{distance:8s} {name}: {reason}")
            continue
        ours = best_seconds({"ours": lambda problem=problem: pm.solve(problem, "frontier")}, repeats)["ours"]
        theirs = pm.solve(problem, name, merge=False)
        total, gap = theirs.seconds + theirs.setup_seconds, theirs.bound - pm.solve(problem, "frontier").bound
        print(
            f"{distance:8s} frontier {ours:.4f} s, {name} {theirs.seconds:.2f} + {theirs.setup_seconds:.2f} s to build "
            f"({theirs.status}, bound larger by {gap:.1e}): {theirs.seconds / ours:.0f} times as long, "
            f"{total / ours:.0f} with building"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[10**6, 10**7])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without-solvers", action="store_true", help="leave out the comparison with other solvers")
    options = parser.parse_args()
    large_sets(options.sizes, options.repeats)
    merged_sets(options.sizes, options.repeats)
    fifty_classifiers(options.repeats)
    if not options.without_solvers:
        other_solvers(options.repeats)


if __name__ == "__main__":
    main()
