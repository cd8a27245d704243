"""A proof as a file: JSON that :mod:`.verify` checks without the rest of the package.

A proof is an object with the fields

``format``, ``version``
    "pacb-proof" and 1.
``problem``, ``problem_digest``
    The problem as :mod:`pacb_models.problem_file` writes it, and the SHA-256 of that with sorted keys and no spaces.
``log_constant``
    The logarithm of the moment constant; the proof is about the bound with this number.
``lower_bound``
    What is proven: no posterior's bound is smaller.
``posterior``, ``bound``
    ``classifiers`` and their ``weights``, the others being zero; and a number that its bound is not above.
``tree``
    A node: ``{"split": i, "in": node, "out": node}`` divides the posteriors by whether classifier ``i`` is in the
    support. ``{"lines": [[γ, θ, τ, ν…], …], "floor": [ν…]}`` has lines, which for votes go on with the weights
    :math:`q_0` of a tangent, and the multipliers that prove the smallest risk. ``{"empty": "sizes"}`` or ``{"empty":
    [ν…]}`` says that no posterior is there.

Every number stands for the double nearest to it, except sizes of a support, which stand for themselves.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedProblemError
from ..files import write_atomically
from .checker import INVERTED
from .proof import Branch, Leaf, Node, Proof

if TYPE_CHECKING:
    from ..problem import BoundProblem
    from ..solution import Solution


def to_record(problem: BoundProblem, proof: Any, solution: Solution) -> dict[str, Any]:
    """Return the fields of a proof, with the posterior of a solution and the lower bound that the checker found."""
    if solution.posterior is None or solution.lower_bound is None or not isinstance(proof, Proof):
        raise UnsupportedProblemError(f"solver {solution.solver!r} has no proof of its minimum that a file can hold.")
    fields = json.loads(problem.to_json())
    positive = np.flatnonzero(solution.posterior)
    return {
        "format": "pacb-proof",
        "version": 1,
        "problem": fields,
        "problem_digest": digest(fields),
        "log_constant": problem.log_constant,
        "lower_bound": solution.lower_bound * (1.0 - INVERTED),
        "bound": solution.bound * (1.0 + INVERTED),
        "posterior": {"classifiers": positive.tolist(), "weights": solution.posterior[positive].tolist()},
        "tree": _node_record(proof.tree),
    }


def digest(problem: dict[str, Any]) -> str:
    """Return the SHA-256 of the fields of a problem."""
    return hashlib.sha256(json.dumps(problem, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _node_record(node: Node) -> dict[str, Any]:
    if isinstance(node, Branch):
        return {"split": int(node.classifier), "in": _node_record(node.inside), "out": _node_record(node.outside)}
    if isinstance(node, Leaf):
        return {"lines": np.asarray(node.lines).tolist(), "floor": np.asarray(node.floor).tolist()}
    return {"empty": "sizes" if node.multipliers is None else np.asarray(node.multipliers).tolist()}


def save(path: str | os.PathLike[str], record: dict[str, Any]) -> None:
    """Write the fields of a proof into a file."""
    write_atomically(path, json.dumps(record, allow_nan=False) + "\n")
