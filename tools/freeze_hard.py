"""How the collections were made: ``python tools/freeze_hard.py FILE.csv``, with ``hard``, ``constrained`` or ``gaps``.

Every family is given parameters from easy to hard, for several bounds and sizes. Two-minima instances are tuned: δ is
moved until the two minima differ by a given amount, from 10⁻² down to 10⁻⁶. Each optimum is certified by the exact
solver; an instance without a certificate is refused. The files in the package are frozen: running this again is for a
new collection under another name, since results on the old one are compared over years.
"""

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count, cycle, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from pacb_models import BoundProblem, InputError, Solution, solve
from pacb_models.benchmarks.problems.families.collection import COLUMNS, CONSTRAINED, GAPS, HARD, data_digest
from pacb_models.benchmarks.problems.families.generators import FAMILIES, Draws
from pacb_models.files import write_atomically

#: Bounds above this are as good as vacuous; a two-minima instance has both minima below it.
NEARLY_VACUOUS = 0.95

#: The smallest and largest δ that tuning may arrive at.
DELTAS = (1e-6, 0.5)


class Kind(NamedTuple):
    """A divergence with its order, and a distance."""

    divergence: str
    order: float
    distance: str

    @property
    def arguments(self) -> dict[str, Any]:
        """As keywords of a problem."""
        order = {"order": self.order} if self.divergence == "renyi" else {}
        return {"divergence": self.divergence, "distance": self.distance, **order}

    @property
    def label(self) -> str:
        """As part of a name."""
        order = f"{self.order:g}" if self.divergence == "renyi" else ""
        return f"{self.divergence}{order}-{self.distance}"


CHI2 = tuple(Kind("chi2", 2.0, distance) for distance in ("linear", "squared", "kl"))
RENYI = tuple(Kind("renyi", order, distance) for order in (1.5, 3.0, 6.0) for distance in ("squared", "kl"))
KL = tuple(Kind("kl", 1.0, distance) for distance in ("squared", "kl", "pinsker", "ch"))


#: Family, kind and arguments of an instance.
Specification = tuple[str, Kind, dict[str, Any]]


def specifications() -> Iterator[Specification]:
    """Family, kind and arguments of every instance that is not tuned."""
    # Cycles of lengths without common factors: every kind meets every size.
    mixed = (CHI2[1], CHI2[2], RENYI[3], KL[1])
    sizes = cycle((50, 1000, 200))
    samples = cycle((100, 500, 2000, 200, 1000))
    yield from _grid("ties", mixed, levels=(2, 5, 20), count=sizes, m=samples)
    yield from _grid("near-ties", mixed, step=(1e-6, 1e-9, 1e-11), count=sizes, m=samples)
    no_errors = (CHI2[1], CHI2[2], RENYI[1], RENYI[3], KL[1])
    yield from _grid("no-errors", no_errors, zeros=(1, 3, 10), count=sizes, m=cycle((60, 300)))
    prior_kinds = (CHI2[0], CHI2[1], CHI2[2], KL[1])
    yield from _grid("extreme-prior", prior_kinds, share=(1e-6, 1e-9, 1e-12, 1e-15), count=sizes, m=samples)
    small = (CHI2[1], CHI2[2], RENYI[3])
    yield from _grid("tiny-sample", small, m=(1, 3, 5, 10), count=cycle((30, 300)), delta=cycle((0.2,)))
    yield from _grid("confident", mixed, delta=(1e-3, 1e-4, 1e-6), count=sizes, m=cycle((5000, 20_000)))
    large = (10_000, 100_000, 1_000_000)
    yield from _grid("many", (CHI2[2], KL[1]), count=large, m=cycle((2000,)), prior=cycle(("random",)))
    extreme = [Kind("renyi", order, "kl") for order in (1.001, 1.01, 1.1, 12.0, 40.0, 100.0)]
    extreme += [Kind("renyi", order, "squared") for order in (1.01, 1.1, 12.0, 40.0)]
    yield from _grid("orders", extreme, count=(50, 500), m=cycle((400,)))
    yield from _grid(
        "rare-errors", (KL[1], KL[0], CHI2[2]), most=(2, 3), least=(0, 1), count=sizes, m=cycle((100, 1000))
    )


def _grid(family: str, kinds: Iterable[Kind], **parameters: Any) -> Iterator[Specification]:
    """Every kind with every combination of the parameters given as tuples; those given as cycles take turns."""
    listed = {name: values for name, values in parameters.items() if isinstance(values, tuple)}
    turning = {name: values for name, values in parameters.items() if name not in listed}
    seed = 0
    for values in product(*listed.values()):
        for kind in kinds:
            seed += 1
            arguments = {
                "seed": seed,
                **dict(zip(listed, values)),
                **{name: next(turn) for name, turn in turning.items()},
            }
            yield family, kind, {"delta": 0.05, **arguments}


def tuned() -> Iterator[Specification]:
    """The two-minima instances: δ such that the minima are a given distance apart, the lone classifier's ahead two
    times out of three.
    """
    gaps, signs = cycle((1e-2, 1e-3, 1e-4, 1e-5, 1e-6)), cycle((-1.0, -1.0, 1.0))
    narrow = cycle((1e-3, 1e-4, 1e-5, 1e-6))
    draws = Draws(19)
    kinds = [*(11 * CHI2[1:]), *(5 * RENYI), *(4 * KL)]
    for seed, kind in enumerate(sorted(kinds, key=kinds.index), 1):
        # With the KL divergence the two minima of a bound are never far apart.
        target = next(signs) * next(narrow if kind.divergence == "kl" else gaps)
        while True:
            arguments = {"seed": seed, **_random_one_good(draws, kind)}
            delta = _tune("one-good", kind, arguments, target)
            if delta is not None:
                break
        yield "one-good", kind, {**arguments, "delta": delta}


def _random_one_good(draws: Draws, kind: Kind) -> dict[str, Any]:
    """Sizes and errors at random; whether they have two minima is for :func:`_tune` to find out."""

    def pick(*choices: Any) -> Any:
        return choices[int(draws.integers(1, 0, len(choices) - 1)[0])]

    if kind.divergence == "kl":
        count, m, prior = pick(500, 2000, 5000), pick(20, 40, 60), "uniform"
        good, spread = pick(0, 1, 2), 0
        poor = good + int(draws.integers(1, m // 8, m // 2)[0])
    else:
        count, m = pick(20, 50, 100, 200, 500, 1000, 2000), pick(20, 40, 60, 100, 200, 500, 1000)
        good, prior = int(draws.integers(1, 0, m // 10)[0]), pick("uniform", "random")
        poor = int(draws.integers(1, good + m // 8 + 1, 2 * m // 3)[0])
        spread = int(draws.integers(1, 0, min(poor - good - 1, m // 50))[0])
    return {"count": count, "m": m, "good": good, "poor": poor, "spread": spread, "prior": prior}


def _tune(family: str, kind: Kind, arguments: dict[str, Any], target: float) -> float | None:
    """The δ, to twelve digits, where the bound of the minimum of least risk less that of the other is ``target``."""
    problem = FAMILIES[family](**arguments, **kind.arguments)

    def excess(log_delta: float) -> float | None:
        difference = _two_minima(solve(problem.replace(delta=math.exp(log_delta)), "frontier"))
        return None if difference is None else difference - target

    low, high = map(math.log, DELTAS)
    grid = [low + (high - low) * k / 20 for k in range(21)]
    for (a, f_a), (b, f_b) in pairwise((x, excess(x)) for x in grid):
        if f_a is not None and f_b is not None and (f_a > 0.0) != (f_b > 0.0):
            return _bisect(excess, a, b, falls=f_a > 0.0)
    return None


def _two_minima(solution: Solution) -> float | None:
    """With exactly two minima that say something: by how much the one of smaller risk has the larger bound."""
    if len(solution.local_minima) != 1 or solution.local_minima[0].bound > NEARLY_VACUOUS:
        return None
    other = solution.local_minima[0]
    gap = other.bound - solution.bound
    return -gap if solution.empirical_risk < other.empirical_risk else gap


def _bisect(excess: Callable[[float], float | None], low: float, high: float, falls: bool) -> float | None:
    """The root of a monotone function in twelve digits; None where the function is not defined on the way."""
    while high - low > 1e-13:
        middle = 0.5 * (low + high)
        value = excess(middle)
        if value is None:
            return None
        low, high = (middle, high) if (value > 0.0) == falls else (low, middle)
    return float(f"{math.exp(0.5 * (low + high)):.12g}")


#: Kind, factor, m, δ and errors of the staircases: what a group's posterior costs rises from step to step as its risk
#: falls, so that the bounds of the groups are about the same.
STAIRCASES = (
    (CHI2[1], 30, 50, 0.3, [1, 21, 30]),
    (CHI2[1], 20, 1000, 0.3, [59, 201, 268, 300]),
    (CHI2[2], 10, 50, 0.1, [4, 15, 22]),
    (CHI2[2], 20, 1000, 0.3, [89, 207, 269, 300]),
    (RENYI[2], 10, 50, 0.3, [6, 22, 30]),
    (RENYI[2], 20, 1000, 0.3, [66, 421, 551, 600]),
    (RENYI[3], 10, 50, 0.3, [0, 14, 22]),
    (RENYI[3], 10, 1000, 0.3, [76, 201, 268, 300]),
)


def staircases() -> Iterator[Specification]:
    """Instances with three or four minima."""
    for kind, factor, m, delta, errors in STAIRCASES:
        count = sum(factor**step for step in range(len(errors)))
        yield "staircase", kind, {"seed": 0, "count": count, "m": m, "delta": delta, "factor": factor, "errors": errors}


def found() -> Iterator[Specification]:
    """Instances that have two minima by chance, close to each other but not the same: the first seeds that do."""
    # Of 2000 seeds in each of five settings, the one where the better minimum is ahead most and lies away from where
    # local methods start.
    first = {"seed": 1225, "count": 2000, "m": 796, "worst": 200, "prior": "skewed", "delta": 0.3}
    yield "natural", RENYI[3], first
    small = {"count": 200, "m": 100, "worst": 50, "delta": 0.05}
    large = {"count": 1000, "m": 500, "worst": 200, "delta": 0.05}
    for kind in (CHI2[2], RENYI[1], RENYI[3], RENYI[4], RENYI[5]):
        yield "natural", kind, _first(kind, 1e-6, 1e-2, **small)
    for kind in (RENYI[1], RENYI[5]):
        yield "natural", kind, _first(kind, 1e-6, 1e-2, **large)


def _first(kind: Kind, least: float, most: float, **arguments: Any) -> dict[str, Any]:
    """The arguments with the first seed whose bound has two minima that far apart."""
    for seed in range(1, 5000):
        chosen = {"seed": seed, **arguments}
        solution = solve(FAMILIES["natural"](**chosen, **kind.arguments), "frontier")
        if solution.local_minima and least <= solution.local_minima[0].bound - solution.bound <= most:
            return chosen
    raise InputError(f"no seed below 5000 has two minima that close: {kind}, {arguments}.")


#: Kinds of the constrained instances, in turn.
MIXED = (CHI2[2], RENYI[3], CHI2[1], KL[1], CHI2[2], KL[0], CHI2[0])


def constrained() -> Iterator[Specification]:
    """Budgets, caps and small supports; every other one is searched for until it has several minima."""
    convex, other = Draws(26), Draws(27)
    families = (("budget", _random_budget, convex), ("caps", _random_caps, convex), ("sparse", _random_sparse, other))
    for family, draw, draws in families:
        kinds = cycle(MIXED)
        for seed in range(1, 13):
            kind = next(kinds)
            several = seed % 2 == 1 and kind.divergence != "kl" and kind.distance != "linear"
            while True:
                arguments = {"seed": seed, **draw(_Pick(draws), seed)}
                solution = solve(FAMILIES[family](**arguments, **kind.arguments), "frontier")
                told = [other for other in solution.local_minima if other.bound - solution.bound >= 1e-5]
                if solution.is_global and solution.bound < NEARLY_VACUOUS and (told or not several):
                    break
            yield family, kind, arguments


class _Pick:
    """Draws one of some choices, or a whole number between two."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws

    def one(self, *choices: Any) -> Any:
        return choices[self.between(0, len(choices) - 1)]

    def between(self, low: int, high: int) -> int:
        return int(self.draws.integers(1, low, high)[0])


#: Numbers of classifiers, in turn.
FEW = (4, 20, 30, 60, 10, 40)


def _few_good(pick: _Pick, seed: int) -> dict[str, Any]:
    m = pick.one(40, 60, 100, 200)
    good = pick.between(0, m // 10)
    poor = pick.between(good + m // 5, 2 * m // 3)
    known = {"count": FEW[seed % len(FEW)], "m": m, "good": good, "poor": poor, "spread": pick.between(0, m // 40)}
    return {**known, "delta": pick.one(0.01, 0.05, 0.2), "prior": pick.one("uniform", "random")}


def _random_budget(pick: _Pick, seed: int) -> dict[str, Any]:
    rows = pick.one(1, 2, 3)
    return {**_few_good(pick, seed), "goods": 1, "limits": [pick.between(40, 95) for _ in range(rows)]}


def _random_caps(pick: _Pick, seed: int) -> dict[str, Any]:
    known = _few_good(pick, seed)
    cap, goods = pick.one((0.9, 1), (0.5, 1), (0.45, 2), (0.3, 2))
    floor = pick.one(0.0, 0.0, 1.0 / 1024.0)
    return {**known, "goods": goods, "cap": cap, "floor": floor}


def _random_sparse(pick: _Pick, seed: int) -> dict[str, Any]:
    m = pick.one(40, 100, 200)
    count = FEW[seed % len(FEW)]
    limit = {"at_most": pick.between(2, max(count // 4, 2))} if seed % 3 else {"total": pick.between(80, 200)}
    known = {"count": count, "m": m, "worst": m // 2, "delta": pick.one(0.01, 0.05, 0.2), **limit}
    return {**known, "prior": pick.one("uniform", "random", "skewed")}


def frozen_line(family: str, kind: Kind, arguments: dict[str, Any], number: int) -> dict[str, Any]:
    """A line of the collection; refuses what is not certified."""
    complete = {**arguments, **kind.arguments}
    problem: BoundProblem = FAMILIES[family](**complete)
    solution = solve(problem, "frontier")
    if not solution.is_global:
        raise InputError(f"{family} {complete}: {solution.message}")
    return {
        "name": f"{family}-{number:02d}-H{problem.size}-{kind.label}",
        "family": family,
        "arguments": json.dumps(complete, sort_keys=True),
        "digest": data_digest(problem),
        "optimum": repr(solution.bound),
        "minima": 1 + len(solution.local_minima),
        "second_minimum": repr(solution.local_minima[0].bound) if solution.local_minima else "",
    }


def hard() -> Iterator[Specification]:
    """The collection of bounds over all posteriors."""
    yield from (*tuned(), *staircases(), *found(), *specifications())


#: How many kinds meet every gap, for each number of classifiers.
RIVALS = {10: 5, 100: 6, 1000: 6, 10_000: 6, 100_000: 2}
APART = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def gaps() -> Iterator[Specification]:
    """Two minima that are 10⁻² to 10⁻⁷ apart; the one of smaller risk is ahead two times out of three. First groups of
    nearly equal risks, then 300 classifiers whose risks differ much."""
    yield from _apart(RIVALS, _Pick(Draws(40)), first=1, narrow=50)
    yield from _apart({300: 3}, _Pick(Draws(41)), first=151, narrow=6)


def _apart(numbers: dict[int, int], pick: _Pick, first: int, narrow: int) -> Iterator[Specification]:
    """So many kinds for each size and gap; risks of poor classifiers differ by up to one part in ``narrow`` of m."""
    kinds, signs, seeds = cycle((*CHI2[1:], *RENYI, *KL[:3])), cycle((-1.0, -1.0, 1.0)), count(first)
    for size, gap in product(numbers, APART):
        for _ in range(numbers[size]):
            yield _first_rivals(kinds, pick, next(seeds), size, narrow, next(signs) * gap)


def _first_rivals(
    kinds: Iterator[Kind], pick: _Pick, seed: int, size: int, narrow: int, target: float
) -> Specification:
    """The first draw whose minima can be that far apart; after twelve draws the next kind is tried."""
    while True:
        kind = next(kinds)
        for _ in range(12):
            m = pick.one(40, 100, 200, 500, 1000, 2000)
            good = pick.between(0, m // 10)
            arguments = {
                "seed": seed,
                "count": size,
                "m": m,
                "goods": max(size // pick.one(10, 30, 100, 300, 1000), 1),
                "good": good,
                "poor": pick.between(good + m // 8 + 1, 2 * m // 3),
                "spread": pick.between(0, m // narrow),
                "prior": pick.one("uniform", "random") if size < 10_000 else "uniform",
            }
            if arguments["spread"] < arguments["poor"]:
                delta = _tune("rivals", kind, arguments, target)
                if delta is not None:
                    return "rivals", kind, {**arguments, "delta": delta}


def lines(collection: str) -> Iterator[dict[str, Any]]:
    """A whole collection."""
    numbers: dict[str, int] = {}
    for family, kind, arguments in {HARD: hard, CONSTRAINED: constrained, GAPS: gaps}[collection]():
        numbers[family] = numbers.get(family, 0) + 1
        yield frozen_line(family, kind, arguments, numbers[family])


def main(path: str) -> None:
    """Write the collection that the file is called after."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(lines(Path(path).stem))
    write_atomically(path, text.getvalue())


if __name__ == "__main__":
    main(sys.argv[1])
