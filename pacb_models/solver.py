"""The interface between problems and methods; every solver, ours or a third party's, is one small subclass."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from .merging import Merged
from .problem import Problem
from .solution import Outcome

if TYPE_CHECKING:
    from .many import BatchOutcome, ProblemBatch


class Solver:
    """A method for minimising a bound.

    A subclass sets ``name``, lists what it can handle, and implements :meth:`run`. An instance is registered under the
    entry-point group ``pacb_models.solvers``.
    """

    #: Name used by :func:`pacb_models.solve`.
    name: str
    #: (divergence, distance) pairs it can minimise, as ``{"chi2": ("linear", …), …}``.
    handles: dict[str, tuple[str, ...]] = {}
    #: True when it can minimise any pair, those of other packages' distances and divergences too.
    any_pair: bool = False
    #: Kinds of problem it can minimise: "bound" (:class:`~pacb_models.BoundProblem`), "direct"
    #: (:class:`~pacb_models.DirectProblem`), or both.
    kinds: tuple[str, ...] = ("bound",)
    #: What it asks of a problem beyond its value: "gradient" (the bound's slopes, which every problem has), "hessian"
    #: (also the second derivatives of ``F`` and ``D``), "model" (an algebraic model for a modelling system), "path"
    #: (the divergence's curve of optimal posteriors), "penalty" (a direct bound's, of each classifier).
    needs: tuple[str, ...] = ()
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

    def missing(self) -> str | None:
        """None when the solver can run here, else what to install. Looks without importing."""
        absent = [module for module in self.requires if importlib.util.find_spec(module) is None]
        if not absent:
            return None
        return f"{', '.join(absent)} not installed: {self.install or 'pip install ' + ' '.join(absent)}"

    def unsupported(self, problem: Problem) -> str | None:
        """None when the problem is in reach of this method, else a clause that says why not."""
        if problem.kind not in self.kinds:
            return f"it handles {' and '.join(self.kinds)} problems, not {problem.kind} ones"
        if self.any_pair or problem.distance in self.handles.get(problem.divergence, ()):
            return None
        pairs = "; ".join(f"{divergence}: {', '.join(names)}" for divergence, names in self.handles.items())
        return f"it handles {pairs}"

    def run(self, problem: Any, *args: Any, **options: Any) -> Outcome:
        """Minimise the bound. ``options`` are the method's own keyword arguments."""
        raise NotImplementedError

    def run_batch(self, batch: ProblemBatch) -> BatchOutcome | None:
        """Minimise many bounds together; None when the batch is none for this method, and its problems are for
        :meth:`run`.
        """
        return None

    def merges(self, problem: Problem, options: dict[str, Any]) -> bool:
        """False when, with these options, the answer depends on how many classifiers share a risk, or when merging them
        takes longer than it saves: then they are not merged unless :func:`pacb_models.solve` is asked to. A start has a
        weight for each of them.
        """
        return options.get("start") is None

    def expand_details(self, details: dict[str, Any], merged: Merged[Any]) -> dict[str, Any]:
        """``details`` of a run on a merged problem in terms of the original one; as they are, if they hold no weights
        and no sizes of supports.
        """
        return details

    def __repr__(self) -> str:
        return f"<solver {self.name!r}>"
