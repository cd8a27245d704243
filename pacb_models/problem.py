r"""A bound minimisation: (risks, m, δ, prior) × a distance × a divergence × a constant × constraints.

With probability at least :math:`1 - \delta` over the sample, for all posteriors ``q`` at once, the true risk of the
stochastic classifier is at most

.. math:: B(q) = F(L, D), \qquad L = \sum_i q_i l_i, \quad D = \sum_i p_i f(q_i/p_i),

where :math:`F(L, D) = r(L, b(D))`: the divergence turns ``D`` into a budget ``b``, the distance inverts it. ``F``
increases in both arguments. :class:`BoundProblem` holds the data, evaluates ``B`` and its derivatives, and knows
nothing of solvers.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import distances, divergences, optimality, problem_file
from .constants import check_names, check_sample_size
from .constraints import Constraint, Posteriors
from .distances import Distance
from .divergences import Budget, Divergence
from .errors import InputError
from .immutable import Immutable, fixed
from .numerics.elementwise import Numbers
from .numerics.inner import dot
from .solving import merging
from .validation import check_delta, check_error_counts, check_order, check_posterior, check_prior, check_risks

if TYPE_CHECKING:
    import cvxpy
    import pyomo.environ as pyo

    from .solution import Solution


class Outer(NamedTuple):
    """The outer function ``F(L, D)`` with its first and second partial derivatives.

    ``D`` stands for the statistic, or for the divergence's size.
    """

    value: float
    L: float
    D: float
    LL: float
    LD: float
    DD: float


class Slopes(NamedTuple):
    """The bound and its slopes in the empirical risk and in the divergence's size."""

    value: float
    L: float
    T: float


class Judgement(NamedTuple):
    """What is recomputed from a solver's weights."""

    bound: float
    #: The first-order decrease that is left, relative to the bound where that is above one.
    kkt_residual: float
    #: Not a number where the problem has none.
    empirical_risk: float = math.nan
    divergence: float = math.nan


#: What a problem is beside its classifiers, and what follows from that alone.
_GIVEN = ("m", "delta", "distance_function", "divergence_function", "constant")
_WITHOUT_CLASSIFIERS = (*_GIVEN, "constant_value", "log_constant", "coefficient", "exponent")

#: Sets of posteriors by their constraints, so that a problem that is replaced does not look for contradictions again.
_set_of_posteriors = lru_cache(maxsize=64)(Posteriors)


class Settings(Immutable):
    """What a problem, or a batch of them, is beside its classifiers."""

    #: True when the prior was left out, so that every weight is the same number.
    uniform_prior: bool
    distance_function: Distance
    divergence_function: Divergence
    constant: str

    @property
    def distance(self) -> str:
        """Name of the distance."""
        return self.distance_function.name

    @property
    def divergence(self) -> str:
        """Name of the divergence."""
        return self.divergence_function.name

    @property
    def order(self) -> float:
        """Rényi order: 2 for χ², 1 for the KL divergence (the limit)."""
        return self.divergence_function.order


class Problem(Settings):
    """What every minimisation is made of: (risks, m, δ, prior) × a distance × a divergence × a constant.

    :class:`BoundProblem` and :class:`~pacb_models.DirectProblem` take the same arguments and differ in the function of
    the posterior that they minimise. A problem never changes: :meth:`replace` makes another one.
    """

    #: What the results of a benchmark call it; solvers ask for methods instead.
    kind = "own"

    risks: NDArray[np.float64]
    m: int
    delta: float
    prior: NDArray[np.float64]
    #: What stands before the distance's name when the problem is described.
    form = ""
    #: The error counts, when the problem was given by them.
    errors: NDArray[np.int64] | None = None
    #: Constraints on the posterior, and the set of posteriors that keep them; None when all of the simplex does.
    constraints: tuple[Constraint, ...] = ()
    posteriors: Posteriors | None = None
    #: False when problems of this form are minimised over the whole simplex only.
    constrainable = True

    #: What a problem of our own forms has beside its bound.
    bound_at: Any = None
    worst_case: Any = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.constraints:
            self._set(posteriors=_set_of_posteriors(self.size, self.constraints))

    def __getstate__(self) -> dict[str, Any]:
        # The set is made anew from the constraints.
        return {name: value for name, value in vars(self).items() if name != "posteriors" or not self.constraints}

    def __init_subclass__(cls, **arguments: Any) -> None:
        """A class with a bound of its own inherits neither another one's form nor what judges it."""
        super().__init_subclass__(**arguments)
        if "bound" in vars(cls):
            for name in {"judge", "bound_at", "worst_case"} - vars(cls).keys():
                setattr(cls, name, getattr(Problem, name))

    def __init__(
        self,
        risks: ArrayLike,
        m: int,
        delta: float = 0.05,
        distance: str | Distance = "kl",
        divergence: str | Divergence = "chi2",
        prior: ArrayLike | None = None,
        constant: str = "exact",
        order: float = 2.0,
        constraints: Iterable[Constraint] = (),
    ) -> None:
        checked = check_risks(risks)
        distance_function, divergence_function = resolve(distance, divergence, constant, order)
        self._set(
            risks=fixed(checked),
            m=check_sample_size(m),
            delta=check_delta(delta),
            prior=fixed(check_prior(prior, checked.size)),
            uniform_prior=prior is None,
            distance_function=distance_function,
            divergence_function=divergence_function,
            constant=constant,
        )
        if constraints:
            if not self.constrainable:
                raise InputError(f"constraints are not for a {type(self).__name__}; they are for a BoundProblem.")
            listed = _listed(constraints)
            self._set(constraints=listed, posteriors=_set_of_posteriors(checked.size, listed))

    @classmethod
    def from_counts(cls, errors: ArrayLike, m: int, **arguments: Any) -> Self:
        """The problem of classifiers that erred so many times on ``m`` examples; the other arguments are the same.

        >>> import pacb_models as pm
        >>> problem = pm.BoundProblem.from_counts([50, 100, 200], m=500, distance="linear")
        >>> problem.risks.tolist()
        [0.1, 0.2, 0.4]
        """
        counts = check_error_counts(errors, check_sample_size(m))
        problem = cls(counts / m, m, **arguments)
        problem._set(errors=fixed(counts))
        return problem

    @property
    def size(self) -> int:
        """Number of classifiers, ``H``."""
        return self.prior.size

    @cached_property
    def constant_value(self) -> float:
        """The moment constant ``I(m)`` in use; infinite where it exceeds the floating-point range."""
        return self.distance_function.constant(self.m, self.divergence_function.moments, self.order, self.constant)

    @cached_property
    def log_constant(self) -> float:
        """Natural logarithm of the moment constant in use; always finite."""
        return self.distance_function.log_constant(self.m, self.divergence_function.moments, self.order, self.constant)

    @cached_property
    def coefficient(self) -> float:
        r"""The number ``c`` of the budget: :math:`(I/\delta)^{1-1/\alpha}` for order α,
        :math:`\ln(I/\delta)` for KL."""
        return self.divergence_function.coefficient(self.constant_value, self.log_constant, self.delta)

    @cached_property
    def exponent(self) -> int:
        """The divisor of the budget of a KL-divergence bound."""
        return self.distance_function.exponent(self.m)

    def empirical_risk(self, posterior: NDArray[np.float64]) -> float:
        """The empirical risk ``L`` of the stochastic classifier."""
        # Weights that sum to one average the risks; rounding must not carry the average out of their range.
        return min(max(dot(np.asarray(posterior), self.risks), 0.0), 1.0)

    def statistic(self, posterior: NDArray[np.float64]) -> float:
        """The separable sum ``D`` of the divergence."""
        return self.divergence_function.statistic(posterior, self.prior)

    def bound(self, posterior: ArrayLike) -> float:
        """The bound at a posterior given in the order of ``risks``."""
        raise NotImplementedError

    def kkt_residual(self, posterior: ArrayLike) -> float:
        """How far a posterior is from stationarity, in units of the bound; zero at a KKT point.

        It is the first-order decrease that is left over the simplex, or over the set that the constraints allow.
        """
        return self.judge(check_posterior(posterior, self.size)).kkt_residual

    def gradient(self, posterior: ArrayLike) -> NDArray[np.float64]:
        """The derivatives of the bound with respect to the posterior weights."""
        raise NotImplementedError

    def judge(self, q: NDArray[np.float64]) -> Judgement:
        """What a solution is judged by, at weights on the simplex, which are not checked.

        A problem of another form defines ``bound`` and ``gradient``; its residual is the first-order decrease that is
        left, :math:`\\langle \\nabla B, q\\rangle - \\min_i \\partial_i B`.
        """
        bound, slopes = float(self.bound(q)), np.asarray(self.gradient(q))
        risk = self.empirical_risk(q) if "risks" in vars(self) else math.nan
        return Judgement(bound, relative(optimality.decrease(slopes, q, self.posteriors), bound), risk)

    def replace(self, **changes: Any) -> Self:
        """The same problem with some arguments changed, for instance ``problem.replace(delta=0.01)``."""
        arguments: dict[str, Any] = {
            "risks": self.risks,
            "m": self.m,
            "delta": self.delta,
            "distance": self.distance_function,
            "divergence": self.divergence_function,
            "prior": None if self.uniform_prior else self.prior,
            "constant": self.constant,
        }
        if self.order > 1.0:
            arguments["order"] = self.order
        if self.constraints:
            arguments["constraints"] = self.constraints
        if "divergence" not in changes and "order" in changes:
            changes["divergence"] = self.divergence
        problem = type(self)(**(arguments | changes))
        if self.errors is not None and not {"risks", "m"} & changes.keys():
            problem._set(errors=self.errors)
        return problem

    def of_classifiers(
        self, risks: NDArray[np.float64], prior: NDArray[np.float64] | None, posteriors: Posteriors | None = None
    ) -> Self:
        """The same problem of other classifiers, whose risks and prior are right: unchecked, and no constant anew."""
        if type(self).__init__ is not Problem.__init__:
            return self.replace(risks=risks, prior=prior)
        _ = self.coefficient  # computed and kept here, and not in each of the others
        known = vars(self)
        problem = object.__new__(type(self))
        problem._set(
            risks=fixed(risks),
            prior=fixed(check_prior(None, risks.size) if prior is None else prior),
            uniform_prior=prior is None,
            posteriors=posteriors,
            **{name: known[name] for name in _WITHOUT_CLASSIFIERS if name in known},
        )
        return problem

    def to_json(self) -> str:
        """The problem as JSON, in the format of :mod:`pacb_models.problem_file`.

        >>> import pacb_models as pm
        >>> problem = pm.BoundProblem([0.1, 0.3], m=100)
        >>> pm.BoundProblem.from_json(problem.to_json())
        BoundProblem(H=2, m=100, delta=0.05, distance='kl', divergence='chi2', prior=uniform, constant='exact')
        """
        return problem_file.as_json(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The problem in a JSON text that :meth:`to_json` or ``pacb export`` wrote; numbers keep all their digits."""
        return problem_file.from_record(cls, problem_file.read_record(text))

    def merged(self) -> merging.Merged[Self]:
        """The problem in which classifiers of equal risk are one, and how to share out its posteriors.

        It has the same minimum and the same local minima, whatever the prior (see
        :mod:`pacb_models.solving.merging`), and at most ``m + 1`` classifiers when risks are error counts over ``m``.

        >>> import pacb_models as pm
        >>> problem = pm.BoundProblem([0.3, 0.1, 0.3], m=500, distance="linear")
        >>> merged = problem.merged()
        >>> merged.problem.size
        2
        >>> merged.expand([0.5, 0.5]).tolist()
        [0.25, 0.5, 0.25]
        """
        return merging.merge(self)

    def _another(self) -> str:
        return "a problem never changes; problem.replace(...) makes another one"

    def describe(self) -> str:
        """The problem's kind, distance and divergence in words, for messages."""
        if self.bound_at is None and self.worst_case is None:
            return f"a {type(self).__name__}"
        kept = "" if self.posteriors is None else f" subject to {self.posteriors.describe()}"
        return f"{self.form}the {self.distance} distance with the {self.divergence} divergence{kept}"

    def __repr__(self) -> str:
        if self.bound_at is None and self.worst_case is None:
            return f"{type(self).__name__}(H={self.size})"
        order = f", order={self.order:g}" if self.divergence == "renyi" else ""
        prior = "uniform" if self.uniform_prior else "given"
        kept = f", constraints={list(self.constraints)!r}" if self.constraints else ""
        return (
            f"{type(self).__name__}(H={self.size}, m={self.m}, delta={self.delta!r}, distance={self.distance!r}, "
            f"divergence={self.divergence!r}{order}, prior={prior}, constant={self.constant!r}{kept})"
        )


class BoundProblem(Problem):
    """Minimise a PAC-Bayesian bound over the posteriors on a finite set of classifiers.

    A problem never changes: :meth:`replace` makes another one.

    Parameters
    ----------
    risks : array of shape (H,)
        Empirical risks in [0, 1], each measured on ``m`` i.i.d. examples that were not used to train the classifier.
    m : int
        Number of those examples, 1 to 10⁹.
    delta : float
        The bound holds with probability at least ``1 - delta``.
    distance : {"kl", "linear", "squared", "pinsker", "ch"} or Distance
        How empirical and true risk are compared; the last two exist for the KL divergence only.
    divergence : {"chi2", "kl", "renyi"} or Divergence
        How posterior and prior are compared.
    prior : array of shape (H,), optional
        Positive weights that sum to one and were fixed before seeing the sample; uniform by default.
    constant : {"exact", "one-sided", "paper"}
        The moment constant: exact (never below the supremum); that of the one-sided distance, which is smaller and as
        valid; or as printed in the paper, to reproduce its figures.
    order : float
        Rényi order above one; read when ``divergence="renyi"``.
    constraints : sequence of Constraint
        What the posterior has to keep: :func:`pacb_models.average`, :func:`pacb_models.weights`,
        :func:`pacb_models.support`. The bound is valid whatever they are, and they may depend on the sample. They are
        about empirical averages, not about true ones.

    Examples
    --------
    >>> import pacb_models as pm
    >>> problem = pm.BoundProblem([0.1, 0.2, 0.4], m=500, delta=0.05, distance="kl")
    >>> round(problem.bound([0.6, 0.3, 0.1]), 4)
    0.2162
    """

    kind = "bound"

    def bound_at(self, L: Numbers, size: Numbers) -> Numbers:
        """The bound as a function of the empirical risk and of the divergence's size: jointly concave, increasing."""
        return self.distance_function.invert(L, self.budget_at(size).value)

    def budget_at(self, size: Numbers) -> Budget:
        """The budget of the distance as a function of the divergence's size."""
        return self.divergence_function.size_budget(size, self.coefficient, self.exponent)

    def slopes_at(self, L: float, size: float) -> Slopes:
        """The bound and its two slopes, in the empirical risk and in the divergence's size."""
        budget = self.budget_at(size)
        value, r_L, r_b = self.distance_function.slopes(L, budget.value)
        return Slopes(value, r_L, r_b * budget.slope)

    def divergence_size(self, posterior: NDArray[np.float64]) -> float:
        """The divergence's size: its statistic, or a root of it that stays in the range of floating point."""
        return self.divergence_function.size(posterior, self.prior)

    def outer(self, L: float, D: float) -> float:
        """The bound as a function of the empirical risk and the statistic."""
        budget = self.divergence_function.budget(D, self.coefficient, self.exponent)
        return self.distance_function.invert(L, budget.value)

    def outer_derivatives(self, L: float, D: float) -> Outer:
        """``F(L, D)`` and its partial derivatives in the empirical risk and the statistic."""
        return self._derivatives(L, self.divergence_function.budget(D, self.coefficient, self.exponent))

    def derivatives_at(self, L: float, size: float) -> Outer:
        """``F`` and its partial derivatives in the empirical risk and the divergence's size."""
        return self._derivatives(L, self.budget_at(size))

    def _derivatives(self, L: float, budget: Budget) -> Outer:
        """By the chain rule through the budget."""
        r = self.distance_function.derivatives(L, budget.value)
        return Outer(
            r.value,
            r.L,
            r.b * budget.slope,
            r.LL,
            r.Lb * budget.slope,
            r.bb * budget.slope * budget.slope + r.b * budget.bend,
        )

    def bound(self, posterior: ArrayLike) -> float:
        """The bound at a posterior given in the order of ``risks``."""
        q = check_posterior(posterior, self.size)
        # Not by bound_at, which a subclass that builds on this bound does not inherit.
        return self.distance_function.invert(self.empirical_risk(q), self.budget_at(self.divergence_size(q)).value)

    def gradient(self, posterior: ArrayLike) -> NDArray[np.float64]:
        """The derivatives of the bound with respect to the posterior weights."""
        return optimality.gradient(self, check_posterior(posterior, self.size))

    def judge(self, q: NDArray[np.float64]) -> Judgement:
        L, size = self.empirical_risk(q), self.divergence_size(q)
        slopes = self.slopes_at(L, size)
        residual = relative(optimality.residual_at(self, q, size, slopes), slopes.value)
        return Judgement(slopes.value, residual, L, self.divergence_function.value_of_size(size))

    def classify(self, posterior: ArrayLike, tol: float = 1e-8) -> str:
        """``"local minimum"``, ``"saddle"`` or ``"not stationary"``, by the bordered Hessian on its support."""
        q = check_posterior(posterior, self.size)
        return optimality.classify(self, q, tol)

    def pyomo_model(self, formulation: str = "lifted") -> pyo.ConcreteModel:
        """The minimisation as a Pyomo model; see :func:`pacb_models.models.pyomo_models.pyomo_model`."""
        from .models.pyomo_models import pyomo_model

        return pyomo_model(self, formulation)

    def read_back(self, model: pyo.ConcreteModel | cvxpy.Problem) -> Solution:
        """The weights of a model that was changed or solved by hand, judged as a solver's are.

        See :func:`pacb_models.models.reading.read_back`.
        """
        from .models.reading import read_back

        return read_back(self, model)

    def cvxpy_problem(self) -> cvxpy.Problem:
        """The minimisation as a CVXPY problem, where it is convex.

        See :func:`pacb_models.models.convex.cvxpy_problem`.
        """
        from .models.convex import cvxpy_problem

        return cvxpy_problem(self)


def _listed(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Constraints as a tuple; one alone will do."""
    if isinstance(constraints, Constraint):
        return (constraints,)
    try:
        return tuple(constraints)
    except TypeError:
        raise InputError(f"constraints is {reprlib.repr(constraints)}; it must be a list of constraints.") from None


def relative(residual: float, bound: float) -> float:
    """A residual in units of the bound where that is above one: a vacuous bound has rounding errors of its size."""
    return max(residual, 0.0) / max(bound, 1.0) if math.isfinite(bound) else math.inf


def resolve(
    distance: str | Distance, divergence: str | Divergence, constant: str, order: float
) -> tuple[Distance, Divergence]:
    """The distance and divergence objects, once the names are known to go together."""
    moments = divergence.moments if isinstance(divergence, Divergence) else divergence
    if not isinstance(distance, Distance):
        check_names(distance, moments, constant)
        distance = distances.BY_NAME[distance]
    elif distance is distances.BY_NAME.get(distance.name):
        check_names(distance.name, moments, constant)
    if not isinstance(divergence, Divergence):
        divergence = divergences.by_name(divergence, check_order(order) if divergence == "renyi" else order)
    return distance, divergence
