"""What a solver hands over, and what the user gets."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import optimality
from .html import as_html
from .wording import at_least, at_most

if TYPE_CHECKING:
    from .proofs.proof import AnyProof


Value = TypeVar("Value")


class Status(StrEnum):
    """Every status that a solution can have, with its meaning."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        status = str.__new__(cls, value)
        status._value_, status.meaning = value, meaning
        return status

    OPTIMAL = "optimal", "a stationary point to full accuracy (the global optimum where the solution says so)"
    ACCEPTABLE = "acceptable", "nearly stationary; less accurate than asked for"
    ITERATION_LIMIT = "iteration_limit", "stopped at the iteration limit"
    TIME_LIMIT = "time_limit", "stopped at the time limit"
    INFEASIBLE = "infeasible", "the solver believes that no feasible point exists"
    RESTORATION_FAILED = "restoration_failed", "Ipopt's restoration phase failed"
    NUMERICAL_ERROR = "numerical_error", "numbers overflowed or a linear system could not be solved"
    NOT_CONVERGED = "not_converged", "the iteration ended without meeting its tolerance"
    UNAVAILABLE = "unavailable", "the solver's software is not installed"
    ERROR = "error", "the solver raised an exception"


class LocalMinimum(NamedTuple):
    """One local minimum of the bound: what a path or multi-start search found beside the best."""

    bound: float
    empirical_risk: float
    divergence: float
    support_size: int


class TracePoint(NamedTuple):
    """The bound after an iteration, and the seconds since the method began."""

    bound: float
    seconds: float


class Trace:
    """The way down: one point per iteration, the start included. One that is off records nothing.

    >>> trace = Trace(True)
    >>> trace.add(0.5)
    >>> trace.details()["trace"][0].bound
    0.5
    >>> Trace(False).details()
    {}
    """

    def __init__(self, on: bool) -> None:
        self.on = bool(on)
        self.points: list[TracePoint] = []
        self._began = time.perf_counter()

    def add(self, bound: float) -> None:
        """Record the bound that the method has reached."""
        if self.on:
            self.points.append(TracePoint(float(bound), time.perf_counter() - self._began))

    def details(self) -> dict[str, list[TracePoint]]:
        """Return the entry for the details of an outcome: ``{"trace": points}``, empty when the trace is off."""
        return {"trace": self.points} if self.on else {}


@dataclass
class Outcome:
    """What a solver returns: weights and what it claims of them. Nothing in it is trusted before it is recomputed."""

    posterior: NDArray[np.float64] | None
    status: str
    message: str = ""
    iterations: int | None = None
    #: Seconds spent building or compiling a model, apart from solving it.
    setup_seconds: float = 0.0
    #: What proves that no posterior's bound is below some number; the judge has it checked.
    proof: AnyProof | None = None
    #: A number that no posterior's bound is below, as the method says without a proof of ours.
    claimed_lower_bound: float | None = None
    local_minima: tuple[LocalMinimum, ...] = ()
    #: Anything particular to the solver: histories, distinct points of a multi-start. By the same name wherever a
    #: solver has it: ``function_evaluations``, ``gradient_evaluations`` and ``trace``, a list of :class:`TracePoint`.
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Solution:
    """A posterior with its certificate, recomputed from the weights themselves.

    Attributes
    ----------
    posterior : array of shape (H,) or None
        Weights on the simplex in the order of ``problem.risks``; None when the solver produced no point.
    bound, empirical_risk, divergence : float
        Evaluated at ``posterior``, never taken from the solver.
    support_size : int
        Number of positive weights.
    status, message : str
        One of :class:`Status` and a sentence.
    iterations : int or None
    seconds, setup_seconds : float
        Time to solve, and time to build the model (not included in ``seconds``).
    kkt_residual : float
        :meth:`BoundProblem.kkt_residual` of the posterior.
    is_global : bool
        True when a checked proof shows that no posterior has a smaller bound, except for rounding.
    lower_bound : float or None
        Below this is the bound of no posterior, as the checker has found from the proof; None without a proof.
    claimed_lower_bound : float or None
        What the method says that no bound is below, without a proof that we can check.
    proof : Proof or None
        What :func:`pacb_models.check_proof` checks.
    solver : str
    local_minima : tuple of LocalMinimum
        Other local minima that were met, best first. No method looks for all of them, so ``solve`` and ``solve_many``
        may list different ones.
    details : dict
        Particular to the solver.
    """

    posterior: NDArray[np.float64] | None
    bound: float
    empirical_risk: float
    divergence: float
    support_size: int
    status: str
    message: str
    iterations: int | None
    seconds: float
    setup_seconds: float
    kkt_residual: float
    is_global: bool
    solver: str
    local_minima: tuple[LocalMinimum, ...] = ()
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    lower_bound: float | None = None
    claimed_lower_bound: float | None = None
    proof: AnyProof | None = field(default=None, repr=False)
    problem: Any = field(default=None, repr=False)

    @cached_property
    def multipliers(self) -> dict[str, float]:
        """For each row of the constraints, how much the bound falls for each unit that its limit is relaxed."""
        if self.posterior is None or getattr(self.problem, "kind", "") != "bound" or self.problem.posteriors is None:
            return {}
        found = optimality.multipliers(self.problem, self.posterior).tolist()
        return {row.name: value for row, value in zip(self.problem.posteriors.rows, found, strict=True)}

    @cached_property
    def sensitivities(self) -> dict[str, Any]:
        """How the bound changes with ``"delta"``, with one example more (``"m"``), with each risk (``"risks"``) and
        with the limit of each row (``"rows"``, by name): to first order, for the minimum that was found."""
        if self.posterior is None or getattr(self.problem, "kind", "") != "bound":
            return {}
        signs = {row.name: 1.0 if row.turned else -1.0 for row in getattr(self.problem.posteriors, "rows", ())}
        rows = {name: signs[name] * value for name, value in self.multipliers.items()}
        return optimality.sensitivities(self.problem, self.posterior) | {"rows": rows}

    @property
    def vote_bound(self) -> float:
        """The weighted majority vote errs with at most this probability: four times the bound of a
        :class:`~pacb_models.TandemProblem`, twice that of other problems, or one."""
        return float("nan") if self.problem is None else self.problem.vote_bound(self.bound)

    @property
    def vote_statement(self) -> str:
        """What a tandem bound, and twice the first-order bound, say of the vote, in words."""
        said = None if self.posterior is None else getattr(self.problem, "vote_statement", None)
        return said(self.posterior) if said else ""

    def save_proof(self, path: str | os.PathLike[str]) -> None:
        """Write the proof as a file, which ``pacb verify`` checks without the solvers (see :mod:`.proofs.files`)."""
        from .proofs import files

        files.save(path, files.to_record(self.problem, self.proof, self))

    def as_dict(self) -> dict[str, Any]:
        """Return fields as JSON-ready values (``details`` left out; infinities and NaN become None)."""
        record = {}
        for name in self.__dataclass_fields__:
            if name in ("details", "problem", "proof"):
                continue
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value = value.tolist()
            elif name == "local_minima":
                value = [minimum._asdict() for minimum in value]
            record[name] = finite(value)
        sensitivities = {
            name: [finite(each) for each in value.tolist()] if isinstance(value, np.ndarray) else finite(value)
            for name, value in self.sensitivities.items()
        }
        return record | {"multipliers": self.multipliers, "sensitivities": sensitivities}

    def _repr_html_(self) -> str:
        proven = "none" if self.lower_bound is None else at_least(self.lower_bound, 10)
        facts = [("bound", at_most(self.bound, 10)), ("proven lower bound", proven)]
        if self.claimed_lower_bound is not None:
            facts.append((f"lower bound that {self.solver} claims", at_least(self.claimed_lower_bound, 10)))
        facts += [("empirical risk", f"{self.empirical_risk:.6g}"), ("divergence", f"{self.divergence:.6g}")]
        facts += [("classifiers with weight", str(self.support_size)), ("KKT residual", f"{self.kkt_residual:.1e}")]
        if self.vote_statement:
            facts.append(("bound of the weighted vote", at_most(self.vote_bound, 10)))
        scope = "the global minimum" if self.is_global else "not certified as global"
        message = self.message[:1].upper() + self.message[1:]
        said = f"{self.solver}: {self.status}, {scope}. {message}".rstrip()
        return as_html(said.splitlines(), ("of the posterior", ""), facts, len(facts))

    def __repr__(self) -> str:
        proven = "" if self.lower_bound is None else f", lower_bound={at_least(self.lower_bound, 10)}"
        return (
            f"Solution(bound={at_most(self.bound, 10)}, empirical_risk={self.empirical_risk:.6g}, "
            f"divergence={self.divergence:.6g}, support_size={self.support_size}, status={self.status!r}, "
            f"solver={self.solver!r}, is_global={self.is_global}{proven})"
        )


def finite(value: Value) -> Value | None:
    """Return what JSON can hold of a number; where a risk is zero a slope may be infinite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
