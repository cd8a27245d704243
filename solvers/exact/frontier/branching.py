r"""Averages, caps and floors together with a limit on the support: branch on which classifiers have weight.

Two relaxations bound a branch from below. The first leaves out the limit on the support. The second leaves out the rows
and *tilts* the risks instead: on the set :math:`\nu \tilde A q \le 0`, so that the bound is not below that of the risks
:math:`l + \nu \tilde A`, for any :math:`\nu \ge 0`. Posteriors that keep everything are minima of the first on supports
that the two propose. What is left open when the branches are used up is reported as a gap.
"""

from __future__ import annotations

import heapq
import math
import time
from itertools import count
from typing import Any

import numpy as np

from pacb_models.constraints import Posteriors
from pacb_models.constraints.frontier import ConstrainedFrontier
from pacb_models.constraints.supports import SupportFrontier
from pacb_models.errors import InputError
from pacb_models.optimality import multipliers
from pacb_models.problem import BoundProblem
from pacb_models.solution import Outcome

from .search import Search

#: Branches and seconds after which the rest is reported as a gap.
MOST, SECONDS = 400, 20.0
#: A branch that cannot be better than the best by more than this, relative, is closed.
CLOSED = 1e-9


class Branching:
    """Best first search over supports."""

    def __init__(self, problem: BoundProblem) -> None:
        assert problem.posteriors is not None
        assert problem.posteriors.support is not None
        self.problem, self.posteriors = problem, problem.posteriors
        self.costs, self.total = problem.posteriors.support.costs(problem.size)
        self.best, self.posterior = math.inf, problem.prior
        self.tried: set[bytes] = set()
        self.evaluations = 0

    def outcome(self) -> Outcome:
        everyone = np.ones(self.problem.size, dtype=bool)
        began, order = time.monotonic(), count()
        branches: list[Any] = []
        self._push(branches, order, everyone & (self.costs <= self.total), ~everyone, -math.inf)
        lowest, looked_at = math.inf, 0
        while branches:
            limit, _, allowed, forced, proposal = heapq.heappop(branches)
            if limit >= self.best * (1.0 - CLOSED):
                lowest = min(lowest, limit)
                break
            looked_at += 1
            if looked_at > MOST or time.monotonic() - began > SECONDS:
                lowest = min(lowest, limit)
                break
            split = int(np.argmax(np.where(forced, -1.0, proposal)))
            without, within = allowed.copy(), forced.copy()
            without[split], within[split] = False, True
            self._push(branches, order, without, forced, limit)
            if float(self.costs[within].sum()) <= self.total:
                self._push(branches, order, allowed, within, limit)
        lower = min(lowest, self.best * (1.0 - CLOSED))
        closed = lower >= self.best * (1.0 - 2.0 * CLOSED)
        message = f"{looked_at} branches over supports." + ("" if closed else f" A gap is left: above {lower:.12g}.")
        found = self.posterior if self.best < math.inf else None
        status = "optimal" if closed else "acceptable" if found is not None else "not_converged"
        return Outcome(found, status, message, self.evaluations, is_global=closed, lower_bound=lower)

    def _push(self, branches: list[Any], order: Any, allowed: np.ndarray, forced: np.ndarray, above: float) -> None:
        """Bound a branch from below, try the supports that it proposes, and keep it if it may hold a smaller bound."""
        relaxed = self._without_support(allowed)
        if relaxed is None or relaxed.posterior is None or relaxed.lower_bound is None:
            return
        q = relaxed.posterior
        limit, proposal = max(above, relaxed.lower_bound), q
        room = allowed & (forced | (self.costs <= self.total - float(self.costs[forced].sum())))
        if float(self.costs[q > 0.0].sum()) > self.total:
            outcome = Search(self.problem, self._tilted(q, room, forced)).outcome()
            self.evaluations += outcome.iterations or 0
            limit = max(limit, outcome.lower_bound or -math.inf)
            assert outcome.posterior is not None
            self._try(outcome.posterior > 0.0)
            proposal = outcome.posterior + 1e-9 * q
        self._try(self._largest(q, forced))
        if not room[~forced].any() or not np.any(proposal[~forced] > 0.0):
            # The support is settled.
            self._try(forced.copy())
            return
        if limit < self.best * (1.0 - CLOSED):
            heapq.heappush(branches, (limit, next(order), room, forced, proposal))

    def _tilted(self, q: np.ndarray, room: np.ndarray, forced: np.ndarray) -> SupportFrontier:
        slopes = self.problem.slopes_at(self.problem.empirical_risk(q), self.problem.divergence_size(q))
        nu = np.zeros(len(self.posteriors.rows))
        if self.posteriors.rows and math.isfinite(slopes.L) and slopes.L > 0.0:
            everyone = self.posteriors.within(np.ones(q.size, dtype=bool))
            nu = multipliers(self._over(everyone), q) * self.posteriors.scales / slopes.L
        return SupportFrontier(self.problem, self.problem.risks + nu @ self.posteriors.matrix, room, forced)

    def _largest(self, q: np.ndarray, forced: np.ndarray) -> np.ndarray:
        """The forced classifiers and, as far as there is room, those with the largest weights."""
        chosen, left = forced.copy(), self.total - float(self.costs[forced].sum())
        for i in np.argsort(-q, kind="stable").tolist():
            if q[i] > 0.0 and not chosen[i] and self.costs[i] <= left:
                chosen[i], left = True, left - self.costs[i]
        return chosen

    def _try(self, support: np.ndarray) -> None:
        """The minimum on one support, if there is any."""
        key = np.packbits(support).tobytes()
        if key in self.tried or not support.any():
            return
        self.tried.add(key)
        found = self._without_support(support)
        if found is not None and found.posterior is not None:
            bound = self.problem.bound(found.posterior)
            if bound < self.best:
                self.best, self.posterior = bound, found.posterior

    def _without_support(self, allowed: np.ndarray) -> Outcome | None:
        """The minimum over posteriors on some classifiers that keep averages, caps and floors, if there are any."""
        part = self.posteriors.within(allowed)
        try:
            part._refuse_contradictions()
        except InputError:
            return None
        problem = self._over(part)
        outcome = Search(problem, ConstrainedFrontier(problem)).outcome()
        self.evaluations += outcome.iterations or 0
        return outcome

    def _over(self, posteriors: Posteriors) -> BoundProblem:
        """The same bound over other posteriors."""
        prior = None if self.problem.uniform_prior else self.problem.prior
        return self.problem.of_classifiers(self.problem.risks, prior, posteriors)
