"""A risk certificate: what is guaranteed, for what, with which confidence, on how many samples."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..problem import BoundProblem
from ..solution import Solution
from ..wording import at_most, confidence, confidence_text


@dataclass(frozen=True)
class Certificate:
    r"""The guarantee that a solution gives for its stochastic classifier.

    Attributes
    ----------
    bound : float
        With probability at least ``confidence`` over the validation sample the *Gibbs risk* (the probability that a
        classifier drawn from the posterior errs on a new example) is at most this. At most one.
    vote_bound : float
        The same for the weighted majority vote, :math:`\min(1, 2 \cdot bound)`: where the vote errs, classifiers with
        at least half of the weight err, with any number of classes.
    confidence : float
        The probability ``1 - delta``, never rounded up.
    delta : float
    validation_examples : int
        Size ``m`` of the sample that certifies.
    empirical_risk, divergence : float
    classifiers, support : int
        Number of classifiers, and of those with positive weight.
    distance, divergence_name, constant : str
        Which bound.
    status : str
        The solver's status. Any posterior has a valid bound; the status says only whether it is the smallest.
    refitted : bool
        True when the classifiers that predict were trained again on all data; the guarantee is about those before.
    """

    bound: float
    vote_bound: float
    confidence: float
    delta: float
    validation_examples: int
    empirical_risk: float
    divergence: float
    classifiers: int
    support: int
    distance: str
    divergence_name: str
    constant: str
    status: str
    refitted: bool = False

    @classmethod
    def of(cls, problem: BoundProblem, solution: Solution, refitted: bool = False) -> Certificate:
        """The certificate of a solution."""
        bound = min(solution.bound, 1.0)
        return cls(
            bound=bound,
            vote_bound=min(2.0 * bound, 1.0),
            confidence=confidence(problem.delta),
            delta=problem.delta,
            validation_examples=problem.m,
            empirical_risk=solution.empirical_risk,
            divergence=solution.divergence,
            classifiers=problem.size,
            support=solution.support_size,
            distance=problem.distance,
            divergence_name=problem.divergence,
            constant=problem.constant,
            status=solution.status,
            refitted=refitted,
        )

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return asdict(self)

    def __str__(self) -> str:
        kind = f"{self.distance} distance, {self.divergence_name} divergence, {self.constant} constant"
        lines = [
            f"With probability at least {confidence_text(self.delta)} over the {self.validation_examples} validation "
            "examples,",
            f"  a classifier drawn at random from the posterior errs with probability at most {at_most(self.bound)};",
            f"  the weighted majority vote errs with probability at most {at_most(self.vote_bound)} (twice that).",
            f"Validation error of the random classifier {self.empirical_risk:.4f}; "
            f"{self.support} of {self.classifiers} classifiers have weight; {kind}.",
            "It assumes that the validation examples are i.i.d. from the distribution of new examples, and that they "
            "were not used to train or choose the classifiers.",
        ]
        if self.bound >= 1.0:
            lines.append("The bound is vacuous: more validation examples or fewer classifiers are needed.")
        if self.status != "optimal":
            lines.append(f"The bound is valid but perhaps not the smallest: the solver ended with {self.status!r}.")
        if self.refitted:
            lines.append(
                "It is about the classifiers before refit=True trained them again; it does not cover the refitted."
            )
        return "\n".join(lines)
