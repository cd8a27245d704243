"""What is trusted: proofs, and the one checker that turns them into claims."""

from .checker import check_proof
from .intervals import Intervals, check_intervals
from .proof import Branch, CommonRisk, Empty, Leaf, Proof, ProofError, Tangent

__all__ = [
    "Branch",
    "CommonRisk",
    "Empty",
    "Intervals",
    "Leaf",
    "Proof",
    "ProofError",
    "Tangent",
    "check_intervals",
    "check_proof",
]
