r"""Proofs of global minima as objects: whoever made one, :func:`~.checker.check_proof` decides what it proves.

A **line** holds for every posterior of a set, :math:`T + \gamma' L \ge h`. It is given by numbers :math:`(\gamma,
\theta, \tau, \nu)`, and any numbers give a valid line; good ones touch the frontier. A **leaf** is a set of posteriors
with lines. Under a limit on the support a **branch** divides the posteriors by one classifier: it is in the support or
not. So the leaves of a tree hold all posteriors, whatever the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import index
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError


class ProofError(InputError):
    """A proof that proves nothing; the message says why."""


@dataclass(frozen=True, eq=False)
class Leaf:
    r"""Lines that hold on a set of posteriors.

    Attributes
    ----------
    lines : array of shape (n, 3 + k)
        A row :math:`\gamma, \theta, \tau, \nu_1, \dots, \nu_k` for each line (see :class:`~.checker.Region`); ``k`` is
        the number of rows :math:`a_j \cdot q \le b_j` of the constraints.
        For votes (:class:`~pacb_models.TandemProblem`) it goes on with the weights :math:`q_0 \ge 0` of all classifiers
        at which the tangent of the tandem risk is taken, and the line is about :math:`(s, V)`: see :mod:`.tangents`.
    floor : array of shape (k,)
        Multipliers of the rows that prove the smallest empirical risk.
    """

    lines: NDArray[np.float64]
    floor: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Empty:
    """No posterior is here: the sizes of the classifiers that are in exceed the total, or, with multipliers of the
    rows, these contradict each other, or the caps and floors."""

    multipliers: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Branch:
    """The posteriors with a classifier in the support, and those without it."""

    classifier: int
    inside: Node
    outside: Node


Node: TypeAlias = Leaf | Empty | Branch


def leaves(tree: Node) -> Iterator[tuple[Node, frozenset[int], frozenset[int]]]:
    """Yield every node of a tree that is no branch, with the classifiers that are in and those that are out.

    What a branch says is read once: an object of a solver might answer differently the second time.
    """
    waiting: list[tuple[Node, frozenset[int], frozenset[int]]] = [(tree, frozenset(), frozenset())]
    while waiting:
        node, inside, outside = waiting.pop()
        if isinstance(node, Branch):
            classifier = index(node.classifier)
            if classifier in inside | outside:
                raise ProofError(f"the proof divides by classifier {classifier} twice.")
            waiting.append((node.outside, inside, outside | {classifier}))
            waiting.append((node.inside, inside | {classifier}, outside))
        else:
            yield node, inside, outside


@dataclass(frozen=True, eq=False)
class Proof:
    """That no posterior's bound is below a number, :attr:`claim`; the checker answers with the number that is proven,
    which may be smaller."""

    tree: Node
    claim: float

    def __repr__(self) -> str:
        nodes = [node for node, _, _ in leaves(self.tree)]
        lines = sum(len(node.lines) for node in nodes if isinstance(node, Leaf))
        return f"Proof(claim={self.claim!r}, leaves={len(nodes)}, lines={lines})"


@dataclass(frozen=True, eq=False)
class Tangent:
    r"""That a convex bound of another package is nowhere below its tangent at :attr:`posterior`.

    The smallest value of the tangent is the bound there less the Frank–Wolfe gap (Jaggi, ICML 2013). Believed, not
    proven, are that the bound is convex, as ``convex = True`` on its class says, and that bound and gradient are right.
    """

    posterior: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CommonRisk:
    """That no posterior's direct bound is below :attr:`claim`: all true risks may be that large at once."""

    claim: float


#: What the checker takes.
AnyProof: TypeAlias = Proof | Tangent | CommonRisk
