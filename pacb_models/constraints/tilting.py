r"""The posterior of a constrained set that minimises :math:`D + \beta L`, with the multipliers that prove it.

For any θ and :math:`\nu \ge 0` weak duality bounds :math:`D + \beta L` from below on the set, and the weights

.. math:: q_i = \mathrm{clip}\big(p_i (f')^{-1}(s_i),\, lo_i,\, up_i\big), \qquad
          s_i = \theta - \beta l_i - \nu \tilde a_i,

minimise the Lagrangian over caps and floors. For given ν there is one θ at which they sum to one. The bound is then a
concave function of ν alone. Its gradient is :math:`\tilde A q`, its Hessian :math:`-\sum_i w_i (\tilde a_i - \bar
a)(\tilde a_i - \bar a)^T` over the weights strictly between their bounds, :math:`w_i = 1/D''_{ii}`. It is maximised by
Newton's method: the step solves a quadratic program in ν, and the search goes along the straight segment to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numerics.inner import combination, gram, products

if TYPE_CHECKING:
    from ..divergences import Divergence
    from .posteriors import Posteriors

#: Rows, in their units, are kept to this by the weights that are returned; rounding of a sum is some units of 1e-16.
KEPT = 1e-14
#: The sum of the weights is one to this.
ROUNDING = 1e-15
#: Limits of the two iterations.
NEWTON_STEPS, ROOT_STEPS, HALVINGS = 200, 200, 40
#: Steps without a better point after which rounding is taken for the reason.
PATIENCE = 4
#: How often the weights are computed for one minimiser, at most, but for the last step.
PASSES = 2000
#: Rows that are broken by more ask for a second try.
DOUBTFUL, SHORTER = 1e-9, 9
#: Added to the Hessian's diagonal, relative to its largest entry: rows may be dependent on the weights between their
#: bounds.
RIDGE = 1e-12
#: The largest speed of a weight that Newton's method reckons with, relative to the prior's.
FASTEST = 1e8
#: Two minimisers tell where a third is up to so many times their distance.
FAR = 2.0
#: The longest step of the multipliers, relative to the tilts.
REACH = 10.0


class Tilt(NamedTuple):
    """Weights that minimise :math:`D + \\beta L` over the set, and what proves it."""

    beta: float
    theta: float
    #: Of the rows in their units.
    multipliers: NDArray[np.float64]
    posterior: NDArray[np.float64]
    #: By how much the weights break a row, or leave one with a multiplier unfilled.
    error: float


class Tilting:
    """Minimisers of :math:`D + \\beta x` over a set of posteriors, ``x`` the risk above some number."""

    def __init__(
        self, divergence: Divergence, risks: NDArray[np.float64], prior: NDArray[np.float64], posteriors: Posteriors
    ) -> None:
        self.divergence, self.y, self.p = divergence, risks, prior
        self.rows, self.lower, self.upper = posteriors.matrix, posteriors.lower, posteriors.upper
        # Weights that may be anything are not clipped: comparing them costs as much as computing them.
        self.boxed = posteriors.boxed
        #: How often the weights were computed.
        self.passes = 0
        ones = np.ones(prior.size)
        self.slopes_alone = divergence.gradient(ones, prior)
        self.slope_of_one = float(divergence.gradient(ones[:1], ones[:1])[0])
        self.first = Tilt(0.0, 0.0, np.zeros(len(self.rows)), prior, math.inf)

    # -- Weights at given multipliers --------------------------------------------------------------------------------

    def weights(self, tilts: NDArray[np.float64], theta: float) -> NDArray[np.float64]:
        """The weights at ``θ - tilts``; their sum may be anything."""
        self.passes += 1
        q = self.p * self.divergence.slope_inverse(theta - tilts)
        return np.minimum(np.maximum(q, self.lower), self.upper) if self.boxed else q

    def freedom(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """How fast each weight moves with its slope: zero at a cap or a floor."""
        with np.errstate(divide="ignore", invalid="ignore"):
            moves = 1.0 / self.divergence.curvature(q, self.p)
        inside = (q > self.lower) & (q < self.upper) if self.boxed else q > 0.0
        # Above order two a weight leaves zero with infinite speed.
        return np.where(inside, np.minimum(moves, FASTEST * self.p), 0.0)

    def normalised(self, tilts: NDArray[np.float64], theta: float) -> tuple[float, NDArray[np.float64]]:
        r"""θ and the weights at which they sum to one.

        Newton's method for :math:`(S^a - 1)/a`, ``S`` the sum and :math:`a = \alpha - 1`. That is nearly linear in θ,
        as weights are powers :math:`1/a` of it; for the KL divergence, :math:`a \to 0`, it is the logarithm. Where it
        leads out of the interval that holds the root, the interval is halved.
        """
        power = self.divergence.order - 1.0
        low, high, below, above = -math.inf, math.inf, None, None
        for _ in range(ROOT_STEPS):
            q = self.weights(tilts, theta)
            total = float(np.add.reduce(q))
            if abs(total - 1.0) <= ROUNDING:
                return theta, q
            if total < 1.0:
                low, below = theta, (total, q)
            else:
                high, above = theta, (total, q)
            speed, following = float(np.add.reduce(self.freedom(q))), math.nan
            if speed > 0.0 and 0.0 < total < math.inf:
                gap = math.log(total) if power == 0.0 else (total**power - 1.0) / power
                following = theta - gap * total ** (1.0 - power) / speed
            if not low < following < high:
                if high - low == math.inf:
                    bracket = self._bracket(tilts)
                    low, high = max(low, bracket[0]), min(high, bracket[1])
                following = 0.5 * (low + high)
            if following in (theta, low, high):
                break
            theta = following
        if not math.isfinite(total):
            # θ is so large that its last digit decides.
            q = np.where(tilts == tilts.min(), self.p, 0.0)
            q /= np.add.reduce(q)
        elif below is not None and above is not None and above[0] < math.inf:
            # Above order two weights leave zero so fast that two neighbouring numbers θ may be on both sides.
            share = (1.0 - below[0]) / (above[0] - below[0])
            q = (1.0 - share) * below[1] + share * above[1]
        return theta, q

    def _bracket(self, tilts: NDArray[np.float64]) -> tuple[float, float]:
        """Slopes between which the sum of the weights passes one: at the first no ratio is above one, and at the second
        one weight alone is one. Floors and caps may ask for more."""
        low, high = self.slope_of_one + float(tilts.min()), float((self.slopes_alone + tilts).min())
        width = high - low + 1.0
        low, high = low - ROUNDING * abs(low), high + ROUNDING * abs(high)
        if self.boxed:
            for _ in range(ROOT_STEPS):
                if float(np.add.reduce(self.weights(tilts, low))) <= 1.0:
                    break
                low, width = low - width, 2.0 * width
            for _ in range(ROOT_STEPS):
                if float(np.add.reduce(self.weights(tilts, high))) >= 1.0:
                    break
                high, width = high + width, 2.0 * width
        return low, high

    # -- The multipliers ---------------------------------------------------------------------------------------------

    def at(self, beta: float, near: Sequence[Tilt] = ()) -> Tilt:
        """The minimiser at one β, beginning on the straight line through two others; the nearest is first."""
        start = near[0] if near else self.first
        found = self._from(beta, _through(near, beta) or start)
        if found.error > DOUBTFUL and beta > 0.0:
            # In shorter steps of β.
            start = start if start.beta > 0.0 else self._from(1e-4 * beta, self._from(0.0, start))
            for each in np.geomspace(start.beta, beta, SHORTER)[1:].tolist():
                start = self._from(each, start)
            found = min(found, start, key=lambda tilt: tilt.error)
        return found

    def _from(self, beta: float, start: Tilt) -> Tilt:
        base = beta * self.y
        scale = beta / start.beta if start.beta > 0.0 and beta > 0.0 else 1.0
        nu = start.multipliers * scale
        theta, q = self.normalised(base + combination(nu, self.rows), start.theta * scale)
        if len(self.rows):
            nu, theta, q = self._climb(base, nu, theta, q)
        return Tilt(beta, theta, nu, q, self._error(nu, q))

    def _climb(
        self, base: NDArray[np.float64], nu: NDArray[np.float64], theta: float, q: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """Newton's method for the multipliers."""
        best, idle, most = (math.inf, nu, theta, q), 0, self.passes + PASSES
        for _ in range(NEWTON_STEPS):
            slopes = products(self.rows, q)
            error = self._error(nu, q, slopes)
            idle = 0 if error < 0.5 * best[0] else idle + 1
            if error < best[0]:
                best = (error, nu, theta, q)
            if error <= KEPT or idle > PATIENCE or self.passes > most:
                break
            step = self._step(nu, slopes, q)
            # Where no weight can move the model is flat, and its step too long; the search finds how far to go.
            longest = REACH * (1.0 + abs(theta) + float(np.abs(base + combination(nu, self.rows)).max()))
            step *= min(1.0, longest / (float(np.abs(step).max()) or 1.0))
            if not float(np.dot(slopes, step)) > 0.0:
                break
            moved = self._search(base, nu, theta, step, float(np.dot(slopes, step)))
            if moved is None:
                break
            nu, theta, q = moved
        return best[1:]

    def _search(
        self, base: NDArray[np.float64], nu: NDArray[np.float64], theta: float, step: NDArray[np.float64], first: float
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64]] | None:
        """Along the segment to where the slope, ``first`` at its beginning, has fallen to half at most.

        The dual is concave, so that its slope decreases along every segment: it tells, to the last digit, on which side
        of the top a point is.
        """
        falling = step < 0.0
        furthest = float((nu[falling] / -step[falling]).min()) if falling.any() else math.inf
        low, high, share, at_low, at_high = 0.0, math.inf, 1.0, first, -math.inf
        moved = None
        for _ in range(HALVINGS):
            ahead = np.maximum(nu + share * step, 0.0)
            if np.array_equal(ahead, nu):
                break
            theta, q = self.normalised(base + combination(ahead, self.rows), theta)
            slope = float(np.dot(products(self.rows, q), step))
            moved = ahead, theta, q
            if abs(slope) <= 0.5 * first or (slope > 0.0 and share >= furthest):
                break
            if slope > 0.0:
                low, at_low = share, slope
            else:
                high, at_high = share, slope
            # Where the straight line between the slopes has none, away from the ends.
            between = min(max(at_low / (at_low - at_high), 0.1), 0.9)
            share = min(4.0 * share, furthest) if high == math.inf else low + (high - low) * between
        return moved

    def _step(
        self, nu: NDArray[np.float64], slopes: NDArray[np.float64], q: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """To the maximum of the quadratic model over :math:`\\nu \\ge 0`."""
        from scipy.optimize import nnls

        w = self.freedom(q)
        total = float(np.add.reduce(w))
        centred = self.rows - (products(self.rows, w) / total)[:, None] if total > 0.0 else self.rows
        hessian = gram(centred, w)
        hessian += (RIDGE * float(hessian.diagonal().max()) + 1e-30) * np.eye(nu.size)
        factor = np.linalg.cholesky(hessian)
        target = np.linalg.solve(factor, hessian @ nu + slopes)
        step: NDArray[np.float64] = nnls(factor.T, target)[0] - nu
        return step

    def _error(
        self, nu: NDArray[np.float64], q: NDArray[np.float64], slopes: NDArray[np.float64] | None = None
    ) -> float:
        if not len(self.rows):
            return abs(float(np.add.reduce(q)) - 1.0)
        broken = products(self.rows, q) if slopes is None else slopes
        return float(np.where(nu > 0.0, np.abs(broken), np.maximum(broken, 0.0)).max())


def _through(near: Sequence[Tilt], beta: float) -> Tilt | None:
    """What the multipliers are if they are linear in β, as for χ² while the same weights are free."""
    for other in near[1:]:
        share = (beta - near[0].beta) / (other.beta - near[0].beta) if other.beta != near[0].beta else math.inf
        if abs(share) <= FAR:
            theta = (1.0 - share) * near[0].theta + share * other.theta
            nu = np.maximum((1.0 - share) * near[0].multipliers + share * other.multipliers, 0.0)
            return Tilt(beta, theta, nu, near[0].posterior, math.inf)
    return None
