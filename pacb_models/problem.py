r"""A bound minimisation: (risks, m, δ, prior) × a distance × a divergence × a constant × constraints.

With probability at least :math:`1 - \delta` over the sample, for all posteriors ``q`` at once, the true risk of the
stochastic classifier is at most

.. math:: B(q) = F(L, T), \qquad L = \sum_i q_i l_i,

``T`` the size of the divergence from the prior, and :math:`F(L, T) = r(L, b(T))`: the divergence turns ``T`` into a
budget ``b``, the distance inverts it. ``F`` is jointly concave, and increases in both arguments. :class:`BoundProblem`
holds the data, evaluates ``B`` and its derivatives, and knows nothing of solvers.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import distances, divergences, merging, optimality, problem_file
from .constants import check_pair, check_sample_size
from .constraints import Constraint, Posteriors
from .distances import Distance
from .divergences import Budget, Divergence
from .errors import InputError
from .immutable import Immutable
from .numerics.elementwise import Numbers
from .numerics.inner import dot
from .validation import (
    check_delta,
    check_error_counts,
    check_final,
    check_order,
    check_posterior,
    check_prior,
    check_risks,
)

if TYPE_CHECKING:
    import cvxpy
    import pyomo.environ as pyo

    from .algebra import Algebra, Expression
    from .models.casadi_models import CasadiBound
    from .models.convex import ConvexBound
    from .models.pyomo_blocks import BoundBlock
    from .solution import Solution


class Outer(NamedTuple):
    """The outer function ``F(L, T)`` with its first and second partial derivatives."""

    value: float
    L: float
    T: float
    LL: float
    LT: float
    TT: float


class Judgement(NamedTuple):
    """What is recomputed from a solver's weights."""

    bound: float
    #: The first-order decrease that is left, relative to the bound where that is above one.
    kkt_residual: float
    #: Not a number where the problem has none.
    empirical_risk: float = math.nan
    divergence: float = math.nan
    #: The parameters by which authors know the theorem.
    parameters: Mapping[str, float] = MappingProxyType({})


#: What does not depend on the classifiers, of which an object may remember more than it was given.
_WITHOUT_CLASSIFIERS = frozenset(
    "m delta distance_function divergence_function constant constant_value log_constant coefficient exponent".split()
)
#: Sets of posteriors by their constraints, so that a problem that is replaced does not look for contradictions again.
_set_of_posteriors = lru_cache(maxsize=64)(Posteriors)


class Problem(Immutable):
    """What every minimisation is made of: (risks, m, δ, prior) × a distance × a divergence × a constant.

    :class:`BoundProblem` and :class:`~pacb_models.DirectProblem` take the same arguments and differ in the function of
    the posterior that they minimise. A problem never changes: :meth:`replace` makes another one.
    """

    _another = "a problem never changes; problem.replace(...) makes another one"
    #: What the results of a benchmark call it; solvers ask for methods instead.
    kind = "own"

    risks: NDArray[np.float64]
    m: int
    delta: float
    prior: NDArray[np.float64]
    #: True when the prior was left out, so that every weight is the same number.
    uniform_prior: bool
    distance_function: Distance
    divergence_function: Divergence
    constant: str
    #: What stands before the distance's name when the problem is described.
    form = ""
    #: The error counts, when the problem was given by them.
    errors: NDArray[np.int64] | None = None
    #: Constraints on the posterior, and the set of posteriors that keep them; None when all of the simplex does.
    constraints: tuple[Constraint, ...] = ()
    posteriors: Posteriors | None = None
    #: False when problems of this form are minimised over the whole simplex only.
    constrainable = True
    #: False when stationary posteriors need not rest on the smallest risks.
    by_risk = True
    #: True on a class of your own whose bound is convex: its tangent at the solution proves a lower bound, as far as
    #: the bound is convex and ``gradient`` right (see :class:`~pacb_models.proofs.Tangent`).
    convex = False
    #: The weighted majority vote errs with probability at most so many times the bound; not a number: nothing is known.
    vote_factor = math.nan

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
        kind = type(self)
        for base in kind.__mro__[1:]:
            # What is known of ours does not hold for another bound in its place.
            if issubclass(base, Problem) and base.kind != "own" and kind.bound is not base.bound:
                name, ours = kind.__name__, base.__name__
                raise InputError(f"{name} has a bound of its own and derives from {ours}; derive it from Problem.")
        checked = check_risks(risks)
        distance_function, divergence_function = resolve(distance, divergence, constant, order)
        self._set(
            risks=checked,
            m=check_sample_size(m),
            delta=check_delta(delta),
            prior=check_prior(prior, checked.size),
            uniform_prior=prior is None,
            distance_function=distance_function,
            divergence_function=divergence_function,
            constant=constant,
        )
        if listed := _listed(constraints):
            if not self.constrainable:
                raise InputError(f"constraints are not for a {type(self).__name__}; they are for a BoundProblem.")
            self._set(constraints=listed, posteriors=_set_of_posteriors(checked.size, listed))

    @classmethod
    def from_counts(cls, errors: ArrayLike, m: int, **arguments: Any) -> Self:
        """Return the problem of classifiers that erred so many times on ``m`` examples; the other arguments are the
        same.

        >>> import pacb_models as pm
        >>> problem = pm.BoundProblem.from_counts([50, 100, 200], m=500, distance="linear")
        >>> problem.risks.tolist()
        [0.1, 0.2, 0.4]
        """
        counts = check_error_counts(errors, check_sample_size(m))
        problem = cls(counts / m, m, **arguments)
        problem._set(errors=counts)
        return problem

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
        """Return the empirical risk ``L`` of the stochastic classifier."""
        # Weights that sum to one average the risks; rounding must not carry the average out of their range.
        return min(max(dot(np.asarray(posterior), self.risks), 0.0), 1.0)

    def statistic(self, posterior: NDArray[np.float64]) -> float:
        """Return what the paper's equations are written in: :math:`\\sum_i p_i (q_i/p_i)^\\alpha`, or the KL
        divergence."""
        return self.divergence_function.statistic(posterior, self.prior)

    def bound(self, posterior: ArrayLike) -> float:
        """Return the bound at a posterior given in the order of ``risks``."""
        raise NotImplementedError

    def kkt_residual(self, posterior: ArrayLike) -> float:
        """Return how far a posterior is from stationarity, in units of the bound; zero at a KKT point.

        It is the first-order decrease that is left over the simplex, or over the set that the constraints allow.
        """
        return self.judge(check_posterior(posterior, self.size)).kkt_residual

    def gradient(self, posterior: ArrayLike) -> NDArray[np.float64]:
        """Return the derivatives of the bound with respect to the posterior weights."""
        raise NotImplementedError

    def judge(self, q: NDArray[np.float64]) -> Judgement:
        """Return what a solution is judged by, at weights on the simplex, which are not checked.

        A problem of another form defines ``bound`` and ``gradient``; its residual is the first-order decrease that is
        left, :math:`\\langle \\nabla B, q\\rangle - \\min_i \\partial_i B`.
        """
        bound, slopes = float(self.bound(q)), np.asarray(self.gradient(q))
        risk = self.empirical_risk(q) if "risks" in vars(self) else math.nan
        return Judgement(bound, relative(optimality.decrease(slopes, q, self.posteriors), bound), risk)

    def arguments(self) -> dict[str, Any]:
        """Return what the problem is made of, by the names of its constructor's arguments: attributes of these
        names."""
        known = vars(self)
        special: dict[str, Any] = {"prior": None} if known.get("uniform_prior") else {}
        if "divergence_function" in known:
            special["distance"], special["divergence"] = self.distance_function, self.divergence_function
            special["order"] = self.order if self.order > 1.0 else 2.0
        found = {}
        for name in _argument_names(type(self)):
            if name not in special and not hasattr(self, name):
                raise InputError(
                    f"{type(self).__name__} has no attribute {name!r}, an argument that replace() must hand on; set it "
                    "in __init__."
                )
            found[name] = special[name] if name in special else getattr(self, name)
        return found

    def replace(self, **changes: Any) -> Self:
        """Return the same problem with some arguments changed, for instance ``problem.replace(delta=0.01)``."""
        if "divergence" not in changes and "order" in changes:
            changes["divergence"] = self.divergence
        problem = type(self)(**(self.arguments() | changes))
        if self.errors is not None and not {"risks", "m"} & changes.keys():
            problem._set(errors=self.errors)
        return problem

    def of_classifiers(
        self, risks: NDArray[np.float64], prior: NDArray[np.float64] | None, posteriors: Posteriors | None = None
    ) -> Self:
        """Return the same problem of other classifiers, whose risks and prior are right: unchecked, and no constant
        anew."""
        if type(self).__init__ is not Problem.__init__:
            return self.replace(risks=risks, prior=prior)
        _ = self.coefficient  # computed here, and not in each of the others
        problem = object.__new__(type(self))
        known = {name: value for name, value in vars(self).items() if name in _WITHOUT_CLASSIFIERS}
        own = {"risks": risks, "prior": check_prior(None, risks.size) if prior is None else prior}
        problem._set(**known | own | {"uniform_prior": prior is None, "posteriors": posteriors})
        return problem

    def vote_bound(self, bound: float) -> float:
        """Return what a bound says of the weighted majority vote: it errs with at most this probability."""
        return min(self.vote_factor * bound, 1.0)

    def classifiers_record(self) -> dict[str, Any]:
        """Return the classifiers' part of the problem as JSON."""
        errors = None if self.errors is None else self.errors.tolist()
        return {"risks": self.risks.tolist(), "errors": errors}

    @classmethod
    def of_record(cls, record: dict[str, Any], arguments: dict[str, Any], source: str) -> Self:
        """Return the problem of the fields in a file, with the arguments beside its classifiers."""
        if record.get("errors") is None:
            return cls(record["risks"], **arguments)
        problem = cls.from_counts(record["errors"], **arguments)
        if problem.risks.tolist() != record["risks"]:
            raise InputError(f"{source} has errors that are not its risks times m.")
        return problem

    def to_json(self) -> str:
        """Return the problem as JSON, in the format of :mod:`pacb_models.problem_file`.

        >>> import pacb_models as pm
        >>> problem = pm.BoundProblem([0.1, 0.3], m=100)
        >>> pm.BoundProblem.from_json(problem.to_json())
        BoundProblem(H=2, m=100, delta=0.05, distance='kl', divergence='chi2', prior=uniform, constant='exact')
        """
        return problem_file.as_json(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the problem in a JSON text that :meth:`to_json` or ``pacb export`` wrote; numbers keep all their
        digits."""
        return problem_file.problem_of_record(cls, problem_file.read_record(text))

    def merged(self) -> merging.Merged[Self]:
        """Return the problem in which classifiers of equal risk are one, and how to share out its posteriors.

        It has the same minimum and the same local minima, whatever the prior (see
        :mod:`pacb_models.merging`), and at most ``m + 1`` classifiers when risks are error counts over ``m``.

        >>> import pacb_models as pm
        >>> problem = pm.BoundProblem([0.3, 0.1, 0.3], m=500, distance="linear")
        >>> merged = problem.merged()
        >>> merged.problem.size
        2
        >>> merged.expand([0.5, 0.5]).tolist()
        [0.25, 0.5, 0.25]
        """
        return merging.merge(self)

    def describe(self) -> str:
        """Return the problem's kind, distance and divergence in words, for messages."""
        if self.kind == "own":
            return f"a {type(self).__name__}"
        subject = "" if self.posteriors is None else f" subject to {self.posteriors.describe()}"
        return f"{self.form}the {self.distance} distance with the {self.divergence} divergence{subject}"

    def __repr__(self) -> str:
        if self.kind == "own":
            return f"{type(self).__name__}(H={self.size})"
        order = f", order={self.order:g}" if self.divergence == "renyi" else ""
        prior = "uniform" if self.uniform_prior else "given"
        constraints = f", constraints={list(self.constraints)!r}" if self.constraints else ""
        return (
            f"{type(self).__name__}(H={self.size}, m={self.m}, delta={self.delta!r}, distance={self.distance!r}, "
            f"divergence={self.divergence!r}{order}, prior={prior}, constant={self.constant!r}{constraints})"
        )


class RiskAndSize(Problem):
    """A bound :math:`F(L, T)` of a risk and the size of a divergence, ``F`` jointly concave and increasing in both."""

    @property
    def risk_matrix(self) -> NDArray[np.float64] | None:
        """The matrix ``A`` of an empirical risk :math:`q^T A q`; None where it is linear."""
        return None

    def bound_at(self, L: Numbers, size: Numbers) -> Numbers:
        """Return the bound as a function of the empirical risk and of the divergence's size: jointly concave,
        increasing."""
        return self.distance_function.invert(L, self.budget_at(size).value)

    def budget_at(self, size: Numbers) -> Budget:
        """Return the budget of the distance as a function of the divergence's size."""
        return self.divergence_function.budget(size, self.coefficient, self.exponent)

    def outer_at(self, L: float, size: float) -> Outer:
        """``F`` and its partial derivatives in the empirical risk and the divergence's size."""
        budget = self.budget_at(size)
        r = self.distance_function.derivatives(L, budget.value)
        return Outer(
            r.value,
            r.L,
            r.b * budget.slope,
            r.LL,
            r.Lb * budget.slope,
            r.bb * budget.slope * budget.slope + r.b * budget.bend,
        )

    def derivatives_at(self, L: float, size: float) -> Outer:
        """Return the same in the size of the posterior itself."""
        return self.outer_at(L, size)

    def counted(self, size: Numbers) -> Numbers:
        """Return the size that the bound counts, of a posterior's own; a number, or an expression of a model."""
        return size

    def divergence_size(self, posterior: NDArray[np.float64]) -> float:
        """Return the divergence's size: its statistic, or a root of it that stays in the range of floating point."""
        return float(self.counted(self.divergence_function.size(posterior, self.prior)))

    def bound(self, posterior: ArrayLike) -> float:
        """Return the bound at a posterior given in the order of ``risks``."""
        q = check_posterior(posterior, self.size)
        return self.bound_at(self.empirical_risk(q), self.divergence_size(q))

    def risk_gradient(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives of the empirical risk with respect to the weights."""
        return self.risks

    def express_risk(self, algebra: Algebra) -> Expression:
        """Return the empirical risk as an expression of an algebraic model."""
        return algebra.average(self.risks)

    def gradient(self, posterior: ArrayLike) -> NDArray[np.float64]:
        """Return the derivatives of the bound with respect to the posterior weights."""
        return optimality.gradient(self, check_posterior(posterior, self.size))

    def size_and_slopes(self, q: NDArray[np.float64]) -> tuple[float, Outer]:
        """Return the divergence's size of weights on the simplex, and the bound with its slopes in the risk and that
        size."""
        size = self.divergence_function.size(q, self.prior)
        return size, self.derivatives_at(self.empirical_risk(q), size)

    def judge(self, q: NDArray[np.float64]) -> Judgement:
        size, slopes = self.size_and_slopes(q)
        L, counted = self.empirical_risk(q), float(self.counted(size))
        residual = relative(optimality.residual_at(self, q, size, slopes), slopes.value)
        parameters = self.distance_function.parameters(L, self.budget_at(counted).value)
        return Judgement(slopes.value, residual, L, self.divergence_function.value(counted), parameters)

    def pyomo_model(self, formulation: str = "lifted") -> pyo.ConcreteModel:
        """Return the minimisation as a Pyomo model; see :func:`pacb_models.models.pyomo_models.pyomo_model`."""
        from .models.pyomo_models import pyomo_model

        return pyomo_model(self, formulation)

    # -- The bound in a model of the user's: each is documented where it is written ------------------------------------

    def pyomo_block(
        self, q: Any = None, *, formulation: str = "lifted", exact: bool = False, simplex: bool = True
    ) -> BoundBlock:
        """Return the bound as a block of a Pyomo model; see :func:`pacb_models.models.pyomo_blocks.pyomo_block`."""
        from .models.pyomo_blocks import pyomo_block

        return pyomo_block(self, q, formulation=formulation, exact=exact, simplex=simplex)

    def cvxpy_nonlinear(
        self, q: cvxpy.Expression, *, simplex: bool = True, exact: bool = False
    ) -> tuple[cvxpy.Expression, list[cvxpy.Constraint]]:
        """Return the bound for CVXPY's ``nlp=True``; see :func:`pacb_models.models.cvxpy_models.cvxpy_nonlinear`."""
        from .models.cvxpy_models import cvxpy_nonlinear

        return cvxpy_nonlinear(self, q, simplex=simplex, exact=exact)

    def casadi_bound(self, q: Any, *, simplex: bool = True, exact: bool = False) -> CasadiBound:
        """Return the bound in CasADi's symbols; see :func:`pacb_models.models.casadi_models.casadi_bound`."""
        from .models.casadi_models import casadi_bound

        return casadi_bound(self, q, simplex=simplex, exact=exact)

    def value_and_gradient(self, q: ArrayLike) -> tuple[float, NDArray[np.float64]]:
        """Return the bound and its derivatives; see :func:`pacb_models.models.derivatives.value_and_gradient`."""
        from .models.derivatives import value_and_gradient

        return value_and_gradient(self, q)

    def hessian_product(self, q: ArrayLike, direction: ArrayLike) -> NDArray[np.float64]:
        """Return the Hessian of the bound times a vector; see
        :func:`pacb_models.models.derivatives.hessian_product`."""
        from .models.derivatives import hessian_product

        return hessian_product(self, q, direction)

    def read_back(self, model: Any, *, prove: bool = False) -> Solution:
        """Return the weights of a model or block that was solved elsewhere, judged as a solver's are.

        See :func:`pacb_models.models.reading.read_back`.
        """
        from .models.reading import read_back

        return read_back(self, model, prove=prove)


class BoundProblem(RiskAndSize):
    """Minimise a PAC-Bayesian bound over the posteriors on a finite set of classifiers.

    Parameters
    ----------
    risks : array of shape (H,)
        Empirical risks in [0, 1], each measured on ``m`` i.i.d. examples that were not used to train the classifier.
    m : int
        Number of those examples, 1 to 10⁹.
    delta : float
        The bound holds with probability at least ``1 - delta``.
    distance : {"kl", "linear", "squared", "pinsker", "ch", "relative"} or Distance
        How empirical and true risk are compared; the last three exist for the KL divergence only.
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
    vote_factor = 2.0

    def classify(self, posterior: ArrayLike, tol: float = 1e-8) -> str:
        """``"local minimum"``, ``"saddle"`` or ``"not stationary"``, by the bordered Hessian on its support."""
        q = check_posterior(posterior, self.size)
        return optimality.classify(self, q, tol)

    def cvxpy_problem(self) -> cvxpy.Problem:
        """Return the minimisation as a CVXPY problem, where it is convex.

        See :func:`pacb_models.models.convex.cvxpy_problem`.
        """
        from .models.convex import cvxpy_problem

        return cvxpy_problem(self)

    def cvxpy_bound(self, q: cvxpy.Expression, *, simplex: bool = True) -> ConvexBound:
        """Return the bound, where it is convex, in a CVXPY problem; see
        :func:`pacb_models.models.convex.cvxpy_bound`."""
        from .models.convex import cvxpy_bound

        return cvxpy_bound(self, q, simplex=simplex)


def _argument_names(kind: type[Problem]) -> Iterator[str]:
    """Yield the names of a constructor's arguments, and of the next class's where it hands on ``**arguments``."""
    for base in kind.__mro__:
        if "__init__" in vars(base):
            _, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            passed_on = [each for each in parameters if each.kind is each.VAR_KEYWORD]
            # With them positional ones can be given by name.
            ends = (inspect.Parameter.VAR_KEYWORD, *((inspect.Parameter.VAR_POSITIONAL,) if passed_on else ()))
            yield from (each.name for each in parameters if each.kind not in ends)
            if not passed_on:
                return


def _listed(constraints: Iterable[Constraint] | None) -> tuple[Constraint, ...]:
    """Return constraints as a tuple; one alone will do."""
    if constraints is None or isinstance(constraints, Constraint):
        return (constraints,) if constraints else ()
    try:
        return tuple(constraints)
    except TypeError:
        raise InputError("constraints", constraints, "it must be a list of constraints") from None


def relative(residual: float, bound: float) -> float:
    """Return a residual in units of the bound where that is above one: a vacuous bound has rounding errors of its
    size."""
    return max(residual, 0.0) / max(bound, 1.0) if math.isfinite(bound) else math.inf


def resolve(
    distance: str | Distance, divergence: str | Divergence, constant: str, order: float
) -> tuple[Distance, Divergence]:
    """Return the distance and divergence objects, once the names are known to go together."""
    moments = divergence.moments if isinstance(divergence, Divergence) else divergence
    if not isinstance(distance, Distance):
        check_pair(distance, moments, constant)
        distance = distances.BY_NAME[distance]
    elif distance is distances.BY_NAME.get(distance.name):
        check_pair(distance.name, moments, constant)
    if not isinstance(divergence, Divergence):
        divergence = divergences.by_name(divergence, check_order(order) if divergence == "renyi" else order)
    if distance.exponential_only and divergence.moments != "kl":
        raise InputError(
            f"distance is {distance!r}, which goes with the divergence 'kl' only, not {divergence.name!r}."
        )
    check_final("distance", distance, Distance)
    check_final("divergence", divergence, Divergence)
    return distance, divergence
