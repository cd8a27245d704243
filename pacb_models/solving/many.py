"""Many problems of one kind at once: :func:`solve_many`, and the arrays it takes and returns.

A method that can solve problems together offers :meth:`Solver.run_batch <pacb_models.solver.Solver.run_batch>`; bounds
and residuals are recomputed here from its weights, as :func:`pacb_models.solve` does for one problem. Problems that a
method cannot solve together are solved one after the other, with the same result.
"""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constants import check_sample_size
from ..distances.checks import elementwise
from ..errors import InputError
from ..optimality import NO_RISK
from ..problem import BoundProblem, Judgement, Problem, Settings, resolve
from ..solution import LocalMinimum, Solution
from ..validation import check_delta, check_error_counts, check_prior, check_risks, real_numbers, refuse_masked
from .judging import OPTIMAL_RESIDUAL, ROUNDING
from .registry import choose
from .running import solve

if TYPE_CHECKING:
    from ..distances import Distance
    from ..divergences import Divergence
    from ..solver import Solver


class ProblemBatch(Settings):
    """Problems that differ in their risks, and perhaps in sample size, confidence and prior, as arrays.

    Parameters
    ----------
    risks : array of shape (B, H)
        One row of empirical risks per problem.
    m : int or array of shape (B,)
    delta : float or array of shape (B,)
    prior : array of shape (H,) or (B, H), optional
        One prior for all, or one each; uniform by default.
    distance, divergence, constant, order
        As in :class:`~pacb_models.BoundProblem`, for all problems.

    Examples
    --------
    >>> import pacb_models as pm
    >>> batch = pm.ProblemBatch([[0.1, 0.2], [0.3, 0.3], [0.0, 0.9]], m=[100, 200, 100], distance="squared")
    >>> len(batch), batch[1]
    (3, BoundProblem(H=2, m=200, delta=0.05, distance='squared', divergence='chi2', prior=uniform, constant='exact'))
    """

    risks: NDArray[np.float64]
    m: NDArray[np.int64]
    delta: NDArray[np.float64]
    prior: NDArray[np.float64]

    def __init__(
        self,
        risks: ArrayLike,
        m: ArrayLike,
        delta: ArrayLike = 0.05,
        distance: str | Distance = "kl",
        divergence: str | Divergence = "chi2",
        prior: ArrayLike | None = None,
        constant: str = "exact",
        order: float = 2.0,
    ) -> None:
        table = _table("risks", risks)
        check_risks(table.ravel())
        count, size = table.shape
        distance_function, divergence_function = resolve(distance, divergence, constant, order)
        self._set(
            risks=table,
            m=_column("m", m, count, check_sample_size, np.intp),
            delta=_column("delta", delta, count, check_delta, np.float64),
            prior=_priors(prior, count, size),
            uniform_prior=prior is None,
            distance_function=distance_function,
            divergence_function=divergence_function,
            constant=constant,
        )

    @classmethod
    def from_counts(cls, errors: ArrayLike, m: int, **arguments: Any) -> ProblemBatch:
        """The batch of classifiers that erred so many times on ``m`` examples."""
        table = _table("errors", errors)
        check_error_counts(table.ravel(), check_sample_size(m))
        return cls(table / m, m, **arguments)

    @classmethod
    def of(cls, problems: list[Problem]) -> ProblemBatch:
        """Problems of the same size, distance, divergence and kind of constant."""
        first = problems[0]
        batch = cls.__new__(cls)
        batch._set(
            risks=np.stack([problem.risks for problem in problems]),
            m=np.array([problem.m for problem in problems]),
            delta=np.array([problem.delta for problem in problems]),
            prior=first.prior if first.uniform_prior else np.stack([problem.prior for problem in problems]),
            uniform_prior=first.uniform_prior,
            distance_function=first.distance_function,
            divergence_function=first.divergence_function,
            constant=first.constant,
            coefficient=np.array([problem.coefficient for problem in problems]),
        )
        return batch

    @cached_property
    def coefficient(self) -> NDArray[np.float64]:
        """The number ``c`` of each problem's budget."""
        known: dict[int, tuple[float, float]] = {}
        arguments = (self.divergence_function.moments, self.order, self.constant)
        for m in np.unique(self.m).tolist():
            distance = self.distance_function
            known[m] = distance.constant(m, *arguments), distance.log_constant(m, *arguments)
        pairs, inverse = np.unique(np.column_stack((self.m, self.delta)), axis=0, return_inverse=True)
        values = [self.divergence_function.coefficient(*known[int(m)], delta) for m, delta in pairs.tolist()]
        return np.array(values)[inverse.ravel()]

    def __len__(self) -> int:
        return self.risks.shape[0]

    def __getitem__(self, row: int) -> BoundProblem:
        prior = None if self.uniform_prior else self.prior if self.prior.ndim == 1 else self.prior[row]
        return BoundProblem(
            self.risks[row],
            int(self.m[row]),
            float(self.delta[row]),
            self.distance_function,
            self.divergence_function,
            prior,
            self.constant,
            max(self.order, 1.5),
        )

    def __iter__(self) -> Iterator[BoundProblem]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"ProblemBatch(B={len(self)}, H={self.risks.shape[1]}, distance={self.distance!r}, "
            f"divergence={self.divergence!r}, constant={self.constant!r})"
        )


class BatchOutcome(NamedTuple):
    """What a method returns for a batch: certified global minima, row by row, but for the rows that it could not
    settle.
    """

    posterior: NDArray[np.float64]
    lower_bound: NDArray[np.float64]
    iterations: NDArray[np.int64]
    unsettled: NDArray[np.bool_]
    local_minima: dict[int, tuple[LocalMinimum, ...]]


#: Numbers of a block of rows whose temporary arrays stay in the processor's cache.
BLOCK = 32_768
#: The fields that are a number of each problem.
_NUMBERS = "bound empirical_risk divergence support_size kkt_residual is_global lower_bound iterations".split()


@dataclass(frozen=True, eq=False)
class SolutionBatch:
    """The solutions of a batch as arrays with one row or entry per problem; the fields are those of
    :class:`~pacb_models.Solution`. ``batch[i]`` is one of them.
    """

    posterior: NDArray[np.float64]
    bound: NDArray[np.float64]
    empirical_risk: NDArray[np.float64]
    divergence: NDArray[np.float64]
    support_size: NDArray[np.int64]
    kkt_residual: NDArray[np.float64]
    is_global: NDArray[np.bool_]
    lower_bound: NDArray[np.float64]
    iterations: NDArray[np.int64]
    solver: str
    seconds: float
    #: Solutions of the problems that were solved alone, and other local minima of the others, by row.
    alone: dict[int, Solution]
    local_minima: dict[int, tuple[LocalMinimum, ...]]

    def __len__(self) -> int:
        return self.bound.size

    def __getitem__(self, row: int) -> Solution:
        if row in self.alone:
            return self.alone[row]
        return Solution(
            posterior=self.posterior[row],
            status="optimal",
            message="",
            seconds=self.seconds / len(self),
            setup_seconds=0.0,
            solver=self.solver,
            local_minima=self.local_minima.get(row, ()),
            details={"simplex_violation": 0.0, "merged_size": self.posterior.shape[1]},
            **{name: getattr(self, name)[row].item() for name in _NUMBERS},
        )

    def __iter__(self) -> Iterator[Solution]:
        return (self[row] for row in range(len(self)))


# A batch is iterable too, but the first line that fits counts.
@overload
def solve_many(problems: ProblemBatch, solver: str | Solver = "auto") -> SolutionBatch: ...  # type: ignore[overload-overlap]
@overload
def solve_many(problems: Iterable[Problem], solver: str | Solver = "auto") -> list[Solution]: ...
def solve_many(
    problems: ProblemBatch | Iterable[Problem], solver: str | Solver = "auto"
) -> SolutionBatch | list[Solution]:
    """Minimise many bounds, those of one kind and size together where the method can.

    The solutions are those of :func:`pacb_models.solve` on each problem, to rounding. The exact solver ``frontier``
    takes χ² problems together; other divergences and methods are solved one after the other.

    Parameters
    ----------
    problems : ProblemBatch, or problems in any order and mixture
    solver : str or Solver
        As in :func:`pacb_models.solve`.

    Returns
    -------
    SolutionBatch for a batch, else a list of solutions in the order of the problems

    Examples
    --------
    >>> import pacb_models as pm
    >>> batch = pm.ProblemBatch.from_counts([[1, 5, 9], [0, 0, 7]], m=100, distance="squared")
    >>> solutions = pm.solve_many(batch)
    >>> solutions.is_global.tolist()
    [True, True]
    >>> bool(abs(solutions.bound[0] - pm.solve(batch[0]).bound) < 1e-13)
    True
    """
    if isinstance(problems, ProblemBatch):
        return _solve_batch(problems, problems, solver)
    listed = list(problems)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, problem in enumerate(listed):
        if not isinstance(problem, Problem):
            raise InputError(f"problems[{number}] is {reprlib.repr(problem)}; it must be a problem.")
        groups.setdefault(_kind(problem, number), []).append(number)
    solutions: dict[int, Solution] = {}
    for numbers in groups.values():
        members = [listed[number] for number in numbers]
        found: Iterable[Solution]
        if len(members) == 1:
            found = [solve(members[0], solver)]
        else:
            found = _solve_batch(ProblemBatch.of(members), members, solver)
        solutions.update(zip(numbers, found, strict=True))
    return [solutions[number] for number in range(len(listed))]


def _kind(problem: Problem, number: int) -> tuple[Any, ...]:
    """Problems with the same key make a batch; one that cannot be part of a batch has its own number as key."""
    if type(problem) is not BoundProblem or problem.posteriors is not None:
        return (number,)
    # Equal objects have equal settings: ours compare by their order, another package's by identity unless it says more.
    functions = (problem.distance_function, type(problem.divergence_function), problem.divergence_function)
    return (problem.size, *functions, problem.constant, problem.uniform_prior)


def _solve_batch(batch: ProblemBatch, problems: ProblemBatch | list[Problem], solver: str | Solver) -> SolutionBatch:
    """Solve together what can be, and the rest of the problems one by one."""
    started = time.perf_counter()
    method = choose(problems[0], solver)
    outcome = method.run_batch(batch)
    count, size = batch.risks.shape
    if outcome is None:
        outcome = BatchOutcome(np.zeros((count, size)), np.zeros(count), np.zeros(count, int), np.ones(count, bool), {})
    columns = _recomputed(batch, outcome.posterior, not outcome.unsettled.all())
    refuted = outcome.lower_bound > columns["bound"] + ROUNDING
    doubtful = outcome.unsettled | ~(columns["kkt_residual"] <= OPTIMAL_RESIDUAL) | refuted
    alone = {row: solve(problems[row], method) for row in np.flatnonzero(doubtful).tolist()}
    columns["posterior"], columns["lower_bound"] = outcome.posterior, outcome.lower_bound
    columns["iterations"], columns["is_global"] = outcome.iterations, ~doubtful
    for row, solution in alone.items():
        for name, values in columns.items():
            value = getattr(solution, name)
            values[row] = np.nan if value is None else value
    columns["lower_bound"] = np.minimum(columns["lower_bound"], columns["bound"])
    seconds = time.perf_counter() - started
    minima = {row: others for row, others in outcome.local_minima.items() if row not in alone}
    return SolutionBatch(**columns, solver=method.name, seconds=seconds, alone=alone, local_minima=minima)


def _recomputed(batch: ProblemBatch, q: np.ndarray, any_settled: bool) -> dict[str, np.ndarray]:
    """What :meth:`Problem.judge` says of each row, from the weights themselves; nothing when no row is settled."""
    numbers = np.full((4, len(q)), np.nan)
    length = max(1, BLOCK // q.shape[1])
    for start in range(0, len(q) if any_settled else 0, length):
        rows = slice(start, start + length)
        numbers[:, rows] = _judged(batch, q[rows], rows)
    return dict(zip(Judgement._fields, numbers)) | {"support_size": np.count_nonzero(q, axis=1)}


def _judged(batch: ProblemBatch, q: np.ndarray, rows: slice) -> np.ndarray:
    """Bounds, residuals, empirical risks and divergences of posteriors of some rows."""
    # Formulas hold elementwise, whatever their annotations say of numbers.
    divergence: Any = batch.divergence_function
    distance: Any = elementwise(batch.distance_function)
    if divergence.steep:
        return np.array([batch[rows.start + row].judge(weights) for row, weights in enumerate(q)]).T
    risks, prior = batch.risks[rows], batch.prior if batch.prior.ndim == 1 else batch.prior[rows]
    with np.errstate(all="ignore"):
        L = np.clip(np.vecdot(q, risks), 0.0, 1.0)
        T = divergence.sizes(q, prior)
        budget = divergence.size_budget(T, batch.coefficient[rows], distance.exponent(batch.m[rows]))
        bound, r_L, r_b = (np.zeros_like(L) + part for part in distance.slopes(L, budget.value))
        slopes = divergence.size_gradient(q, prior, T[:, None]) * (r_b * budget.slope)[:, None]
        # Risks of zero do not feel an infinite slope.
        infinite = np.isinf(r_L)
        slopes += np.where(infinite, 0.0, r_L)[:, None] * risks
        if infinite.any():
            slopes[infinite] += np.where(risks[infinite] > NO_RISK, np.inf, 0.0)
            mean = np.where(q > 0.0, q * slopes, 0.0).sum(axis=1)
        else:
            mean = np.vecdot(q, slopes)
        residual = np.maximum(mean - slopes.min(axis=1), 0.0) / np.maximum(bound, 1.0)
    return np.array((bound, np.where(np.isfinite(bound), residual, np.inf), L, divergence.values(T)))


def _table(name: str, values: ArrayLike) -> np.ndarray:
    """A two-dimensional, non-empty copy of the values."""
    try:
        np.shape(values)
    except ValueError:
        raise InputError(f"{name} must be an array of numbers of shape (B, H), one row per problem.") from None
    array = np.array(real_numbers(name, values))
    if array.ndim != 2 or array.size == 0:
        raise InputError(f"{name} must have the shape (B, H), one row per problem, but its shape is {array.shape}.")
    return array


def _column(name: str, value: ArrayLike, count: int, check: Callable[[Any], Any], dtype: type) -> np.ndarray:
    """One number per problem, each of them checked as it is for a single problem."""
    if np.ndim(value) == 0:
        return np.full(count, check(value), dtype=dtype)
    refuse_masked(name, value)
    array = np.asarray(value)
    if array.shape != (count,):
        raise InputError(f"{name} has the shape {array.shape}; it must be one number or one for each of {count} rows.")
    for each in np.unique(array):
        check(each)
    return array.astype(dtype)


def _priors(prior: ArrayLike | None, count: int, size: int) -> np.ndarray:
    if prior is None or np.ndim(prior) == 1:
        return check_prior(prior, size)
    array = _table("prior", prior)
    if array.shape != (count, size):
        raise InputError(f"prior has the shape {array.shape}; it must be ({size},) or ({count}, {size}), as the risks.")
    for row in array:
        check_prior(row, size)
    return array
