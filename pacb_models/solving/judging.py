"""What a solution is judged by: everything is recomputed from the weights, and a claim that does not hold falls."""

import math
import numbers
import reprlib

import numpy as np

from ..problem import Judgement, Problem
from ..proofs import ProofError, Tangent, check_proof
from ..proofs.proof import AnyProof
from ..solution import Outcome, Solution, Status
from ..wording import one_line

#: A point whose recomputed KKT residual, or whose own weights' distance from the simplex, is above this is never
#: reported as "optimal" ...
OPTIMAL_RESIDUAL = 1e-6
#: ... and above this not even as "acceptable".
ACCEPTABLE_RESIDUAL = 1e-4

#: How far below the bound of a posterior, relative to it, the proven lower bound of a global minimum may be.
GLOBAL = 1e-9
#: A claimed lower bound may exceed the bound of the solver's own posterior by rounding, up to this. More refutes it.
REFUTES = 1e-12

#: What a solver says when it has succeeded.
CLAIMS = ("optimal", "acceptable")


def assess(problem: Problem, outcome: Outcome, solver: str, seconds: float) -> Solution:
    """Turn a solver's outcome into a solution: recompute everything, and correct a claim that does not hold."""
    posterior, off_simplex = (None, math.inf) if outcome.posterior is None else onto_simplex(outcome.posterior)
    broken = 0.0
    if posterior is not None and problem.posteriors is not None:
        broken = problem.posteriors.violation(posterior)
        # What is judged keeps the constraints: a bound that is small because a row is broken is no bound of ours.
        posterior = problem.posteriors.repaired(posterior, broken)
    violation, status, message = max(off_simplex, broken), outcome.status, one_line(outcome.message)
    judged = Judgement(math.inf, math.inf) if posterior is None else problem.judge(posterior)
    bound, residual = float(judged.bound), float(judged.kkt_residual)
    if status in CLAIMS:
        status = supported_claim(status, residual, violation) if posterior is not None else "numerical_error"
    if status != outcome.status:
        if posterior is None:
            fact = "no usable weights were returned"
        elif not residual < violation:
            fact = f"the KKT residual is {residual:.1e}"
        else:
            off = "break the constraints" if broken > off_simplex else "are off the simplex"
            fact = f"its weights {off} by {violation:.1e}"
        message = f"the solver said {outcome.status!r}, but {fact}. {message}".strip()
    claimed, proof = outcome.claimed_lower_bound, outcome.proof
    if claimed is not None and not claimed <= bound + REFUTES:
        message = f"the solver's lower bound, {claimed:.10g}, is above the bound of its own weights. {message}".strip()
    if proof is None and posterior is not None and problem.kind == "own" and problem.convex:
        proof = Tangent(posterior)
    lower_bound, message = _told(problem, proof, bound, message)
    violations = {"simplex_violation": off_simplex, "constraint_violation": broken}
    return Solution(
        posterior=posterior,
        bound=bound,
        empirical_risk=float(judged.empirical_risk),
        divergence=float(judged.divergence),
        support_size=0 if posterior is None else int(np.count_nonzero(posterior)),
        status=status,
        message=message,
        iterations=outcome.iterations,
        seconds=seconds,
        setup_seconds=outcome.setup_seconds,
        kkt_residual=residual,
        is_global=status == "optimal" and lower_bound is not None and lower_bound >= bound - GLOBAL * abs(bound),
        solver=solver,
        local_minima=outcome.local_minima,
        details={**outcome.details, **judged.parameters, **violations},
        lower_bound=lower_bound,
        claimed_lower_bound=None if claimed is None else float(claimed),
        proof=proof if lower_bound is not None else None,
        problem=problem,
    )


def _told(problem: Problem, proof: AnyProof | None, bound: float, message: str) -> tuple[float | None, str]:
    """Return what a proof proves, and the message with what is to be said of it."""
    if proof is None:
        return None, message
    try:
        # A proof holds whatever the weights are; rounding of theirs must not look like a contradiction.
        lower_bound = min(check_proof(problem, proof), bound)
    except ProofError as reason:
        return None, f"nothing is proven: {reason} {message}".strip()
    if isinstance(proof, Tangent):
        trusted = f"That no bound is lower holds if {type(problem).__name__} is convex, and its gradient right."
        message = f"{message} {trusted}".strip()
    if not lower_bound >= bound - GLOBAL * abs(bound):
        message = f"{message} A gap is left: no posterior's bound is below {lower_bound:.12g}.".strip()
    return lower_bound, message


def supported_claim(status: str, kkt_residual: float, violation: float) -> str:
    """Return the strongest of "optimal", "acceptable", "not_converged" that a claim and the recomputed residuals allow.

    ``violation`` is the distance from the simplex, or by how much a constraint is broken, whichever is larger.

    The one rule for what counts as solved: :func:`pacb_models.solve` corrects claims by it, and the benchmarks judge by
    it.
    """
    off = max(kkt_residual, violation)
    if off <= OPTIMAL_RESIDUAL:
        return status
    return "acceptable" if off <= ACCEPTABLE_RESIDUAL else "not_converged"


def onto_simplex(weights: np.ndarray) -> tuple[np.ndarray | None, float]:
    """Return solver output as a posterior (negative noise cut off, sum one), and how far off the simplex it was.

    The posterior is None when nothing usable is left.
    """
    q = np.asarray(weights, dtype=np.float64)
    # Its place first: on a small set ``min`` takes four times as long.
    lowest, total = q.item(q.argmin()), float(np.add.reduce(q))
    violation = max(abs(total - 1.0), -lowest)
    if lowest < 0.0:
        q = np.maximum(q, 0.0)
        total = float(q.sum())
    if not (math.isfinite(total) and total > 0.0):
        return None, math.inf
    return (q if total == 1.0 else q / total), violation


class BadOutcome(Exception):
    """A solver returned something that is no outcome; the message is a clause that says what."""


_STATUSES = frozenset(Status)
#: The fields of an outcome, what they must be, and how that is said.
_FORM = (
    ("status", _STATUSES.__contains__, f"one of {', '.join(Status)}"),
    ("iterations", lambda value: value is None or _is_number(value, numbers.Integral), "a count"),
    ("setup_seconds", lambda value: _is_number(value, numbers.Real) and 0.0 <= value < math.inf, "a time"),
    ("claimed_lower_bound", lambda value: value is None or _is_number(value, numbers.Real), "a number"),
    ("message", lambda value: isinstance(value, str), "a text"),
    ("local_minima", lambda value: isinstance(value, tuple), "a tuple"),
    ("details", lambda value: isinstance(value, dict), "a dict"),
)
_ARRAYS = (np.ndarray, list, tuple)


def check_form(outcome: object, size: int) -> Outcome:
    """Return what a solver returned, when it has the form of an outcome; another package's may return anything."""
    if not isinstance(outcome, Outcome):
        raise BadOutcome(f"it returned {reprlib.repr(outcome)}; it must return an Outcome")
    for field, fits, expected in _FORM:
        value = getattr(outcome, field)
        if not fits(value):
            raise BadOutcome(f"it returned the {field} {reprlib.repr(value)}; it must be {expected}")
    weights = outcome.posterior
    if weights is not None:
        array = np.asarray(weights if isinstance(weights, _ARRAYS) else None)
        if array.dtype.kind not in "fiu" or array.shape != (size,):
            shown = reprlib.repr(weights)
            raise BadOutcome(f"it returned the posterior {shown}; it must be an array of {size} numbers, or None")
    return outcome


def _is_number(value: object, kind: type) -> bool:
    return type(value) in (int, float) or (isinstance(value, kind) and not isinstance(value, bool))
