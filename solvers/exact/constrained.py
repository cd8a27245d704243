r"""The global minimum over posteriors that keep constraints: the same search, on the frontier of the constrained set.

Averages, caps and floors: the frontier's points are minimisers of :math:`T + \gamma L` over the set
(:class:`~pacb_models.constraints.tilting.Tilting`), and their multipliers are the lines of the proof. Limits on the
support: :mod:`.branching`.
"""

import math

import numpy as np

from pacb_models.constraints.posteriors import FEASIBLE
from pacb_models.constraints.tilting import Minimiser, Tilting
from pacb_models.divergences.frontiers import LARGEST, Frontier, Lines
from pacb_models.numerics.elementwise import Array
from pacb_models.problem import BoundProblem
from pacb_models.proofs import Leaf, Proof
from pacb_models.proofs.checker import Region
from pacb_models.solution import Outcome

from .effort import CONSTRAINED
from .results import needed, outcome
from .search import Search

#: Where the frontier is taken to have ended: strengths relative to the spread of the risks.
END = 1e13
#: Passes over the classifiers that a search may take, and the size of a set with half as many: about ten seconds. With
#: two rows and caps order 10 took 4760 at H = 100 000, order 50 up to 16 000 at 20 000; others take hundreds.
PASSES, WIDE = 30_000, 25_000
#: Lines of another problem's proof that are tried, at most.
MOST = 40


class ConstrainedFrontier(Frontier):
    r"""The frontier of a constrained set; the coordinate is the logarithm of the strength, for a homogeneous size
    :math:`\gamma\,(T/\tau)^{\alpha-1}`, γ else. Minimisers that were asked for are kept, as starts for others; after so
    many passes over the classifiers no others are looked for."""

    def __init__(self, problem: BoundProblem, keep: bool = True, passes: float = math.inf) -> None:
        """``keep`` is False where only the last minimiser is of use to the next."""
        assert problem.posteriors is not None
        super().__init__(problem.risks, problem.prior)
        self.problem, self.posteriors, self.region = problem, problem.posteriors, Region(problem)
        self.tilting = Tilting(problem.divergence_function, self.y, self.p, problem.posteriors)
        self.known: dict[float, Minimiser] = {}
        #: Risks, sizes and rows by coordinate.
        self.drawn: dict[float, Array] = {}
        self.keep, self.passes, self.raised = keep, passes, 0.0
        #: The multipliers that prove the smallest risk, in the rows' own units.
        self.floor_multipliers = np.zeros(len(self.posteriors.rows))
        self.floor = max(self.region.smallest(self.region.y, self.floor_multipliers), 0.0)

    def spent(self, lines: int, most: int) -> bool:
        """Return True also when there were as many passes as there may be."""
        return super().spent(lines, most) or self.tilting.passes > self.passes

    @property
    def last(self) -> float:
        return math.log(END / max(self.spread, 1e-300))

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        start = self.line(-math.inf)
        return (start.x, start.T), (start.x, start.T)

    def minimiser(self, z: float) -> Minimiser:
        """Return the minimiser at a coordinate, found from the one next to it; that one itself where none is found."""
        z = min(z, self.last)
        if z not in self.known:
            start = self._near(z)
            if start is not None and self.tilting.passes > self.passes:
                return start
            found = self.tilting.of_strength(math.exp(min(z, LARGEST)), start)
            if start is not None and found.error > max(start.error, FEASIBLE):
                found = start
            self._know(z, found)
        return self.known[z]

    def _know(self, z: float, found: Minimiser) -> None:
        if not self.keep:
            self.known.clear()
        self.known[z] = found

    def _near(self, z: float) -> Minimiser | None:
        near = min(self.known, key=lambda other: abs(max(other, -30.0) - z), default=None)
        return None if near is None else self.known[near]

    def line(self, z: float) -> Lines:
        x, size, gamma = self._exact(z)[:3].tolist()
        return Lines(x, size, gamma, size + gamma * x)

    def around(self, z: float, distances: Array) -> Array:
        r"""Draws the lines of the tangent at a minimiser: they are loose by the square of what it is off. Along the
        frontier :math:`dT = -\gamma\,dL`. At large orders strengths at one size are too far from those at another."""
        found, coordinates = self.minimiser(z), z + distances
        if self.tilting.growth or not self.tilting.divergence.homogeneous:
            # What is beyond all others is where the search goes on.
            inside = coordinates[(coordinates != z) & (coordinates < max(self.known))]
            rows = found.ahead(found.gamma * np.exp(inside - z))
            x, size = self._exact(z)[:2].tolist()
            sizes = size - 0.5 * (rows[:, 0] + found.gamma) * rows[:, -1]
            rows[:, 3:-1] /= self.posteriors.scales
            self.drawn.update(zip(inside.tolist(), np.column_stack((x + rows[:, -1], sizes, rows[:, :-1]))))
        return coordinates

    def lines(self, z: Array) -> Lines:
        # In order, as each begins where another ended.
        for each in np.sort(z).tolist():
            self.drawn[each] = self.drawn[each] if each in self.drawn else self._exact(each)
        strongest = self.known[max(self.known)]
        if strongest.gamma > self.raised and self.posteriors.rows:
            self.raised = strongest.gamma
            told = self.posteriors.multipliers(self.y, strongest.posterior)
            for multipliers in (strongest.multipliers / strongest.gamma, told):
                own = multipliers / self.posteriors.scales
                floor = self.region.smallest(self.region.y, own)
                if floor > self.floor:
                    self.floor, self.floor_multipliers = floor, own
        table = np.array([self.drawn[each] for each in z.tolist()])
        return Lines(table[:, 0], table[:, 1], *self.region.supporting(table[:, 2:]))

    def _exact(self, z: float) -> Array:
        """Return risk and size of the minimiser at a coordinate, and the row of its line."""
        found, q = self.minimiser(z), self.posterior(z)
        at = float(np.dot(q, self.y)), self.problem.divergence_size(q)
        return np.array([*at, found.gamma, found.theta, found.size, *(found.multipliers / self.posteriors.scales)])

    def rows(self, z: Array) -> Array:
        return np.array([self.drawn[each][2:] if each in self.drawn else self._exact(each)[2:] for each in z.tolist()])

    def at_slope(self, slope: float) -> float:
        found = self.tilting.at(slope, self._near(math.log(slope)))
        z = self.coordinate(slope, found.size)
        self._know(z, found)
        return z

    def coordinate(self, gamma: float, size: float) -> float:
        """Return the coordinate of the line with a slope that touches at a size."""
        return min(math.log(gamma) + self.tilting.growth * math.log(size / self.tilting.unit), self.last)

    def posterior(self, z: float) -> Array:
        q = self.minimiser(max(self.known) if z == math.inf else z).posterior
        return q / float(np.add.reduce(q))

    def leaf(self, z: Array) -> Leaf:
        """Return the lines at some coordinates, and that of the smallest size, as a part of a proof."""
        return Leaf(self.rows(np.append(z, -math.inf)), self.floor_multipliers)


def search_set(problem: BoundProblem, proof: Proof | None = None, passes: int = PASSES) -> tuple[Search, Leaf]:
    """Search the frontier of a set with averages, caps and floors, by so many passes over the classifiers if these are
    few; the lines of another problem's proof are tried first."""
    frontier = ConstrainedFrontier(problem, passes=passes / (1.0 + problem.size / WIDE))
    search = Search(problem, frontier, CONSTRAINED)
    search.run(lambda: _coordinates(frontier, proof))
    # Lines from the smallest size on: the start of the frontier need not be the prior.
    return search, frontier.leaf(needed(search))


def minimise_constrained(problem: BoundProblem, proof: Proof | None = None) -> Outcome:
    """Return the minimum of a constrained problem with its proof."""
    from .branching import Branching

    assert problem.posteriors is not None
    if problem.posteriors.support is not None:
        return Branching(problem).outcome()
    return outcome(*search_set(problem, proof))


def _coordinates(frontier: ConstrainedFrontier, proof: Proof | None) -> Array | None:
    """Return where another problem's proof has its lines."""
    if not isinstance(proof, Proof) or not isinstance(proof.tree, Leaf):
        return None
    lines = proof.tree.lines[proof.tree.lines[:, 0] > 0.0]
    lines = lines[:: -(-len(lines) // MOST or 1)]
    return np.unique([frontier.coordinate(*each) for each in lines[:, [0, 2]].tolist()]) if len(lines) > 1 else None
