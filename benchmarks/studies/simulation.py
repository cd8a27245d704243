r"""Are the bounds valid? Draw samples from known distributions, minimise the bound on each, and count violations.

For each draw the errors of ``H`` classifiers with known true risks are counted on ``m`` examples, the posterior that
minimises the bound is taken (it has seen the sample: the adversary that the bound must stand), and its true risk is
compared with its bound. The rate of violations must not exceed :math:`\delta`, within a binomial confidence limit.

A test of validity that could not fail would be worth nothing, so the same count is made with the moment constant
shrunk. :func:`breaking_factor` computes exactly how small it must be before the guarantee fails for a single
classifier.

    python -m pacb_models.benchmarks.studies.simulation                    a table in under a minute
    python -m pacb_models.benchmarks.studies.simulation --draws 1000000    the full version

``--draws`` are all draws, of ``--m`` examples each; ``--dask ADDRESS`` makes the same table on a cluster. With
``--out DIR`` every line is kept as soon as it is computed, and ``--resume`` goes on where a run was stopped.
"""

import copy
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom, binomtest

from pacb_models import BoundProblem, DirectProblem, certify, clopper_pearson, solve_many
from pacb_models.commands.program import answered
from pacb_models.distances import BY_NAME, Distance
from pacb_models.names import DISTANCES
from pacb_models.validation import check_count, check_delta, check_jobs

from ..store import digest, kept
from ..work import run
from .kept_rows import options

#: Every bound of the package that has a name.
NAMED_BOUNDS = [(distance, divergence) for divergence in ("chi2", "kl") for distance in DISTANCES[divergence]]

#: A simulated rate contradicts a guarantee when even the lower limit of this confidence is above δ.
CONFIDENCE = 0.999

#: Raised when lines change.
LINES_VERSION = 1

Counts = np.ndarray


@dataclass(frozen=True)
class Scenario:
    """True risks, and how the classifiers' errors on one sample hang together."""

    name: str
    true_risks: np.ndarray
    m: int
    draw: Callable[[np.random.Generator, np.ndarray, int, int], Counts]


def independent(random: np.random.Generator, risks: np.ndarray, m: int, draws: int) -> Counts:
    """Let each classifier err independently of the others."""
    return random.binomial(m, risks, size=(draws, risks.size))


def nested(random: np.random.Generator, risks: np.ndarray, m: int, draws: int) -> Counts:
    """Let a classifier err wherever a better one does: an example of difficulty u is an error of all with risk
    above u."""
    order = np.argsort(risks)
    steps = np.diff(np.concatenate([[0.0], risks[order], [1.0]]))
    parts = random.multinomial(m, np.maximum(steps, 0.0) / steps.sum(), size=draws)
    counts = np.empty((draws, risks.size), dtype=parts.dtype)
    counts[:, order] = np.cumsum(parts[:, :-1], axis=1)
    return counts


def blocks(random: np.random.Generator, risks: np.ndarray, m: int, draws: int) -> Counts:
    """Nest errors within each half of the classifiers; between the halves they are independent."""
    half = risks.size // 2
    return np.concatenate([nested(random, part, m, draws) for part in (risks[:half], risks[half:])], axis=1)


def disjoint(random: np.random.Generator, risks: np.ndarray, m: int, draws: int) -> Counts:
    """Make no example an error of two classifiers; the risks must not add up to more than one."""
    return random.multinomial(m, np.append(risks, 1.0 - risks.sum()), size=draws)[:, :-1]


def critical_scenarios(m: int = 100, delta: float = 0.05, size: int = 10) -> list[Scenario]:
    """Return ten classifiers at the risk where no errors are a violation: the worst case of certificates from
    counts."""
    critical = np.full(size, float(clopper_pearson(0, m, delta / size)) * (1.0 + 1e-9))
    dependences = {"independent": independent, "nested": nested, "blocks": blocks, "disjoint": disjoint}
    return [Scenario(f"ten at a critical risk, {name}", critical, m, draw) for name, draw in dependences.items()]


def scenarios(m: int = 100) -> list[Scenario]:
    """Return worst cases and ordinary ones. Near 2.64/m the second moment of the kl distance is largest."""
    worst, spread = 2.64 / m, np.linspace(0.05, 0.5, 50)
    return [
        Scenario("one at the worst case of kl", np.array([worst]), m, independent),
        Scenario("one at a half", np.array([0.5]), m, independent),
        Scenario("50 at the worst case of kl", np.full(50, worst), m, independent),
        Scenario("50 from 0.05 to 0.5", spread, m, independent),
        Scenario("50 from 0.05 to 0.5, nested errors", spread, m, nested),
        Scenario("one good among 49 poor", np.concatenate([[worst], np.full(49, 0.4)]), m, independent),
    ]


def shrunken(distance: str, factor: float) -> Distance:
    """Return the distance with its moment constant multiplied by ``factor``: for showing that a wrong constant is
    noticed."""
    ours = BY_NAME[distance]
    changed: Any = copy.copy(ours)
    if factor != 1.0:
        changed.constant = lambda *arguments: factor * ours.constant(*arguments)
        changed.log_constant = lambda *arguments: math.log(factor) + ours.log_constant(*arguments)
    return changed


@dataclass(frozen=True)
class Tally:
    """What many draws of one scenario said of one bound."""

    scenario: str
    distance: str
    divergence: str
    delta: float
    factor: float
    draws: int
    violations: int
    mean_bound: float
    mean_true_risk: float

    @property
    def rate(self) -> float:
        """Share of draws in which the true risk was above the bound."""
        return self.violations / self.draws

    @property
    def lower_limit(self) -> float:
        """The true violation rate is above this with probability :data:`CONFIDENCE` (Clopper and Pearson)."""
        found = binomtest(self.violations, self.draws, alternative="greater")
        return float(found.proportion_ci(CONFIDENCE, method="exact").low)

    @property
    def valid(self) -> bool:
        """False when the draws contradict the guarantee."""
        return self.lower_limit <= self.delta


def tally(
    scenario: Scenario,
    distance: str,
    divergence: str,
    delta: float,
    draws: int,
    seed: int = 0,
    factor: float = 1.0,
    constant: str = "exact",
    direct: bool = False,
) -> Tally:
    """Draw, minimise all at once, count. Samples with the same counts share one minimisation."""
    different, times = _drawn(scenario, draws, seed)
    kind, changed = DirectProblem if direct else BoundProblem, shrunken(distance, factor)
    each = solve_many(
        kind.from_counts(row, scenario.m, delta=delta, distance=changed, divergence=divergence, constant=constant)
        for row in different
    )
    bounds, posteriors = (np.array([getattr(one, name) for one in each]) for name in ("bound", "posterior"))
    risks = posteriors @ scenario.true_risks
    violations = int(times[risks > bounds].sum())
    mean_bound, mean_risk = (float(times @ values) / draws for values in (np.minimum(bounds, 1.0), risks))
    return Tally(scenario.name, distance, divergence, delta, factor, draws, violations, mean_bound, mean_risk)


def tally_certificates(scenario: Scenario, delta: float, draws: int, seed: int = 0, factor: float = 1.0) -> Tally:
    """Draw, certify from counts, and count the draws in which any statement is false: the bound of the random
    classifier or of a single one, each multiplied by ``factor``.
    """
    different, times = _drawn(scenario, draws, seed)
    found = [certify(row, scenario.m, delta) for row in different]
    bounds, risks = np.array([(each.bound, each.posterior @ scenario.true_risks) for each in found]).T
    # What single_bounds are, for all samples at once.
    limits = np.asarray(clopper_pearson(np.arange(scenario.m + 1), scenario.m, delta / scenario.true_risks.size))
    false = (risks > factor * bounds) | np.any(scenario.true_risks > factor * limits[different], axis=1)
    means = float(times @ bounds) / draws, float(times @ risks) / draws
    return Tally(scenario.name, "counts", "tie split", delta, factor, draws, int(times[false].sum()), *means)


def _drawn(scenario: Scenario, draws: int, seed: int) -> Any:
    """Return the different counts of many draws, and how often each came."""
    counts = scenario.draw(np.random.default_rng(seed), scenario.true_risks, scenario.m, draws)
    return np.unique(counts, axis=0, return_counts=True)


def violation_probability(
    distance: str, divergence: str, m: int, delta: float, factor: float, risks: np.ndarray
) -> float:
    """Return the largest probability, over the given true risks, that a single classifier violates its bound: exact
    sums."""
    changed, outcomes = shrunken(distance, factor), np.arange(m + 1)
    bounds = np.array([BoundProblem([k / m], m, delta, changed, divergence).bound(np.ones(1)) for k in outcomes])
    return max(float(binom.pmf(outcomes[bounds < risk], m, risk).sum()) for risk in risks)


def smallest_factor(distance: str, divergence: str, m: int, delta: float) -> float:
    """Return the factor that makes I/delta one: a KL-divergence budget is zero there, and smaller constants mean
    nothing."""
    if divergence != "kl":
        return 1e-12
    return 1.001 * delta * math.exp(-BY_NAME[distance].log_constant(m, divergence, 1.0, "exact"))


def breaking_factor(distance: str, divergence: str, m: int = 100, delta: float = 0.05) -> float:
    """Return the largest factor (to two digits) on the constant at which a single classifier breaks the guarantee.

    One classifier's posterior is its prior, so this is how much slack Markov's inequality leaves: below this
    factor the bound is provably invalid, above it only the supremum over more classifiers could break it.
    """
    risks = np.unique(np.concatenate([np.linspace(0.5, 20, 40) / m, np.linspace(0.02, 0.98, 49)]))
    low, high = math.log10(smallest_factor(distance, divergence, m, delta)), 0.0
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        broken = violation_probability(distance, divergence, m, delta, 10.0**middle, risks) > delta
        low, high = (middle, high) if broken else (low, middle)
    return 10.0**low


_HEAD = f"{'scenario':<36} {'bound':<16} {'draws':>8} {'rate':>9} {'delta':>6}  {'mean bound':>10} {'mean risk':>10}"


def table(
    draws: int,
    m: int = 100,
    delta: float = 0.05,
    seed: int = 0,
    report: Callable[[str], None] = print,
    n_jobs: int = 1,
    dask: str | None = None,
    directory: str | Path | None = None,
    resume: bool = False,
) -> list[Tally]:
    """Return every scenario with every bound; one line each, computed in ``n_jobs`` processes or on a Dask cluster.

    Where there is a directory, it holds each line as soon as it is computed, and with ``resume`` lines that it holds
    are not computed again.
    """
    cases: list[tuple[Any, ...]] = [(tally, scenario, *bound) for scenario in scenarios(m) for bound in NAMED_BOUNDS]
    cases += [(tally_certificates, scenario) for scenario in (*scenarios(m), *critical_scenarios(m, delta))]
    named = {digest(LINES_VERSION, *line): line for line in ((*case, delta, draws, seed) for case in cases)}
    path = None if directory is None else Path(directory) / "simulation.jsonl"
    report(_HEAD)
    tallies = {}
    for key, fields in kept(path, named, lambda tasks: run(_line, tasks, n_jobs, dask), resume):
        found = tallies[key] = Tally(**fields)
        report(
            f"{found.scenario:<36} {found.distance + '-' + found.divergence:<16} {draws:>8} {found.rate:>9.2e} "
            f"{delta:>6g}  {found.mean_bound:>10.4f} {found.mean_true_risk:>10.4f}{'' if found.valid else '   INVALID'}"
        )
    return [tallies[key] for key in named]


def _line(count: Callable[..., Tally], *arguments: Any) -> dict[str, object]:
    return asdict(count(*arguments))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and how small each constant must be before the guarantee fails."""
    work: dict[str, Any] = {"jobs": -1, "dask": str, "out": Path, "resume": False}
    given = options(__doc__, arguments, draws=50_000, m=100, delta=0.05, seed=0, **work)
    for name, least in (("draws", 1), ("m", 1), ("seed", 0)):
        check_count(name, getattr(given, name), least=least)
    check_jobs("jobs", given.jobs)
    check_delta(given.delta)
    per_line = max(1, given.draws // (len(scenarios()) * (len(NAMED_BOUNDS) + 1) + len(critical_scenarios())))
    where = {"n_jobs": given.jobs, "dask": given.dask, "directory": given.out, "resume": given.resume}
    tallies = table(per_line, given.m, given.delta, given.seed, **where)
    print("\nlargest factor on the constant at which a single classifier breaks the guarantee")
    for distance, divergence in NAMED_BOUNDS:
        print(f"  {distance}-{divergence}: {breaking_factor(distance, divergence, given.m, given.delta):.2g}")
    return 0 if all(result.valid for result in tallies) else 1


if __name__ == "__main__":
    sys.exit(answered("simulation", main, sys.argv))
