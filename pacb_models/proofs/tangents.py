r"""Lines for votes: where the empirical risk is the convex :math:`s(q) = q^T A q`, and the size is that of the pairs.

A row :math:`\gamma, \theta, \tau` has, after the multipliers of constraints, the weights :math:`q_0 \ge 0` at which
the tangents are taken; any will do. With :math:`l = 2 A q_0` and :math:`s_0 = q_0^T A q_0` the empirical risk is at
least :math:`l \cdot q - s_0`, since ``A`` is positive semidefinite. The size of the pairs is a convex increasing
function :math:`g(T)`, at least :math:`g(\tau) + g'(\tau)\,(T - \tau)`. The row's line for classifiers with the risks
``l``, :math:`T + \gamma' l \cdot q \ge h`, is so one for the pairs, :math:`\beta = g'(\tau)\,\gamma'`:

.. math:: g(T) + \beta s \ge g(\tau) - g'(\tau)\,\tau + g'(\tau)\,h - \beta s_0 .
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..plugins import ours
from .checker import ROUNDED, SUMMED, Region
from .proof import Leaf, ProofError

if TYPE_CHECKING:
    from ..tandem import TandemProblem


class Tangents(Region):
    """The posteriors of a problem of votes; risks are measured from zero."""

    def __init__(
        self, problem: TandemProblem, inside: frozenset[int] = frozenset(), outside: Any = frozenset()
    ) -> None:
        if not ours(problem.divergence_function):
            raise ProofError("how another package's divergence adds up over pairs is not checked.")
        # Of the problem it uses only what a TandemProblem has as well.
        super().__init__(problem, inside, outside)  # type: ignore[arg-type]
        self.matrix_of_pairs, self.indefinite = problem.tandem_risks, problem.indefinite
        self.least, self.widest = 0.0, float(problem.risks.max())
        self.floor = 0.0

    def supporting(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        start = 3 + len(self.matrix)
        points = rows[:, start:]
        if points.shape[1] != self.problem.size or not np.isfinite(points).all() or (points < 0.0).any():
            raise ProofError("a line of the proof has not a weight q₀ ≥ 0 for each classifier.")
        if rows.size and not (rows[:, 2] >= 0.0).all():
            raise ProofError("a line of the proof has a size τ below zero.")
        # A product of matrices is not added up pairwise.
        error = SUMMED + self.problem.size * 2.0**-52
        half = points @ self.matrix_of_pairs
        squares = np.add.reduce(points * half, axis=1) * (1.0 + 2.0 * error)
        # (q - q₀)ᵀ A (q - q₀) is at least this negative number, for any q of the simplex.
        squares += self.indefinite * (1.0 + np.add.reduce(points * points, axis=1)) * (1.0 + SUMMED)
        lines = [self._line(*each) for each in zip(rows[:, :start], 2.0 * half * (1.0 - error), squares, strict=True)]
        slopes, heights = np.array(lines).reshape(-1, 2).T
        return slopes, heights

    def _line(self, row: NDArray[np.float64], risks: NDArray[np.float64], square: float) -> tuple[float, float]:
        least = float(risks.min())
        # Differences of numbers are right but for one rounding.
        self.y = (risks if self.members is None else risks[self.members]) - least
        self.y *= 1.0 - ROUNDED
        # The multipliers of a steep line are those of the smallest risk, nearly.
        with np.errstate(all="ignore"):
            nu = row[3:] / row[0]
        nu = nu if np.isfinite(nu).all() else np.zeros(nu.size)
        tilted = self.smallest(self.y, nu) - ROUNDED * float(self.y.max())
        self.floor = max(self.floor, least + tilted - square - 4.0 * ROUNDED * (least + abs(tilted) + square))
        (slope,), (height,) = super().supporting(row[None])
        pairs = self.divergence.pairs(float(row[2]))
        steep = float(pairs.slope)
        parts = np.array([pairs.value, -steep * row[2], steep * height, steep * slope * least, -steep * slope * square])
        beta, total = steep * slope, float(parts.sum() - 8.0 * ROUNDED * np.abs(parts).sum())
        beta *= 1.0 + ROUNDED
        return (beta, total) if np.isfinite([beta, total]).all() else (0.0, -np.inf)

    def corner(self, leaf: Leaf) -> tuple[float, float]:
        base, _ = super().corner(Leaf(leaf.lines, np.zeros(len(self.matrix))))
        return float(self.divergence.pairs(max(base, 0.0)).value) * (1.0 - SUMMED), min(self.floor, self.widest)
