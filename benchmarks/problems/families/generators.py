"""The families: each turns a seed and a parameter for hardness into a problem, the same on every processor.

Errors are whole numbers out of ``m`` unless the family says otherwise, and priors whole weights over their sum;
:class:`Draws` has the reason. Every family has a ``seed``, ``count``, the number of classifiers, and ``m``. Beside its
own parameters it takes as keywords ``prior`` ("uniform", "random", or "skewed": a few weights much larger than most)
and the bound's own arguments (``distance``, ``divergence``, ``order``, ``delta``).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pacb_models import BoundProblem, average, support, weights


class Draws:
    """A stream of random integers that belongs to a seed, the same on every processor.

    An instance with a certified optimum must be the same to the last bit wherever it is generated. Elementary functions
    (``exp``, ``log``, powers) and sums of floating-point numbers differ in the last digit between processors, as do the
    samplers built on them. So a draw is an integer, taken from the raw 64-bit stream of a named bit generator, which
    NumPy keeps the same in all its versions; and what is computed from integers uses nothing but integer arithmetic and
    single additions, multiplications and divisions, which IEEE 754 rounds correctly everywhere.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def integers(self, count: int, low: int, high: int) -> npt.NDArray[np.int64]:
        """``count`` integers from ``low`` to ``high``, both included, all (but for a 2⁻⁴⁰ part) equally likely."""
        raw = np.asarray(self._bits.random_raw(count), dtype=np.uint64)
        return low + (raw % np.uint64(high - low + 1)).astype(np.int64)

    def prior(self, count: int, factors: int = 1) -> npt.NDArray[np.float64]:
        """Random prior weights: products of so many integers from 1 to 1000, over their sum."""
        weights = np.ones(count, dtype=np.int64)
        for _ in range(factors):
            weights *= self.integers(count, 1, 1000)
        return weights / int(weights.sum())


def one_good(seed: int, count: int, m: int, good: int, poor: int, spread: int = 0, **bound: Any) -> BoundProblem:
    """One good classifier among many poor ones: all weight on it, or next to none, are two local minima; how much
    they differ is tuned by δ.
    """
    draws = Draws(seed)
    errors = np.append(draws.integers(count - 1, poor - spread, poor + spread), good)
    return _problem(draws, errors / m, m, **bound)


def rivals(
    seed: int, count: int, m: int, good: int, poor: int, goods: int, spread: int = 0, **bound: Any
) -> BoundProblem:
    """A group of good classifiers among many poor ones: all weight on the group, or next to none, are two local
    minima; how much they differ is tuned by δ.
    """
    draws = Draws(seed)
    return _problem(draws, _few_good(draws, count, good, poor, goods, spread) / m, m, **bound)


def staircase(seed: int, count: int, m: int, factor: int, errors: list[int], **bound: Any) -> BoundProblem:
    """Groups that are ``factor`` times smaller as they get better: several local minima, one for each group that is
    worth its price.
    """
    sizes = [factor**step for step in range(len(errors) - 1)]
    return _problem(Draws(seed), np.repeat(errors, [*sizes, count - sum(sizes)]) / m, m, **bound)


def natural(seed: int, count: int, m: int, worst: int, prior: str = "random", **bound: Any) -> BoundProblem:
    """Random numbers of errors and a random prior, nothing arranged: a few classifiers with small risk and a lucky
    prior weight make local minima by chance.
    """
    draws = Draws(seed)
    return _problem(draws, draws.integers(count, 0, worst) / m, m, prior, **bound)


def ties(seed: int, count: int, m: int, levels: int, **bound: Any) -> BoundProblem:
    """Few distinct risks among many classifiers: whole clusters enter the support at once."""
    draws = Draws(seed)
    values = m // 10 + draws.integers(levels, 0, m // 2)
    return _problem(draws, values[draws.integers(count, 0, levels - 1)] / m, m, **bound)


def near_ties(seed: int, count: int, m: int, step: float, **bound: Any) -> BoundProblem:
    """Risks that agree in all digits down to ``step``: differences drown in rounding unless they are kept exact."""
    draws = Draws(seed)
    return _problem(draws, 0.1 + draws.integers(count, 0, 9) * step, m, **bound)


def no_errors(seed: int, count: int, m: int, zeros: int, **bound: Any) -> BoundProblem:
    """Some classifiers without any error: at empirical risk zero the slope of a kl bound is infinite."""
    draws = Draws(seed)
    errors = draws.integers(count, 1, max(m // 3, 1))
    errors[:zeros] = 0
    return _problem(draws, errors / m, m, **bound)


def extreme_prior(seed: int, count: int, m: int, share: float, unlikely: int = 1, **bound: Any) -> BoundProblem:
    """The best classifiers have prior weight ``share`` each, down to 10⁻¹⁵: weights differ by as many orders of
    magnitude, and so do derivatives.
    """
    draws = Draws(seed)
    errors = draws.integers(count, m // 5, m // 2)
    errors[:unlikely] = draws.integers(unlikely, 0, m // 20)
    prior = np.full(count, (1.0 - unlikely * share) / (count - unlikely))
    prior[:unlikely] = share
    return BoundProblem(errors / m, m=m, prior=prior, **bound)


def tiny_sample(seed: int, count: int, m: int, **bound: Any) -> BoundProblem:
    """Very few examples: the bound is close to one, where it is flat."""
    draws = Draws(seed)
    return _problem(draws, draws.integers(count, 0, m) / m, m, **bound)


def confident(seed: int, count: int, m: int, **bound: Any) -> BoundProblem:
    """Confidence up to 1 - 10⁻⁶: the divergence is costly, and the optimum close to the prior."""
    return _bell(seed, count, m, **bound)


def many(seed: int, count: int, m: int, **bound: Any) -> BoundProblem:
    """Up to a million classifiers: every pass over them counts."""
    return _bell(seed, count, m, **bound)


def orders(seed: int, count: int, m: int, prior: str = "random", **bound: Any) -> BoundProblem:
    """Rényi orders near one, where weights fall below the floating-point range, and large ones, where the optimum is
    nearly uniform on its support.
    """
    return _bell(seed, count, m, prior, **bound)


def rare_errors(seed: int, count: int, m: int, most: int, least: int = 0, **bound: Any) -> BoundProblem:
    """No classifier makes more than a few errors: with the KL divergence and risks near 1/m the slopes of risk and
    divergence are both infinite where the weights vanish.
    """
    draws = Draws(seed)
    return _problem(draws, draws.integers(count, least, most) / m, m, **bound)


def budget(
    seed: int,
    count: int,
    m: int,
    good: int,
    poor: int,
    limits: list[int],
    goods: int = 1,
    spread: int = 0,
    **bound: Any,
) -> BoundProblem:
    """A few good classifiers cost 100 where the others cost up to 20, and average costs are limited: the way to the
    good ones ends early, and its end may be a local minimum.
    """
    draws = Draws(seed)
    errors = _few_good(draws, count, good, poor, goods, spread)
    rows = []
    for number, limit in enumerate(limits, 1):
        costs = draws.integers(count, 0, 20)
        costs[:goods] = 100
        rows.append(average(costs, at_most=limit, name=f"cost {number}"))
    return _problem(draws, errors / m, m, constraints=rows, **bound)


def caps(
    seed: int,
    count: int,
    m: int,
    good: int,
    poor: int,
    cap: float,
    floor: float = 0.0,
    goods: int = 1,
    spread: int = 0,
    **bound: Any,
) -> BoundProblem:
    """No weight may be above a cap or below a floor, with a few good classifiers among poor ones: many weights are at
    their bounds, and the good ones cannot have all.
    """
    draws = Draws(seed)
    errors = _few_good(draws, count, good, poor, goods, spread)
    return _problem(draws, errors / m, m, constraints=[weights(at_most=cap, at_least=floor)], **bound)


def sparse(
    seed: int, count: int, m: int, worst: int, at_most: int = 0, total: int = 0, prior: str = "random", **bound: Any
) -> BoundProblem:
    """At most so many classifiers may have weight, or classifiers whose sizes (from 1 to 100) have at most a total: the
    set of posteriors is not convex.
    """
    draws = Draws(seed)
    errors, weight = draws.integers(count, 0, worst), _prior(draws, prior, count)
    limit = support(at_most=at_most) if at_most else support(sizes=draws.integers(count, 1, 100), total=total)
    return BoundProblem(errors / m, m=m, prior=weight, constraints=[limit], **bound)


def _few_good(draws: Draws, count: int, good: int, poor: int, goods: int, spread: int) -> npt.NDArray[np.int64]:
    """Numbers of errors: good classifiers first, then poor ones that differ by ``spread``."""
    errors = draws.integers(count, poor - spread, poor + spread)
    errors[:goods] = good
    return errors


def _bell(seed: int, count: int, m: int, prior: str = "uniform", **bound: Any) -> BoundProblem:
    """Numbers of errors from 0 to half of m that cluster in the middle: means of three draws."""
    draws = Draws(seed)
    errors = np.sum([draws.integers(count, 0, m // 2) for _ in range(3)], axis=0) // 3
    return _problem(draws, errors / m, m, prior, **bound)


def _prior(draws: Draws, kind: str, count: int) -> npt.NDArray[np.float64] | None:
    return None if kind == "uniform" else draws.prior(count, factors={"random": 1, "skewed": 2}[kind])


def _problem(draws: Draws, risks: np.ndarray, m: int, prior: str = "uniform", **bound: Any) -> BoundProblem:
    """The problem of these risks, with the prior that is drawn after them."""
    return BoundProblem(risks, m=m, prior=_prior(draws, prior, len(risks)), **bound)


_FAMILIES = (
    *(one_good, rivals, staircase, natural, ties, near_ties, no_errors, extreme_prior),
    *(tiny_sample, confident, many, orders, rare_errors, budget, caps, sparse),
)
#: The families by name.
FAMILIES: dict[str, Callable[..., BoundProblem]] = {family.__name__.replace("_", "-"): family for family in _FAMILIES}


def sentence(family: str) -> str:
    """What a family is, in one sentence."""
    return " ".join((FAMILIES[family].__doc__ or "").split())
