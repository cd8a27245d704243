"""Check proofs about weighted majority votes, and all others: ``python votes.py FILE ...``; verify.py lies beside it.

A_ij is the share of examples on which the classifiers i and j both err, and s(q) = Σ q_i q_j A_ij the empirical risk of
pairs. Their size is V = T², or V = 2 KL, and the bound is F(s, V), F as in verify.py.

4. s is convex, since A is positive semidefinite: s >= l·q - s_0 for the risks l = 2 A q_0, s_0 = s(q_0) and any q_0. If
   A + σ is positive definite, it is so with s_0 + σ (1 + |q_0|²) for q_0 >= 0, since |q - q_0|² <= 1 + |q_0|².
5. T² >= 2 τ T - τ² for any τ. So a line T + γ l·q >= h of verify.py is T² + 2 τ γ s >= 2 τ (h - γ s_0) - τ² for pairs,
   and KL + γ l·q >= h is 2 KL + 2 γ s >= 2 (h - γ s_0).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flint import arb, fmpq, fmpq_mat, fmpz_mat

if TYPE_CHECKING or __package__:
    from . import verify
else:
    import verify


class Pairs(verify.Stated):
    """A bound on the risk of pairs. Its risks, those of single classifiers, do not tell which of them are alike."""

    def __init__(self, record: dict[str, Any], log_constant: Any) -> None:
        super().__init__(record, log_constant)
        self.distinct = True

    def read_risks(self, record: dict[str, Any]) -> list[fmpq]:
        """Return the diagonal of A: EᵀE/m with the errors E on each example, or without them the doubles."""
        rows, errors, self.shift = record["tandem_risks"], record["errors"], fmpq(0)
        counts: list[Any] = [None] * len(rows)
        if errors is not None:
            found = fmpz_mat([["01".index(digit) for digit in example] for example in errors])
            shape = found.nrows(), found.ncols()
            verify.wanted(shape == (self.m, len(rows)), "errors are not those of m examples")
            counts = [list(map(int, row)) for row in (found.transpose() * found).tolist()]
        reader = super().read_risks
        matrix = [reader({"risks": row, "errors": count}) for row, count in zip(rows, counts)]
        self.matrix = fmpq_mat(matrix)
        verify.wanted(self.matrix == self.matrix.transpose(), "tandem_risks are not symmetric")
        if errors is None and any(map(any, rows)):
            # Rounding has moved each number by at most 2^-54.
            self.shift = fmpq(1, 2**52) * len(rows) * sum(row[i] for i, row in enumerate(matrix))
            verify.decide(indefinite, matrix, self.shift)
        return [row[i] for i, row in enumerate(matrix)]

    def beside(self, q: Sequence[fmpq]) -> list[fmpq]:
        """Return A q."""
        return (self.matrix * fmpq_mat(len(q), 1, list(q))).entries()

    def measure(self, q: dict[int, fmpq]) -> tuple[arb, arb]:
        """Return s and V of a posterior."""
        _, size = super().measure(q)
        beside = self.beside([q.get(i, fmpq(0)) for i in range(self.size)])
        return arb(sum(w * beside[i] for i, w in q.items())), 2 * size if self.order is None else size**2


class PairLines(verify.Part):
    """Posteriors with lines for pairs. The weights q_0 of a tangent stand after a line's multipliers."""

    def __init__(self, problem: Pairs, inside: frozenset[int], outside: frozenset[int]) -> None:
        super().__init__(problem, inside, outside)
        self.pairs = problem
        self.smallest = arb(0)

    def line(self, gamma: Any, theta: Any, tau: Any, *rest: Any) -> tuple[arb, arb]:
        """Return slope and height of the line for pairs."""
        pairs, rows = self.pairs, len(self.rows)
        point = [verify.exact(weight) for weight in rest[rows:]]
        verify.wanted(len(point) == pairs.size and min(point) >= 0, "a tangent has no weight for each classifier")
        half = pairs.beside(point)
        least = 2 * min(half)
        below = sum(map(fmpq.__mul__, point, half)) + pairs.shift * (1 + sum(weight**2 for weight in point))
        self.least, self.excess = least - below, [arb(2 * half[i] - least) for i in self.first]
        slope, height = super().line(gamma, theta, tau, *rest[:rows])
        costs = [arb(verify.exact(gamma)) * y + tilt for y, tilt in zip(self.excess, self.tilts(rest[:rows]))]
        if gamma > 0:
            # The multipliers of a steep line are those of the smallest risk, nearly.
            found = self.cheapest(costs) / arb(verify.exact(gamma)) + self.least
            self.smallest = self.smallest.max(found.lower()) if found.is_finite() else self.smallest
        steep, size = (2, arb(0)) if pairs.order is None else (2 * arb(verify.exact(tau)), arb(verify.exact(tau)))
        return steep * slope, steep * height - size**2

    def floor(self, *multipliers: Any) -> arb:
        """Return a number that no risk of pairs is below, as the lines have it."""
        return self.smallest


def indefinite(matrix: list[list[fmpq]], shift: fmpq) -> str | None:
    """Return why a symmetric matrix plus a multiple of one is not positive definite, by its pivots: "" if balls do not
    say."""
    rows = [[arb(row[i] + shift), *map(arb, row[i + 1 :])] for i, row in enumerate(matrix)]
    for k, row in enumerate(rows):
        if not row[0] > 0:
            return "tandem_risks are not positive semidefinite" if row[0] < 0 else ""
        for i in range(1, len(row)):
            factor = row[i] / row[0]
            rows[k + i] = [other - factor * each for other, each in zip(rows[k + i], row[i:])]
    return None


verify.KINDS["tandem"] = (Pairs, PairLines)

__all__ = ["verify"]

if __name__ == "__main__":
    sys.exit(verify.say(verify.verify, sys.argv[1:]))
