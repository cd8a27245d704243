"""The interface between problems and methods; every solver, ours or a third party's, is one small subclass."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import sys
from typing import TYPE_CHECKING, Any

from .distances import Distance
from .divergences import Divergence
from .problem import Problem
from .solution import Outcome, Solution

if TYPE_CHECKING:
    from .merging import Merged


class Solver:
    """A method for minimising a bound.

    A subclass sets ``name``, says what it needs of a problem, and implements :meth:`run`. An instance is registered
    under the entry-point group ``pacb_models.solvers``.
    """

    #: Name used by :func:`pacb_models.solve`.
    name: str
    #: The methods that it needs of a problem, of its distance and of its divergence, as "problem.gradient" or
    #: "distance.express"; " or " stands between methods of which one is enough.
    needs: tuple[str, ...] = ()
    #: Modules that must be importable.
    requires: tuple[str, ...] = ()
    #: How to get them, as a command or a sentence.
    install: str = ""
    #: True when the point it returns is certified to be the global minimum.
    exact: bool = False
    #: True when where it ends may depend on where it starts; False for a method that searches everywhere.
    local: bool = True
    #: A dataclass of its options with their defaults; without one they are the keyword arguments of :meth:`run`.
    Options: type[Any] | None = None
    #: The kinds of constraints on the posterior that it honours: "average", "weights", "support". A problem with
    #: another kind is refused for it.
    honours: tuple[str, ...] = ()

    @classmethod
    def option_names(cls) -> tuple[str, ...] | None:
        """Return the names of its options; None when it takes any and judges for itself."""
        if cls.Options is not None:
            return tuple(each.name for each in dataclasses.fields(cls.Options))
        parameters = list(inspect.signature(cls.run).parameters.values())[2:]
        taken = tuple(each.name for each in parameters)
        return None if any(each.kind is each.VAR_KEYWORD for each in parameters) else taken

    @property
    def keeps_time_limit(self) -> bool:
        """Whether it has an option ``time_limit``."""
        return "time_limit" in (self.option_names() or ())

    def missing(self) -> str | None:
        """Return None when the solver can run here, else what to install. Looks without importing."""
        if not self.requires:
            return None
        if "pyomo" in self.requires and sys.flags.optimize > 1:
            return "Pyomo needs docstrings, which Python leaves out with PYTHONOPTIMIZE=2 and -OO"
        absent = [module for module in self.requires if importlib.util.find_spec(module) is None]
        if not absent:
            return None
        return f"{', '.join(absent)} not installed: {self.install or 'pip install ' + ' '.join(absent)}"

    def refusal(self, problem: Problem) -> str | None:
        """Return None when this method can minimise the problem and honours its constraints, else a clause that says
        why not."""
        if problem.posteriors is not None:
            for kind, words in problem.posteriors.kinds().items():
                if kind not in self.honours:
                    return f"it does not honour {words}"
        return self.unsupported(problem)

    def unsupported(self, problem: Problem) -> str | None:
        """Return None when the problem is in reach of this method, else a clause that says why not; constraints
        apart."""
        return lacking(problem, *self.needs)

    def run(self, problem: Any, *args: Any, **options: Any) -> Outcome:
        """Minimise the bound. ``options`` are the method's own keyword arguments."""
        raise NotImplementedError

    def continued(self, last: Solution) -> dict[str, Any]:
        """Return options with which a problem begins where a similar one ended; none where that is no use."""
        return {}

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        """Return whether equal classifiers are merged for this method unless :func:`pacb_models.solve` is told
        otherwise.

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


_BASES: dict[str, type] = {"problem": Problem, "distance": Distance, "divergence": Divergence}


def lacking(problem: Problem, *methods: str) -> str | None:
    """Return None when a problem has the methods, such as "distance.express", else a clause that says who lacks which.

    A method that the base class leaves open is for its subclass to bring.
    """
    for method in methods:
        owner, _, names = method.partition(".")
        if owner not in _BASES:
            return f"it needs {method!r}, which is no method of a problem, a distance or a divergence"
        thing: Any = problem if owner == "problem" else getattr(problem, f"{owner}_function", None)
        found = [getattr(type(thing), name, None) for name in names.split(" or ")]
        if all(each in (None, getattr(_BASES[owner], name, None)) for each, name in zip(found, names.split(" or "))):
            who = "the problem" if thing is problem else f"the {getattr(thing, 'name', 'missing')} {owner}"
            return f"{who} lacks the method `{names.replace(' or ', '` or `')}` (class {type(thing).__name__})"
    return None


#: What a model is written from, with change of measure and without.
MODEL = ("problem.pyomo_block", "distance.express", "divergence.express")
DIRECT_MODEL = ("problem.worst_case", "distance.express_excess")
