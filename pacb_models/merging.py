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
    from .solution import Solution
    from .solver import Solver

AnyProblem = TypeVar("AnyProblem", bound="Problem")
#: A named tuple with a field ``support_size``, such as :class:`~pacb_models.solution.LocalMinimum`.
AnyPoint = TypeVar("AnyPoint", bound=Any)


@dataclass(frozen=True, eq=False)
class Merged(Generic[AnyProblem]):
    """A problem with its classifiers of equal risk merged, and the way back.

    Attributes
    ----------
    problem
        One classifier per risk, in increasing order; the original problem itself when nothing was merged.
    original
        The problem before.
    groups : Groups or None
        Which classifiers were merged; None when all risks differ.
    """

    problem: AnyProblem
    original: AnyProblem
    groups: Groups | None = None

    @property
    def counts(self) -> np.ndarray:
        """How many classifiers each one of ``problem`` stands for."""
        return np.ones(self.problem.risks.size, dtype=np.intp) if self.groups is None else self.groups.counts

    def expand(self, posterior: ArrayLike) -> np.ndarray:
        """A posterior of the merged problem as one of the original: shared out in proportion to the prior."""
        posterior = np.asarray(posterior, dtype=np.float64)
        if self.groups is None:
            return posterior
        if self.original.uniform_prior and self.problem.posteriors is None:
            return self.groups.lookup(posterior / self.groups.counts)
        return self.groups.lookup(posterior / self.problem.prior, self.original.prior)

    def invert(self, solution: Solution, method: Solver) -> Solution:
        """A method's solution of the merged problem as one of the original.

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

    def expand_proof(self, proof: Any) -> Any:
        """A proof about the merged problem as one about the original. Lines for votes end with the weights at which
        the tangent is taken; no other proof knows of classifiers."""
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

    def expand_points(self, points: Sequence[AnyPoint]) -> tuple[AnyPoint, ...]:
        """Stationary points of the merged problem with their supports counted in classifiers of the original.

        The support of a stationary point consists of the smallest risks, or of all; where it may be any, it is left as
        it is.
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
        """For every classifier, the value of its group, times its own factor."""
        table = np.zeros(self.labels[-1] + 1)
        table[self.labels] = values
        result = np.empty(self.keys.size)
        for part in pieces(result.size):
            table.take(self.keys[part], out=result[part], mode="clip")
            if factors is not None:
                result[part] *= factors[part]
        return result

    def first(self, values: np.ndarray) -> np.ndarray:
        """For every group, the value of one of its classifiers."""
        found = np.empty(self.counts.size)
        found[np.searchsorted(self.labels, self.keys)] = values
        return found

    def sums(self, values: np.ndarray) -> np.ndarray:
        """For every group, the sum of the values of its classifiers; by blocks, which keeps long sums accurate."""
        return _sums(self.keys, values, self.labels[-1] + 1)[self.labels]


def merge(problem: AnyProblem) -> Merged[AnyProblem]:
    """Merge classifiers of equal risk.

    A large set in which a sample of the risks has no two alike is left alone. So is a problem of another form: its
    bound may tell classifiers of equal risk apart.
    """
    if problem.kind == "own" or not _repeats(problem.risks):
        return Merged(problem, problem)
    if problem.posteriors is not None:
        return _merge_constrained(problem, problem.posteriors)
    groups = _by_count(problem) or _by_value(problem.risks)
    counts = groups.counts
    if problem.uniform_prior:
        prior = None if (counts == counts[0]).all() else counts / problem.risks.size
    else:
        prior = groups.sums(problem.prior)
    return Merged(problem.of_classifiers(groups.risks, prior), problem, groups)


def _merge_constrained(problem: AnyProblem, posteriors: Posteriors) -> Merged[AnyProblem]:
    """Merge classifiers that are equal in risk, in every row, and in cap and floor over prior.

    Averaging their ratios keeps every constraint. Nothing is merged under a limit on the support, which counts them.
    """
    if posteriors.support is not None:
        return Merged(problem, problem)
    groups = by_columns([problem.risks, *columns_of(posteriors, problem.prior)])
    if groups is None:
        return Merged(problem, problem)
    prior = groups.sums(problem.prior)
    return Merged(problem.of_classifiers(groups.risks, prior, posteriors.merged(groups)), problem, groups)


def columns_of(posteriors: Posteriors, prior: np.ndarray) -> list[np.ndarray]:
    """Rows, and floors and caps over the prior; an uncapped weight is uncapped in its group, too."""
    caps = np.where(posteriors.upper < 1.0, posteriors.upper / prior, np.inf)
    return [*posteriors.matrix, posteriors.lower / prior, caps]


def by_columns(columns: Sequence[np.ndarray]) -> Groups | None:
    """Groups of classifiers that are equal in every column, of which the first is the risk; None where no two are."""
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
    """Whether risks occur twice: among all of them, or in a sample of a large set, which costs next to nothing."""
    # Classifiers that are looked at to learn whether risks repeat at all.
    sample = np.sort(risks[:: -(-risks.size // 4096)])
    return bool((sample[1:] == sample[:-1]).any())


def _by_count(problem: Problem) -> Groups | None:
    """Groups by the number of errors, without sorting.

    None when there are more possible counts than classifiers, or when one count has different risks. Risks need not be
    ``k/m`` exactly: those that were computed as one minus an accuracy are not, and are equal all the same.
    """
    m = problem.m
    if m > problem.risks.size:
        return None
    table = np.arange(m + 1) / m
    if problem.errors is not None:
        keys, counts = problem.errors, _sums(problem.errors, None, m + 1)
    else:
        keys, counts, exact = _count(problem.risks, table)
        if not exact:
            table[keys] = problem.risks
            if not all((table[keys[part]] == problem.risks[part]).all() for part in pieces(keys.size)):
                return None
    labels = np.flatnonzero(counts)
    return Groups(table[labels], counts[labels], keys, labels)


def _by_value(risks: np.ndarray) -> Groups:
    """Groups by exact equality, with a sort."""
    values, keys, counts = np.unique(risks, return_inverse=True, return_counts=True)
    return Groups(values, counts, keys, np.arange(values.size))


def _count(risks: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """The whole numbers next to ``m`` times the risks, how often each occurs, and whether all risks are the table's.

    One loop, so that each block of risks is read from memory once.
    """
    m = table.size - 1
    # Small keys: memory that is touched for the first time costs as much as the arithmetic.
    keys = np.empty(risks.size, dtype=np.min_scalar_type(m))
    counts = np.zeros(m + 1, dtype=np.intp)
    exact = True
    for part in pieces(risks.size):
        product = risks[part] * m
        key = np.rint(product, out=product).astype(np.intp)
        keys[part] = key
        counts += np.bincount(key, minlength=m + 1)
        if exact:
            table.take(key, out=product, mode="clip")
            exact = bool((product == risks[part]).all())
    return keys, counts, exact


def _sums(keys: np.ndarray, weights: np.ndarray | None, size: int) -> np.ndarray:
    """Sums of weights, or numbers of items, by key."""
    total = np.zeros(size, dtype=np.intp if weights is None else np.float64)
    for part in pieces(keys.size):
        total += np.bincount(keys[part], None if weights is None else weights[part], size)
    return total
