"""Are moment constants of proofs large enough? ``python moments.py FILE ...``; verify.py and votes.py lie beside it.

A bound is valid when I >= sup over l of E[g(φ(k/m, l))], k ~ Binomial(m, l), where g(φ) = φ^α', or e^(nφ) for KL. A
one-sided constant counts φ as zero where l < k/m, and will do. Here are

* numbers that the supremum does not exceed, where there is a formula (:func:`above`);
* intervals that cover all l, on each of which the one-sided moment is at most the constant (:func:`uncovered`);
* where that fails, the one-sided moment at some l, which the supremum is not below (:func:`below`).
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flint import arb, arb_series, ctx, fmpq

if TYPE_CHECKING or __package__:
    from .votes import verify
else:
    from votes import verify

#: Larger samples take too long.
LARGEST_SAMPLE = 10_000

#: Terms that are e^-40 of the whole need not be known exactly.
NEGLIGIBLE = 40
#: Intervals of so few standard deviations are not divided any more.
NARROW = 1e-9
KL = verify.DISTANCES["kl"]
#: Risks at which a constant that may be too small is compared with the moment, nearer and nearer to where it may be.
TRIES = 40


def binomial(m: int, k: int, l: fmpq) -> arb:
    """Return ln of C(m, k) l^k (1-l)^(m-k), for 0 < l < 1."""
    ways = arb(m + 1).lgamma() - arb(k + 1).lgamma() - arb(m - k + 1).lgamma()
    return ways + k * arb(l).log() + (m - k) * arb(1 - l).log()


def above(m: int, distance: str, order: Any) -> arb | None:
    """Return ln of a number that the supremum does not exceed; None without a formula."""
    if order is None and distance in ("kl", "pinsker", "relative"):
        # The moment of kl does not depend on l, and the others are below kl where l is above k/m.
        inner = (binomial(m, k, fmpq(k, m)).exp() for k in range(1, m))
        return sum(inner, arb(2)).log()
    if order is None and distance == "linear":
        # E e^(ml - k) = (e^l (1 - cl))^m with c = 1 - 1/e, which is largest where 1 - cl = c.
        c = 1 - arb(-1).exp()
        return m * ((1 - c) / c + c.log())
    if order == 2 and distance == "linear":
        return (arb(1) / (4 * m)).log()
    if order == 2 and distance == "squared":
        # With v = l(1-l) <= 1/4 the fourth central moment of k/m is v (1 + 3(m-2)v) / m³.
        return (arb(fmpq(1, 12) if m == 1 else fmpq(3 * m - 2, 16 * m**3))).log()
    return None


def below(terms: Terms, l: fmpq) -> arb:
    """Return ln of the one-sided moment at a risk."""
    total = arb(0 if terms.power else 1)
    for k in range(int((l * terms.m).ceil())):
        total += (binomial(terms.m, k, l) + terms.log_g(terms.phi(arb(fmpq(k, terms.m)), arb(l)))).exp()
    return total.log()


def uncovered(terms: Terms, number: arb) -> tuple[float, float] | None:
    """Return where the one-sided moment is not shown to be at most e^number, and the deviation of k/m there; None:
    nowhere."""
    start, step = 0.0, 0.2
    while start < 1.0:
        # The standard deviation of k/m, but for the ends.
        deviation = math.sqrt((start * (1.0 - start) + 1.0 / terms.m) / terms.m)
        end = min(start + step * deviation, 1.0)
        a, b = fmpq(*start.as_integer_ratio()), fmpq(*end.as_integer_ratio())
        together = max(round(deviation * terms.m / 4), 1)
        if terms.largest(a, b, number - NEGLIGIBLE, together) <= number or (
            (b - a) * terms.m < 1 and terms.taylor(a, b) <= number
        ):
            start, step = end, 1.5 * step
        elif step < NARROW:
            return start, deviation
        else:
            step /= 2.0
    return None


@dataclass(frozen=True)
class Terms:
    """The one-sided moment Σ P_k(l) g_k(l) over k < ml, g = φ^α'; for KL 1 + Σ P_k(l) g_k(l), g = e^(nφ) - 1."""

    m: int
    distance: str
    order: Any

    @cached_property
    def power(self) -> fmpq | None:
        """α'."""
        return None if self.order is None else self.order / (self.order - 1)

    @property
    def rate(self) -> int:
        """n."""
        return 2 * self.m - 1 if self.distance == "ch" else self.m

    @cached_property
    def at_mean(self) -> list[arb]:
        """ln c_k, the largest P_k = c_k e^(-D); D = m kl(k/m, l)."""
        return [arb(0) if k in (0, self.m) else binomial(self.m, k, fmpq(k, self.m)) for k in range(self.m + 1)]

    def phi(self, mean: arb, l: Any) -> arb:
        return verify.DISTANCES[self.distance](mean, l)

    def log_g(self, value: arb) -> arb:
        return self.power * value.log() if self.power else (self.rate * value).expm1().log()

    def term(self, k: int, last: int, a: fmpq, b: fmpq) -> arb:
        """Return ln of a number that no term from k to last is above on [a, b]; k is last if that is not below ma."""
        mean, end, m = arb(fmpq(k, self.m)), fmpq(last, self.m), self.m
        deviance = m * KL(arb(end), arb(a)) if end < a else arb(0)
        if self.distance == "kl" and self.power:
            # e^(-D) (D/m)^α' is largest at the D that is nearest to α'.
            x = (m * self.phi(mean, arb(b))).min(arb(self.power)).max(deviance)
            return (self.at_mean[k] if k == last else 0) - x + self.log_g(x / m)
        # The largest P_k, which increases with k below ma, times the largest g_k.
        return self.at_mean[last] - deviance + self.log_g(self.phi(mean, arb(b)))

    def largest(self, a: fmpq, b: fmpq, least: arb, together: int) -> arb:
        """Return ln of a number that the moment does not exceed on [a, b]; terms below the least are added up
        together."""
        total, last, width = arb(0 if self.power else 1), int((b * self.m).ceil()) - 1, 1
        while last >= 0:
            k = max(last - width + 1, 0) if fmpq(last, self.m) < a else last
            term = self.term(k, last, a, b)
            total += (last - k + 1) * term.exp()
            width, last = together if term < least else 1, k - 1
        return total.log()

    def taylor(self, a: fmpq, b: fmpq) -> arb:
        """Return the same by M(c) + |M'(c)| r + sup M'' r²/2, but for the terms whose k/m is in the interval."""
        first, last = int((a * self.m).ceil()), int((b * self.m).ceil())
        thin, fat = (self.series(each, first) for each in (arb((a + b) / 2), arb(a).union(arb(b))))
        radius = (b - a) / 2
        inside = sum((self.term(k, k, a, b).exp() for k in range(first, last)), arb(0))
        return (thin[0] + abs(thin[1]) * radius + fat[2].max(arb(0)) * radius**2 + inside).log()

    def series(self, risk: arb, count: int) -> arb_series:
        """Return Taylor's series of the first terms at a risk, or of all those in a ball."""
        l, total = arb_series([risk, 1], 3), arb_series([0 if self.power else 1], 3)
        for k in range(count):
            mean = arb(fmpq(k, self.m))
            divergence = KL(mean, arb(1) / 2) - mean * (2 * l).log() - (1 - mean) * (2 - 2 * l).log()
            value = divergence if self.distance == "kl" else self.phi(mean, l)
            chance = self.at_mean[k] - self.m * divergence
            grown = chance + (self.power * value.log() if self.power else self.rate * value)
            total += grown.exp() if self.power else grown.exp() - chance.exp()
        return total


def judge(m: int, distance: str, order: Any, given: fmpq) -> tuple[int, str]:
    """0, 1 or 2 and a sentence: whether the logarithm of a constant is large enough, or not, or this is not known."""
    if m > LARGEST_SAMPLE:
        return 2, f"the constant is not recomputed for more than {LARGEST_SAMPLE} examples"
    number, terms = arb(given), Terms(m, distance, order)
    limit = above(m, distance, order)
    if limit is not None and number >= limit:
        return 0, f"the constant is large enough: the logarithm of the supremum is at most {float(limit.upper()):.12g}"
    found = uncovered(terms, number)
    if found is None:
        return 0, "the constant is large enough: at no risk the one-sided moment is larger"
    start, deviation = found
    width, rest = min(deviation, 1.0 - start), 1.0 - start
    for l in (l for j in range(1, TRIES) for l in (start + width / 2**j, 1.0 - rest / 2**j)):
        least = below(terms, fmpq(*l.as_integer_ratio())) if l < 1.0 else number
        if number < least:
            return 1, f"the constant is too small: at l = {l:.6g} the logarithm is {float(least):.12g}"
    return 2, f"whether the constant is above the one-sided moment near l = {start:.6g} is not known"


def constant(file: str) -> tuple[int, str]:
    """Return the answer on the constant of a file, and a sentence."""
    try:
        record = json.loads(Path(file).read_bytes(), object_pairs_hook=verify.once)
        ctx.prec = verify.PRECISIONS[0]
        problem = verify.KINDS[record["problem"]["problem_kind"]][0](record["problem"], record["log_constant"])
    except Exception as reason:
        return verify.UNDECIDED, f"it is no proof that can be read ({type(reason).__name__}: {reason!s:.200})"
    return judge(problem.m, problem.distance, problem.order, problem.log_constant)


if __name__ == "__main__":
    sys.exit(verify.say(constant, sys.argv[1:]))
