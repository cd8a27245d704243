"""Are moment constants of proofs large enough? ``python moments.py FILE ...``; verify.py and votes.py lie beside it.

A bound is valid when I >= sup over l of E[g(φ(k/m, l))], k ~ Binomial(m, l), where g(φ) = φ^α', or e^(nφ) for KL. A
one-sided constant counts φ as zero where l < k/m, and will do. Here are

* numbers that the supremum does not exceed, where there is a formula (:func:`above`);
* the one-sided moment at some l, which the supremum is not below (:func:`below`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flint import arb, ctx, fmpq

if TYPE_CHECKING or __package__:
    from .votes import verify
else:
    from votes import verify

#: Larger samples take too long.
LARGEST_SAMPLE = 10_000
#: Risks at which the moment is looked at: these, and some errors out of m.
RISKS, ERRORS = (fmpq(1, 2), fmpq(3, 10), fmpq(1, 10), fmpq(1, 100), fmpq(9, 10)), (fmpq(1, 2), fmpq(2), fmpq(27, 10))

Distance = Callable[[arb, arb], arb]


def binomial(m: int, k: int, l: fmpq) -> arb:
    """ln of C(m, k) l^k (1-l)^(m-k), for 0 < l < 1."""
    ways = arb(m + 1).lgamma() - arb(k + 1).lgamma() - arb(m - k + 1).lgamma()
    return ways + k * arb(l).log() + (m - k) * arb(1 - l).log()


def above(m: int, distance: str, order: Any) -> arb | None:
    """ln of a number that the supremum does not exceed; None without a formula."""
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


def below(m: int, phi: Distance, order: Any, rate: int, l: fmpq) -> arb:
    """ln of the one-sided moment at a risk."""
    true, total = arb(l), arb(0)
    for k in range(m + 1):
        value = phi(arb(fmpq(k, m)), true) if fmpq(k, m) < l else arb(0)
        if order is None:
            total += (binomial(m, k, l) + rate * value).exp()
        elif value > 0:
            total += binomial(m, k, l).exp() * value ** (order / (order - 1))
    return total.log()


def judge(m: int, distance: str, phi: Distance, order: Any, given: fmpq) -> tuple[int, str]:
    """0, 1 or 2 and a sentence: whether the logarithm of a constant is large enough, or not, or this is not known."""
    if m > LARGEST_SAMPLE:
        return 2, f"the constant is not recomputed for more than {LARGEST_SAMPLE} examples"
    number, rate = arb(given), 2 * m - 1 if distance == "ch" else m
    limit = above(m, distance, order)
    if limit is not None and number >= limit:
        return 0, f"the constant is large enough: the logarithm of the supremum is at most {float(limit.upper()):.12g}"
    for l in (*RISKS, *(errors / m for errors in ERRORS if errors < m)):
        least = below(m, phi, order, rate, l)
        if number < least:
            return 1, f"the constant is too small: at l = {float(arb(l)):.6g} the logarithm is {float(least):.12g}"
    return 2, "the constant is above the moment at some risks; whether it is above the supremum is not known"


def constant(file: str) -> tuple[int, str]:
    """The answer on the constant of a file, and a sentence."""
    try:
        record = json.loads(Path(file).read_bytes(), object_pairs_hook=verify.once)
        ctx.prec = verify.PRECISIONS[0]
        problem = verify.KINDS[record["problem"]["problem_kind"]][0](record["problem"], record["log_constant"])
    except Exception as reason:
        return verify.UNDECIDED, f"it is no proof that can be read ({type(reason).__name__}: {reason!s:.200})"
    phi = verify.DISTANCES[problem.distance]
    return judge(problem.m, problem.distance, phi, problem.order, problem.log_constant)


if __name__ == "__main__":
    sys.exit(verify.say(constant, sys.argv[1:]))
