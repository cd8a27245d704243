r"""Classifiers of equal risk are one classifier.

Every statistic is :math:`D(q) = \sum_i p_i f(q_i/p_i)` with ``f`` convex. Replacing the ratios :math:`q_i/p_i` of
classifiers with the same risk by their mean (weighted with ``p``) leaves the empirical risk as it is and, by Jensen's
inequality, does not raise ``D``. An optimum therefore has equal ratios within each group of equal risks, and the bound
of such a posterior is that of the problem in which each group is one classifier with the group's prior weight. So the
merged problem has the same minimum, and the same local minima, whatever the prior; a posterior is shared out within
the groups in proportion to the prior. Risks are counts over ``m``: at most ``m + 1`` groups are left. The proof, also
for bounds without change of measure, is in ``docs/mathematics.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .numerics.inner import pieces

if TYPE_CHECKING:
    from .constraints import Posteriors
    from .problem import Problem
    from .proofs.proof import AnyProof
    from .solution import Solution
    from .solver import Solver

AnyProblem = TypeVar("AnyProblem", bound="Problem")


@dataclass(frozen=True, eq=False)
class Merged(Generic[AnyProblem]):
    """A problem with its classifiers of equal risk merged, and the way back."""

    #: One classifier per risk, in increasing order; the original problem itself when nothing was merged.
    problem: AnyProblem
    original: AnyProblem
    #: Which classifiers were merged; None when all risks differ.
    groups: Groups | None = None

    @property
    def counts(self) -> np.ndarray:
        """How many classifiers each one of ``problem`` stands for."""
        return np.ones(self.problem.risks.size, dtype=np.intp) if self.groups is None else self.groups.counts

    def expand(self, posterior: ArrayLike) -> np.ndarray:
        """Return a posterior of the merged problem as one of the original: shared out in proportion to the prior."""
        posterior = np.asarray(posterior, dtype=np.float64)
        if self.groups is None:
            return posterior
        if self.original.uniform_prior and self.problem.posteriors is None:
            return self.groups.lookup(posterior / self.groups.counts)
        return self.groups.lookup(posterior / self.problem.prior, self.original.prior)

    def invert(self, solution: Solution, method: Solver) -> Solution:
        """Return a method's solution of the merged problem as one of the original.

        Bound, divergence and KKT residual are the same; weights are shared out and supports counted anew.
        """
        if self.groups is None:
            return solution
        posterior = None if solution.posterior is None else self.expand(solution.posterior)
        return replace(
            solution,
            posterior=posterior,
            support_size=0 if posterior is None else int(np.count_nonzero(posterior)),
            local_minima=self.expand_points(solution.local_minima),
            details=solution.details if posterior is None else method.expand_details(solution.details, self),
            proof=self.expand_proof(solution.proof),
            problem=self.original,
        )

    def expand_proof(self, proof: AnyProof | None) -> AnyProof | None:
        """Return a proof about the merged problem as one about the original. Lines for votes end with the weights at
        which the tangent is taken; no other proof knows of classifiers."""
        from .proofs import Leaf, Proof

        if self.problem.by_risk or not isinstance(proof, Proof) or not isinstance(proof.tree, Leaf):
            return proof
        lines, size = proof.tree.lines, self.problem.size
        wide = [np.append(line[:-size], self.expand(line[-size:])) for line in lines]
        whole = np.array(wide).reshape(len(lines), lines.shape[1] - size + self.original.size)
        return replace(proof, tree=replace(proof.tree, lines=whole))

    @property
    def support_sizes(self) -> np.ndarray:
        """How many classifiers of the original have the one, two, … smallest risks."""
        return np.cumsum(self.counts)

    def expand_points(self, points: Sequence[Any]) -> tuple[Any, ...]:
        """Return stationary points of the merged problem with their supports counted in classifiers of the original:
        they consist of the smallest risks, or of all. Where one may be any, it is left as it is.
        """
        if self.problem.posteriors is not None or not self.problem.by_risk:
            return tuple(points)
        sizes = self.support_sizes
        return tuple(point._replace(support_size=int(sizes[point.support_size - 1])) for point in points)


class Groups(NamedTuple):
    """Classifiers of equal risk."""

    #: The different risks in increasing order, and the number of classifiers with each.
    risks: np.ndarray
    counts: np.ndarray
    #: Each classifier's key, and the key that belongs to each of ``risks``. Keys are whole numbers from zero.
    keys: np.ndarray
    labels: np.ndarray

    def lookup(self, values: np.ndarray, factors: np.ndarray | None = None) -> np.ndarray:
        """Return, for every classifier, the value of its group, times its own factor."""
        table = np.zeros(self.labels[-1] + 1)
        table[self.labels] = values
        return table[self.keys] if factors is None else table[self.keys] * factors

    def first(self, values: np.ndarray) -> np.ndarray:
        """Return, for every group, the value of one of its classifiers."""
        found = np.empty(self.counts.size)
        found[np.searchsorted(self.labels, self.keys)] = values
        return found

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return, for every group, the sum of the values of its classifiers; by blocks, which keeps long sums
        accurate."""
        return _sums(self.keys, values, self.labels[-1] + 1)[self.labels]


def merge(problem: AnyProblem) -> Merged[AnyProblem]:
    """Merge classifiers of equal risk; under constraints those that are equal in every row, and in cap and floor over
    prior, too: averaging their ratios keeps every constraint.

    A large set in which a sample of the risks has no two alike is left alone. So is one with a limit on the support,
    which counts classifiers, and a problem of another form: its bound may tell classifiers of equal risk apart.
    """
    posteriors, groups = problem.posteriors, None
    if problem.kind != "own" and _repeats(problem.risks):
        if posteriors is None:
            groups = _by_count(problem) or _by_value(problem.risks)
        elif posteriors.support is None:
            groups = by_columns([problem.risks, *columns_of(posteriors, problem.prior)])
    if groups is None:
        return Merged(problem, problem)
    counts, prior = groups.counts, None
    if posteriors is not None or not problem.uniform_prior:
        prior = groups.sums(problem.prior)
    elif (counts != counts[0]).any():
        prior = counts / problem.risks.size
    allowed = None if posteriors is None else posteriors.merged(groups)
    return Merged(problem.of_classifiers(groups.risks, prior, allowed), problem, groups)


def columns_of(posteriors: Posteriors, prior: np.ndarray) -> list[np.ndarray]:
    """Return rows, and floors and caps over the prior; an uncapped weight is uncapped in its group, too."""
    caps = np.where(posteriors.upper < 1.0, posteriors.upper / prior, np.inf)
    return [*posteriors.matrix, posteriors.lower / prior, caps]


def by_columns(columns: Sequence[np.ndarray]) -> Groups | None:
    """Return groups of classifiers that are equal in every column, of which the first is the risk; None where no two
    are."""
    order = np.lexsort(columns[::-1])
    changes = np.zeros(order.size, dtype=bool)
    for column in columns:
        ordered = column[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    keys = np.empty(order.size, dtype=np.intp)
    keys[order] = np.cumsum(changes)
    counts = np.bincount(keys)
    if counts.size == order.size:
        return None
    return Groups(columns[0][order[np.append(True, changes[1:])]], counts, keys, np.arange(counts.size))


def _repeats(risks: np.ndarray) -> bool:
    """Return whether risks occur twice: among all of them, or in a sample of a large set, which costs next to
    nothing."""
    # Classifiers that are looked at to learn whether risks repeat at all.
    sample = np.sort(risks[:: -(-risks.size // 4096)])
    return bool((sample[1:] == sample[:-1]).any())


def _by_count(problem: Problem) -> Groups | None:
    """Return groups by the number of errors, without sorting.

    None when there are more possible counts than classifiers, or when one count has different risks. Risks need not be
    ``k/m`` exactly: those that were computed as one minus an accuracy are not, and are equal all the same.
    """
    m = problem.m
    if m > problem.risks.size:
        return None
    table, risks, keys = np.arange(m + 1) / m, problem.risks, problem.errors
    if keys is None:
        # Small keys: memory that is touched for the first time costs as much as the arithmetic.
        keys = np.empty(risks.size, dtype=np.min_scalar_type(m))
        for part in pieces(risks.size):
            keys[part] = np.rint(risks[part] * m)
        if not _are(risks, table, keys):
            table[keys] = risks
            if not _are(risks, table, keys):
                return None
    counts = _sums(keys, None, m + 1)
    labels = np.flatnonzero(counts)
    return Groups(table[labels], counts[labels], keys, labels)


def _are(risks: np.ndarray, table: np.ndarray, keys: np.ndarray) -> bool:
    """Return whether all risks are those of the table."""
    return all((table.take(keys[part], mode="clip") == risks[part]).all() for part in pieces(keys.size))


def _by_value(risks: np.ndarray) -> Groups:
    """Return groups by exact equality, with a sort."""
    values, keys, counts = np.unique(risks, return_inverse=True, return_counts=True)
    return Groups(values, counts, keys, np.arange(values.size))


def _sums(keys: np.ndarray, weights: np.ndarray | None, size: int) -> np.ndarray:
    """Return sums of weights, or numbers of items, by key."""
    total = np.zeros(size, dtype=np.intp if weights is None else np.float64)
    for part in pieces(keys.size):
        total += np.bincount(keys[part], None if weights is None else weights[part], size)
    return total
