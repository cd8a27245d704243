"""Check proofs that no posterior has a smaller PAC-Bayesian bound than a number: ``python verify.py FILE ...``

It needs Python and python-flint only. Numbers of a proof are exact rationals. What follows is computed in balls, with a
proven error. A comparison counts if it is true of all numbers in the balls; otherwise their bits are doubled.

A posterior q has the empirical risk L = Σ q_i l_i and the size T = KL = Σ q_i ln(q_i/p_i), or T = (Σ p_i
(q_i/p_i)^α)^(1/α) for an order α > 1. Its bound is F(L, T) = sup {r : φ(L, r) <= b(T)}. What is believed is this:
1. φ is jointly convex and increases in r above L, and b is linear in T: F is jointly concave, increases in T, F >= L.
2. Hölder, 1/α + 1/α' = 1: T >= Σ q_i u_i / (Σ p_i u_i^α')^(1/α') for any u >= 0, where sums run over a support of q.
   Donsker and Varadhan: KL >= Σ q_i u_i - ln Σ p_i e^(u_i) for any u.
3. Weak duality: Σ c_i q_i >= t + Σ min((c_i - t) lo_i, (c_i - t) up_i) for weights between lo and up that sum to one
   and any t; Σ_S w_i <= t R + Σ (w_i - t s_i)_+ for supports S whose sizes s_i sum to at most R and any t >= 0.
So every line T + γ L >= h below holds, whatever numbers it was made from. docs/proofs.md has proofs and the format.
"""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from flint import arb, ctx, fmpq

PROVEN, REFUTED, UNDECIDED = range(3)
#: Bits of the balls, one after the other until every comparison is decided.
PRECISIONS = (106, 212, 424, 848)
#: By how much a posterior may break a row (relative to its largest |a_i - b|), a cap or a floor; it is said how much.
TOLERANCE = fmpq(1, 10**9)


class NotProven(Exception):
    """Why a file is refuted or undecided."""


def wanted(truth: bool, otherwise: str) -> None:
    if not truth:
        raise ValueError(otherwise)


def exact(value: Any, typed: bool = False) -> fmpq:
    """Return a finite double itself as a rational; sizes as they are typed, so that three of 0.1 fit into 0.3."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is no finite number")
    return fmpq(*(Fraction(repr(value)) if typed else value).as_integer_ratio())


def distribution(weights: list[fmpq]) -> list[fmpq]:
    """Return weights over their sum, which rounding keeps from being one."""
    total = sum(weights, fmpq(0))
    wanted(min(weights, default=total) > 0 and abs(total - 1) < TOLERANCE, "weights are no distribution")
    return [each / total for each in weights]


#: φ(l, r) for r >= l: jointly convex, zero at r = l, increasing in r.
DISTANCES: dict[str, Callable[[arb, arb], Any]] = {
    "linear": lambda l, r: r - l,
    "squared": lambda l, r: (r - l) ** 2,
    "pinsker": lambda l, r: 2 * (r - l) ** 2,
    "ch": lambda l, r: (r - l) ** 2 + 2 * (r - l) ** 4 / 9 + 16 * (r - l) ** 6 / 135,
    "kl": lambda l, r: (
        arb.pos_inf() if r >= 1 else sum(a * (a / b).log() for a, b in ((l, r), (1 - l, 1 - r)) if not a.is_zero())
    ),
    "relative": lambda l, r: (r - l) ** 2 / (2 * r),
}

#: The fields of a constraint: another one might limit what is not looked at.
FIELDS = {"average": "values at_most at_least name", "weights": "at_most at_least", "support": "at_most sizes total"}


class Stated:
    """A bound, with the moment constant of the file, and the set of posteriors. KL has no order."""

    def __init__(self, record: dict[str, Any], log_constant: Any) -> None:
        divergence, self.distance = record["divergence"], record["distance"]
        covered = divergence in ("chi2", "renyi", "kl") and self.distance in DISTANCES and record["schema"] in (1, 2, 3)
        wanted(covered, f"{[self.distance, divergence]!r:.80} is not covered")
        wanted(record["order"] == {"chi2": 2, "kl": 1}.get(divergence, record["order"]), "the order is another one")
        self.order = None if divergence == "kl" else exact(record["order"])
        self.m, self.delta, self.log_constant = record["m"], exact(record["delta"]), exact(log_constant)
        in_range = type(self.m) is int and self.m >= 1 and 0 < self.delta < 1 and (self.order is None or self.order > 1)
        wanted(in_range, "m, delta or the order is out of range")
        self.risks, self.distinct = self.read_risks(record), False
        self.size = len(self.risks)
        self.prior = distribution(self.each(record["prior"], 1 / self.size))
        self.lower, self.upper = [fmpq(0)] * self.size, [fmpq(1)] * self.size
        self.rows, self.sizes, self.total = list[tuple[list[fmpq], fmpq]](), list[fmpq](), fmpq(0)
        for given in record.get("constraints", ()):
            self.constrain(given["kind"], given, given.get("at_most"), given.get("at_least"))

    def read_risks(self, record: dict[str, Any]) -> list[fmpq]:
        """Return errors over m, or without them the doubles."""
        risks, errors = record["risks"], record["errors"]
        wanted(errors is None or [k / self.m for k in errors] == risks, "errors are not the risks times m")
        found = [exact(risk) for risk in risks] if errors is None else [fmpq(k, self.m) for k in errors]
        wanted(min(found, default=-1) >= 0 and max(found) <= 1, "a risk is not between 0 and 1")
        return found

    def each(self, value: Any, otherwise: float) -> list[fmpq]:
        """Return one rational for each classifier."""
        values = value if isinstance(value, list) else [otherwise if value is None else value] * self.size
        wanted(len(values) == self.size, "a list does not have one number for each classifier")
        return [exact(number) for number in values]

    def constrain(self, kind: str, given: dict[str, Any], most: Any, least: Any) -> None:
        """Add a row a·q <= b, and another one for ``at_least``; caps and floors; a limit on the support."""
        wanted(given.keys() <= {"kind", *FIELDS[kind].split()}, f"{kind} with {sorted(given)} is not covered")
        if kind == "average":
            values = self.each(given["values"], math.nan)
            self.rows += [] if most is None else [(values, exact(most))]
            self.rows += [] if least is None else [([-value for value in values], -exact(least))]
        elif kind == "weights":
            self.upper = list(map(min, self.upper, self.each(most, 1)))
            self.lower = list(map(max, self.lower, self.each(least, 0)))
        else:
            wanted(not self.sizes and ("total" in given) == ("sizes" in given) != ("at_most" in given), "two supports")
            self.sizes = [exact(value, typed=True) for value in given.get("sizes", [1] * self.size)]
            self.total = exact(given.get("total", most), typed=True)
            wanted(len(self.sizes) == self.size and min(self.sizes) >= 0, "sizes are missing or negative")

    def gradient(self, ratio: arb) -> arb:
        """Return the derivative of T for q_i, where q_i/(p_i T) or q_i/p_i is a ratio; for KL without a constant."""
        return ratio.log() if self.order is None else ratio ** (self.order - 1)

    def budget(self, size: arb) -> arb:
        """b(T) = (I/δ)^(1/α') T, or (KL + ln(I/δ))/n."""
        ratio = arb(self.log_constant) - arb(self.delta).log()
        if self.order is not None:
            return size * (ratio * (1 - 1 / self.order)).exp()
        # At m = 1 the companion paper's constant of "ch" is below one, and a budget must not be negative.
        return (size + ratio.max(arb(0))) / (2 * self.m - 1 if self.distance == "ch" else self.m)

    def measure(self, q: dict[int, fmpq]) -> tuple[arb, arb]:
        """Return L and T of a posterior."""
        size = sum((arb(w) * self.gradient(arb(w / self.prior[i])) for i, w in q.items()), arb(0))
        return arb(sum(w * self.risks[i] for i, w in q.items())), size ** (1 / (self.order or 1))

    def violation(self, q: dict[int, fmpq]) -> fmpq:
        """Return by how much a posterior breaks a row, a cap or a floor; one if its support is too large."""
        weights = [q.get(i, fmpq(0)) for i in range(self.size)]
        worst = [*map(fmpq.__sub__, self.lower, weights), *map(fmpq.__sub__, weights, self.upper)]
        for values, limit in self.rows:
            worst.append((sum(map(fmpq.__mul__, weights, values)) - limit) / (max(abs(a - limit) for a in values) or 1))
        return max(fmpq(sum(self.sizes[i] for i in q if self.sizes) > self.total), *worst)

    def compare(self, risk: arb, size: arb, value: arb) -> tuple[bool, bool]:
        """Return whether F(L, T) is at least a value for certain, and whether it is at most; no inverse of φ."""
        excess, budget = value - risk, self.budget(size)
        distance = DISTANCES[self.distance](risk, value)
        return budget >= 0 and (excess <= 0 or distance <= budget), excess >= 0 and distance >= budget

    def posterior_fails(self, q: dict[int, fmpq], bound: fmpq) -> str | None:
        """Return why the bound of a posterior is not at most a number: "" where the balls do not say."""
        at_least, at_most = self.compare(*self.measure(q), arb(bound))
        return None if at_most else "the bound of the posterior is larger than is said" if at_least else ""


class Part:
    """The posteriors that have no weight outside, and room in their support for what is inside, in balls. Classifiers
    with equal numbers are added up where the support has no limit: they enter all sums alike. Where it has one, what is
    larger than the room has no weight, and the room is a multiple of the common divisor of the other sizes."""

    def __init__(self, problem: Stated, inside: frozenset[int], outside: frozenset[int]) -> None:
        self.problem, prior, lower, sizes = problem, problem.prior, problem.lower, problem.sizes
        self.room = problem.total - sum(sizes[i] for i in inside if sizes)
        without = outside | {i for i, size in enumerate(sizes) if i not in inside and size > self.room}
        upper = [fmpq(0) if i in without else most for i, most in enumerate(problem.upper)]
        self.is_empty = sum(upper) < 1 or sum(lower) > 1 or any(map(fmpq.__gt__, lower, upper))
        groups: dict[Any, list[int]] = {}
        for i, most in enumerate(upper):
            if most:
                alike = [problem.risks[i], lower[i] / prior[i], most / prior[i] if most < 1 else fmpq(-1)]
                alike += [values[i] for values, _ in problem.rows]
                groups.setdefault(i if sizes or problem.distinct else tuple((x.p, x.q) for x in alike), []).append(i)
        self.first = first = [group[0] for group in groups.values()]
        self.least, self.excess = (least := min(problem.risks)), [arb(problem.risks[i] - least) for i in first]
        self.rows = [[arb(values[i] - limit) for i in first] for values, limit in problem.rows]
        self.p, self.lower, self.upper = (
            [arb(sum(numbers[i] for i in group)) for group in groups.values()] for numbers in (prior, lower, upper)
        )
        self.capped = [upper[i] < 1 for i in first]
        self.inside, self.sizes = [i in inside for i in first], [sizes[i] for i in first if sizes]
        whole = math.lcm(1, *(int(size.q) for size in self.sizes))
        unit = math.gcd(*(int((size * whole).p) for size, held in zip(self.sizes, self.inside) if not held))
        self.room = fmpq((self.room * whole / unit).floor() * unit, whole) if unit else self.room

    def tilts(self, multipliers: Sequence[Any]) -> list[arb]:
        """Σ ν_j (a_ij - b_j) for ν >= 0: their average is at most zero for every posterior that keeps the rows."""
        nu = [arb(exact(each)) for each in multipliers]
        wanted(len(nu) == len(self.rows) and all(each >= 0 for each in nu), "a multiplier is missing or negative")
        return [sum((each * row[i] for each, row in zip(nu, self.rows)), arb(0)) for i in range(len(self.p))]

    def heaviest(self, terms: list[arb]) -> arb:
        """Return a number that no sum of terms >= 0 over an allowed support exceeds; t is where room is sold out."""
        if not self.sizes:
            return sum(terms, arb(0)).upper()
        items = [(term, size) for term, size, held in zip(terms, self.sizes, self.inside) if not held]
        price, left = arb(0), self.room
        for term, size in sorted(items, key=lambda item: item[0] / item[1] if item[1] else arb.pos_inf(), reverse=True):
            price, left = abs((term / size).mid()) if left >= 0 and left < size else price, left - size
        paid = sum((term for term, held in zip(terms, self.inside) if held), price * self.room)
        return sum(((term - price * size).max(arb(0)) for term, size in items), paid).upper()

    def cheapest(self, prices: list[arb]) -> arb:
        """Return a number that Σ c_i q_i is not below, from the price at which the weights are sold out."""
        price, left = arb(0), 1 - sum(self.lower)
        for i in sorted(range(len(prices)), key=lambda i: prices[i].mid()):
            if not left <= 0:
                price, left = prices[i].mid(), left - (self.upper[i] - self.lower[i])
        rest = (((c - price) * low).min((c - price) * high) for c, low, high in zip(prices, self.lower, self.upper))
        return sum(rest, price)

    def line(self, gamma: Any, theta: Any, tau: Any, *multipliers: Any) -> tuple[arb, arb]:
        """Return slope and height of the line of u_i = θ - c_i, held between the gradients of T at the floor and at the
        cap of q_i, where T is τ; with the costs c_i = γ (l_i - min l) + Σ ν_j (a_ij - b_j)."""
        order, slope, start = self.problem.order, arb(exact(gamma)), arb(exact(theta))
        size = arb(1 if order is None else exact(tau))
        wanted(slope >= 0 and size > 0, "a slope or a size is negative")
        costs = [slope * y + tilt for y, tilt in zip(self.excess, self.tilts(multipliers))]
        u = [start - cost if order is None else (start - cost).max(arb(0)) for cost in costs]
        for i, (p, low, high) in enumerate(zip(self.p, self.lower, self.upper)):
            u[i] = u[i].max(self.problem.gradient(low / p / size)) if low > 0 else u[i]
            u[i] = u[i].min(self.problem.gradient(high / p / size)) if self.capped[i] else u[i]
        level = self.cheapest(list(map(arb.__add__, u, costs))) + slope * self.least
        if order is None:
            return slope, level - self.heaviest([p * each.exp() for p, each in zip(self.p, u)]).log()
        power = 1 / (1 - 1 / order)
        norm = self.heaviest([p * each.upper() ** power for p, each in zip(self.p, u)]) ** (1 / power)
        return slope / norm, level / norm

    def floor(self, *multipliers: Any) -> arb:
        """Return a number that no empirical risk is below."""
        return self.cheapest(list(map(arb.__add__, self.excess, self.tilts(multipliers)))) + self.least

    def pieces(self, leaf: dict[str, Any], value: fmpq) -> Iterator[tuple[fmpq, fmpq, arb, arb]]:
        """Yield intervals that cover all empirical risks below the value, with a line for each: the upper envelope of
        the lines through the midpoints of the balls, which is not relied on."""
        lines = [line for line in (self.line(*each) for each in leaf["lines"]) if all(map(arb.is_finite, line))]
        lines.append((arb(0), arb(0 if self.problem.order is None else 1)))
        rest = [(slope.mid().fmpq(), height.mid().fmpq(), slope, height) for slope, height in lines]
        start = max(self.floor(*leaf["floor"]).lower().fmpq(), fmpq(0))
        while start < value:
            steep, high, slope, height = max(rest, key=lambda line: (line[1] - line[0] * start, -line[0]))
            rest = [line for line in rest if line[0] < steep]
            end = min([value, *((high - line[1]) / (steep - line[0]) for line in rest)])
            yield start, end, slope, height
            start = end


#: What proofs may be about; votes.py adds another kind.
KINDS: dict[str, tuple[type[Stated], type[Part]]] = {"bound": (Stated, Part)}


def leaves_of(node: Any, size: int, inside: Any, outside: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the leaves of a tree, what is in the support and what is not; weight on a classifier goes in."""
    if "split" not in node:
        yield node, inside, outside
        return
    i = node["split"]
    wanted(type(i) is int and 0 <= i < size, f"the tree splits at {i!r:.40}, which is no classifier")
    yield from leaves_of(node["out"], size, inside, outside | {i})
    yield from leaves_of(node["in"], size, inside | {i}, outside)


def leaf_fails(kind: Any, problem: Stated, leaf: dict[str, Any], inside: Any, outside: Any, value: fmpq) -> str | None:
    """Return why a leaf does not prove that its bounds are at least a value: "" where the balls do not say."""
    part, said, failure = kind(problem, inside, outside), leaf.get("empty"), None
    if part.is_empty or (said == "sizes" and part.room < 0):
        return None
    if said is not None:
        lowest = part.cheapest(part.tilts(said)) if said and said != "sizes" else arb(0)
        return None if lowest > 0 else "posteriors that are said not to exist may" if lowest <= 0 else ""
    # F is concave along a line, so that the ends of its pieces will do.
    for start, end, slope, height in part.pieces(leaf, value):
        for risk in (start, end):
            size = height - slope * risk
            at_least, at_most = problem.compare(arb(risk), size, arb(value))
            if at_most and not at_least:
                return f"lines leave L = {float(arb(risk)):.10g}, T = {float(size):.10g}, where the bound is smaller"
            failure = failure if at_least else ""
    return failure


def decide(fails: Callable[..., str | None], *arguments: Any) -> None:
    """Ask with more and more bits; what fails for certain is refuted, if not with the fewest bits."""
    for ctx.prec in PRECISIONS:
        if (failure := fails(*arguments)) is None:
            return
        if failure and ctx.prec > PRECISIONS[0]:
            raise NotProven(REFUTED, failure)
    raise NotProven(UNDECIDED, f"balls of {ctx.prec} bits do not decide a comparison")


def check(record: dict[str, Any]) -> str:
    """Return what a proof proves, in a sentence."""
    wanted(record["format"] == "pacb-proof" and record["version"] == 1, "the format is not pacb-proof, version 1")
    text = json.dumps(record["problem"], sort_keys=True, separators=(",", ":")).encode()
    wanted(record["problem_digest"] == hashlib.sha256(text).hexdigest(), "problem_digest is that of another problem")
    wanted(record["problem"]["problem_kind"] in KINDS, "it is not about a bound; proofs about votes need votes.py")
    kind, part = KINDS[record["problem"]["problem_kind"]]
    problem = kind(record["problem"], record["log_constant"])
    lower, bound, posterior = exact(record["lower_bound"]), exact(record["bound"]), record["posterior"]
    named, weights = posterior["classifiers"], distribution(list(map(exact, posterior["weights"])))
    sensible = len(set(named)) == len(named) == len(weights)
    wanted(sensible and all(type(i) is int and 0 <= i < problem.size for i in named), "classifiers of the posterior")
    q = dict(zip(named, weights))
    if (broken := problem.violation(q)) > TOLERANCE:
        raise NotProven(REFUTED, "the posterior does not keep the constraints")
    decide(problem.posterior_fails, q, bound)
    if lower > bound:
        raise NotProven(REFUTED, "the lower bound is above the bound of the posterior")
    for leaf, inside, outside in leaves_of(record["tree"], problem.size, frozenset(), frozenset()):
        decide(leaf_fails, part, problem, leaf, inside, outside, lower)
    breaks = f" and breaks a constraint by {float(arb(broken)):.1e}" if broken > 0 else ""
    found = f"no posterior is below {record['lower_bound']}; this posterior has {record['bound']}{breaks}"
    return f"proven: {found}; gap {float(arb(bound - lower)):.1e}; the constant is taken as given"


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, in which no name stands twice: readers would differ about its value."""
    wanted(len(dict(pairs)) == len(pairs), "a name stands twice in an object")
    return dict(pairs)


def verify(file: str) -> tuple[int, str]:
    """Return the answer on a file, and a sentence."""
    try:
        return PROVEN, check(json.loads(Path(file).read_bytes(), object_pairs_hook=once))
    except NotProven as reason:
        return reason.args[0], f"{('proven', 'refuted', 'undecided')[reason.args[0]]}: {reason.args[1]}"
    except Exception as reason:
        return UNDECIDED, f"undecided: it is no proof that can be read ({type(reason).__name__}: {reason!s:.200})"


def say(answer: Callable[[str], tuple[int, str]], files: Sequence[str]) -> int:
    """0: all files are proven; 1: one is refuted; 2: one is undecided or cannot be read, and none is refuted."""
    codes = []
    for file in files:
        code, sentence = answer(file)
        print(f"{file}: {sentence}", flush=True)
        codes.append(code)
    return REFUTED if REFUTED in codes else max(codes, default=UNDECIDED)


if __name__ == "__main__":
    sys.exit(say(verify, sys.argv[1:]))
