"""The interface between problems and methods; every solver, ours or a third party's, is one small subclass."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import distances, divergences
from .problem import Problem
from .solution import Outcome, Solution

if TYPE_CHECKING:
    from .solving.many import BatchOutcome, ProblemBatch
    from .solving.merging import Merged

#: What a solver can need, and the methods that must be there: of the problem, of its distance or of its divergence.
#: Where several stand together, one of them is enough.
METHODS: dict[str, tuple[str, ...]] = {
    "gradient": ("problem.gradient",),
    "outer": ("problem.bound_at",),
    "hessian": ("problem.bound_at", "divergence.curvature"),
    "path": ("problem.bound_at", "divergence.frontier or slope_inverse"),
    "model": ("problem.bound_at", "distance.express", "divergence.express"),
    "supports": ("problem.bound_at", "divergence.supports"),
    "cone": ("problem.bound_at", "divergence.cone"),
    "excess": ("problem.worst_case", "distance.express_excess"),
    "penalty": ("problem.worst_case",),
}
#: The kinds of problem that a solver of version 0.2 lists, in these terms.
KINDS = {"bound": "outer", "direct": "penalty"}


class Solver:
    """A method for minimising a bound.

    A subclass sets ``name``, says what it needs of a problem, and implements :meth:`run`. An instance is registered
    under the entry-point group ``pacb_models.solvers``.
    """

    #: Name used by :func:`pacb_models.solve`.
    name: str
    #: What it needs of a problem, in the words of :data:`METHODS`: a problem that has it can be minimised.
    needs: tuple[str, ...] = ()
    #: A method that knows only some of our bounds lists them, as ``{"chi2": ("linear", …), …}``.
    handles: dict[str, tuple[str, ...]] = {}
    #: True when it can minimise any pair; False for a method that has ``handles`` or ``needs``.
    any_pair: bool = False
    #: Kinds of problem, for a method that has ``handles`` or ``any_pair``: "bound"
    #: (:class:`~pacb_models.BoundProblem`), "direct" (:class:`~pacb_models.DirectProblem`), or both.
    kinds: tuple[str, ...] = ("bound",)
    #: Modules that must be importable.
    requires: tuple[str, ...] = ()
    #: How to get them, as a command or a sentence.
    install: str = ""
    #: True when the point it returns is certified to be the global minimum.
    exact: bool = False
    #: True when where it ends may depend on where it starts; False for a method that searches everywhere.
    local: bool = True
    #: True when a ``time_limit`` option is honoured inside :meth:`run`.
    keeps_time_limit: bool = False
    #: The kinds of constraints on the posterior that it honours: "average", "weights", "support". A problem with
    #: another kind is refused for it.
    honours: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """None when the solver can run here, else what to install. Looks without importing."""
        if not self.requires:
            return None
        absent = [module for module in self.requires if importlib.util.find_spec(module) is None]
        if not absent:
            return None
        return f"{', '.join(absent)} not installed: {self.install or 'pip install ' + ' '.join(absent)}"

    def refusal(self, problem: Problem) -> str | None:
        """None when this method can minimise the problem and honours its constraints, else a clause that says why
        not."""
        if problem.posteriors is not None:
            for kind, words in problem.posteriors.kinds().items():
                if kind not in self.honours:
                    return f"it does not honour {words}"
        return self.unsupported(problem)

    def unsupported(self, problem: Problem) -> str | None:
        """None when the problem is in reach of this method, else a clause that says why not; constraints apart."""
        for need in self.needs:
            reason = unmet(problem, need)
            if reason is not None:
                return reason
        if self.handles or self.any_pair or not self.needs:
            return self._not_listed(problem)
        return None

    def _not_listed(self, problem: Problem) -> str | None:
        """A clause when neither the kind nor the pair is among those listed."""
        if all(lacking(problem, METHODS[KINDS[kind]][0]) for kind in self.kinds):
            return f"it handles {' and '.join(self.kinds)} problems only"
        if self.any_pair:
            return None
        for divergence, names in self.handles.items():
            # Our own objects, not others that inherit a name with another formula.
            ours = type(divergences.by_name(divergence)) is type(problem.divergence_function)
            if ours and any(problem.distance_function is distances.BY_NAME[name] for name in names):
                return None
        pairs = "; ".join(f"{divergence}: {', '.join(names)}" for divergence, names in self.handles.items())
        return f"it handles {pairs}"

    def run(self, problem: Any, *args: Any, **options: Any) -> Outcome:
        """Minimise the bound. ``options`` are the method's own keyword arguments."""
        raise NotImplementedError

    def run_batch(self, batch: ProblemBatch) -> BatchOutcome | None:
        """Minimise many bounds together. None when the method does not do that: then :meth:`run` takes them one by
        one."""
        return None

    def continued(self, last: Solution) -> dict[str, Any]:
        """Options with which a problem begins where a similar one ended; none where that is no use."""
        return {}

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        """Whether equal classifiers are merged for this method unless :func:`pacb_models.solve` is told otherwise.

        False when the answer depends on how many classifiers share a risk, or when merging takes longer than it saves.
        A start has a weight for each of them.
        """
        return options.get("start") is None

    def expand_details(self, details: dict[str, Any], merged: Merged[Any]) -> dict[str, Any]:
        """``details`` of a run on a merged problem in terms of the original one.

        A method whose details hold weights, or other sizes of supports than those of ``distinct_points``, overrides it.
        """
        points = details.get("distinct_points")
        return details if points is None else {**details, "distinct_points": merged.expand_points(points)}

    def __repr__(self) -> str:
        return f"<solver {self.name!r}>"


_BASES: dict[str, type] = {"problem": Problem, "distance": distances.Distance, "divergence": divergences.Divergence}

#: What a method repeats in other terms. A subclass that changes one of these and inherits the method has another
#: formula.
REPEATS = {
    "express": ("derivatives", "invert", "statistic", "budget"),
    "express_excess": ("forward",),
    "cone": ("statistic", "budget"),
}


def unmet(problem: Problem, need: str) -> str | None:
    """None when a problem has what a solver can need, else a clause that says what it lacks."""
    objects = problem, getattr(problem, "distance_function", None), getattr(problem, "divergence_function", None)
    kinds: Any = tuple(map(type, objects))
    if _meets(kinds, need):
        return None
    return next((reason for methods in METHODS.get(need, ()) if (reason := lacking(problem, methods))), None)


def lacking(problem: Problem, methods: str) -> str | None:
    """None when a problem has a method, such as "distance.express", else a clause that says who lacks it."""
    owner, _, names = methods.partition(".")
    thing: Any = problem if owner == "problem" else getattr(problem, f"{owner}_function", None)
    kind: Any = type(thing)
    complaint = _complaint(kind, owner, names)
    if complaint is None:
        return None
    who = "the problem" if thing is problem else f"the {getattr(thing, 'name', 'missing')} {owner}"
    return f"{who} {complaint} (class {kind.__name__})"


@lru_cache(maxsize=4096)
def _meets(kinds: tuple[Any, ...], need: str) -> bool:
    """Whether the classes of a problem, its distance and its divergence have what a solver can need.

    It is asked for every problem that is solved, and so remembered.
    """
    owners = dict(zip(_BASES, kinds, strict=True))
    asked = [methods.partition(".") for methods in METHODS.get(need, ())]
    return all(_complaint(owners[owner], owner, names) is None for owner, _, names in asked)


@lru_cache(maxsize=4096)
def _complaint(kind: Any, owner: str, names: str) -> str | None:
    """None when a class has one of the methods. One that the base class leaves open is for its subclass to bring."""
    complaint = f"lacks the method `{names.replace(' or ', '` or `')}`"
    for name in names.split(" or "):
        if getattr(kind, name, None) not in (None, getattr(_BASES[owner], name, None)):
            changed = [other for other in REPEATS.get(name, ()) if _older(kind, name, other)]
            if not changed:
                return None
            complaint = f"inherits the method `{name}`, but not `{changed[0]}`"
    return complaint


def _older(kind: type, name: str, other: str) -> bool:
    """Whether a class has one method from a class further up than another method."""
    lines = [next((k for k, base in enumerate(kind.__mro__) if each in vars(base)), -1) for each in (name, other)]
    return lines[0] > lines[1] >= 0
