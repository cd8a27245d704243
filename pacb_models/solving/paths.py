"""The optimum along a parameter: :func:`path`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.kinds import named_limits, with_limit
from ..errors import InputError
from ..problem import BoundProblem
from ..solution import Solution
from ..solver import Solver
from ..validation import check_kind, real_numbers
from ..wording import at_most
from .registry import choose
from .running import solve

if TYPE_CHECKING:
    import pandas

    from ..plots import SolutionPathDisplay

#: Parameters that are no constraint's.
OF_THE_BOUND = ("delta", "m")


@dataclass(frozen=True, eq=False)
class SolutionPath:
    """The solutions of a problem at several values of a parameter; ``path[i]`` is one of them.

    Attributes
    ----------
    parameter : str
    values : array of shape (n,)
    solutions : tuple of Solution
    problem : BoundProblem
        The problem whose parameter is varied.
    """

    parameter: str
    values: NDArray[np.float64]
    solutions: tuple[Solution, ...]
    problem: BoundProblem

    @property
    def bounds(self) -> NDArray[np.float64]:
        """The bound at each value."""
        return np.array([solution.bound for solution in self.solutions])

    @property
    def supports(self) -> NDArray[np.int64]:
        """How many classifiers have weight at each value."""
        return np.array([solution.support_size for solution in self.solutions])

    @property
    def multipliers(self) -> dict[str, NDArray[np.float64]]:
        """Of each row, what a little more room takes off the bound, per unit, at each value."""
        names = dict.fromkeys(name for solution in self.solutions for name in solution.multipliers)
        return {
            name: np.array([solution.multipliers.get(name, np.nan) for solution in self.solutions]) for name in names
        }

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a line per value; multipliers are columns "multiplier of …"."""
        import pandas

        fields = ("bound", "lower_bound", "empirical_risk", "divergence", "support_size", "status", "is_global")
        columns: dict[str, Any] = {self.parameter: self.values}
        columns |= {field: [getattr(solution, field) for solution in self.solutions] for field in fields}
        columns |= {f"multiplier of {name}": rates for name, rates in self.multipliers.items()}
        return pandas.DataFrame(columns)

    def plot(self, ax: Any = None) -> SolutionPathDisplay:
        """Draw bound, supports and multipliers against the parameter."""
        from ..plots import SolutionPathDisplay

        return SolutionPathDisplay.from_path(self).plot(ax)

    def __len__(self) -> int:
        return len(self.solutions)

    def __getitem__(self, place: int) -> Solution:
        return self.solutions[place]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    def __repr__(self) -> str:
        proven = sum(solution.is_global for solution in self.solutions)
        low, high = at_most(self.bounds.min()), at_most(self.bounds.max())
        return (
            f"SolutionPath({self.parameter!r}, {len(self)} values from {self.values.min():g} to {self.values.max():g}, "
            f"bounds from {low} to {high}, {proven} certified as global)"
        )


def path(
    problem: BoundProblem, parameter: str, values: ArrayLike, solver: str | Solver = "auto", **options: Any
) -> SolutionPath:
    """Minimise a bound at each of several values of one parameter.

    Parameters
    ----------
    problem : BoundProblem
    parameter : str
        ``"delta"`` or ``"m"`` (the risks stay as they are); or a limit of the problem's constraints: the name of an
        average, ``"weights at most"``, ``"weights at least"`` or ``"support"``.
    values : sequence of numbers
        In any order. Every one must leave a posterior that keeps the constraints.
    solver, **options
        As in :func:`pacb_models.solve`.

    Returns
    -------
    SolutionPath

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.2, 0.4], m=500)
    >>> pm.path(problem, "delta", [0.01, 0.05])
    SolutionPath('delta', 2 values from 0.01 to 0.05, bounds from 0.1593 to 0.194, 2 certified as global)
    """
    check_kind("problem", problem, BoundProblem, "a BoundProblem")
    check_kind("parameter", parameter, str, "the name of a parameter")
    numbers = np.array(real_numbers("values", values, "a sequence of numbers"))
    if numbers.ndim != 1 or numbers.size == 0:
        raise InputError(f"values must be a sequence of numbers; its shape is {numbers.shape}.")
    # Sample sizes and counts are whole numbers.
    plain = int if np.asarray(values).dtype.kind in "iu" else float
    problems = [_with(problem, parameter, plain(value), place) for place, value in enumerate(numbers.tolist())]
    method = choose(problems[0], solver)
    solutions: list[Solution] = []
    for each in problems:
        # Supporting lines depend on neither δ nor m, and their multipliers little on a limit: each solution begins
        # with the last one's.
        hint = method.continued(solutions[-1]) if solutions else {}
        solutions.append(solve(each, method, **hint, **options))
    return SolutionPath(parameter, numbers, tuple(solutions), problem)


def _with(problem: BoundProblem, parameter: str, value: Any, place: int) -> BoundProblem:
    """Return the problem at one value of the parameter."""
    limits = named_limits(problem.constraints)
    if parameter in OF_THE_BOUND and parameter in limits:
        raise InputError(f"parameter is {parameter!r}, which is a row of the problem, too; give the row another name.")
    try:
        if parameter in OF_THE_BOUND:
            return problem.replace(**{parameter: value})
        if parameter in limits:
            return problem.replace(constraints=with_limit(problem.constraints, *limits[parameter], value))
    except InputError as reason:
        raise InputError(f"values[{place}] is {value}: {reason}") from None
    known = ", ".join(map(repr, (*OF_THE_BOUND, *limits)))
    raise InputError("parameter", parameter, f"it must be one of {known}")
