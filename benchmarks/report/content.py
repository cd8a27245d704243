"""What the report contains, before it is written in any format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pacb_models.plots.style import Style, styled

from .. import summary
from ..environment import Environments
from ..results import LEVELS, reach_field
from . import analysis, families, figures, findings, missed, posteriors, tables
from .findings import Finding
from .tables import Table
from .wording import counted, listed

#: Kinds with fewer problems are not drawn where others have more: a curve through a handful of points says little.
DRAWN_FROM = 10


@dataclass(frozen=True)
class Illustration:
    """A drawn figure: file name, a sentence for who cannot see it, and its two formats."""

    name: str
    description: str
    svg: bytes
    pdf: bytes


@dataclass(frozen=True)
class Section:
    """A part of the report under a heading."""

    anchor: str
    title: str
    text: str
    tables: tuple[Table, ...] = ()
    illustrations: tuple[Illustration, ...] = ()
    #: Shown one at a time, under their descriptions.
    folded: tuple[Illustration, ...] = ()


@dataclass(frozen=True)
class Content:
    """Everything the report says."""

    suite: str
    subtitle: str
    warnings: tuple[str, ...]
    winners: tuple[Finding, ...]
    choices: Table
    weaknesses: tuple[Finding, ...]
    verdicts: tuple[Finding, ...]
    summary_tables: tuple[Table, ...]
    sections: tuple[Section, ...]
    environment: Table
    limits: tuple[str, ...]

    def tables(self) -> Iterator[Table]:
        """All tables, in the order of the page."""
        yield self.choices
        yield from self.summary_tables
        for section in self.sections:
            yield from section.tables
        yield self.environment

    def illustrations(self) -> Iterator[Illustration]:
        """All figures, in the order of the page."""
        for section in self.sections:
            yield from section.illustrations
            yield from section.folded


def describe(runs: pd.DataFrame, environments: Environments, say: Callable[[str], None]) -> Content:
    """Everything the report says about prepared runs (:func:`analysis.prepare`)."""
    say("summary")
    style = Style(list(dict.fromkeys([*runs["method"], *runs["method"].map(analysis.without_tolerance)])))
    each = analysis.condense(runs)
    with styled():
        sections = [
            _hard(each),
            _failures(each),
            _missed(each, style, say),
            _agreement(each),
            _merging(each),
            _profiles(each, style, say),
            _levels(each, style, say),
            _evaluations(each, style, say),
            _growth(each, style, say),
            _gaps(each, style, say),
            _posteriors(each, say),
        ]
    suite = " and ".join(map(str, runs["suite"].unique()))
    return Content(
        suite=suite,
        subtitle=_subtitle(runs, environments),
        warnings=tuple(_warnings(runs, environments)),
        winners=tuple(findings.winners(runs)),
        choices=tables.choices_table(runs),
        weaknesses=tuple(findings.weaknesses(each)),
        verdicts=tuple(findings.verdicts(each)),
        summary_tables=(tables.solvers_table(runs), tables.kinds_table(runs)),
        sections=tuple(section for section in sections if section is not None),
        environment=tables.environment_table(environments, runs),
        limits=tuple(_limits(runs)),
    )


def _subtitle(runs: pd.DataFrame, environments: Environments) -> str:
    problems, methods = runs["problem"].nunique(), runs["method"].nunique()
    parts = [f"{counted(len(runs), 'run')}: {counted(problems, 'problem')}, {counted(methods, 'solver')}"]
    used = tables.environments_used(environments, runs)
    machines = {(entry.get("processor"), entry.get("cores")) for entry in used.values() if entry}
    if len(machines) > 1:
        parts.append(f"{len(machines)} machines")
    for processor, cores in machines if len(machines) == 1 else ():
        parts.append(f"{processor}, {counted(cores or 1, 'core')}")
    # The day is enough here; the environment has the rest.
    parts.append(str(runs["timestamp"].max())[:10])
    return " · ".join(parts)


def _warnings(runs: pd.DataFrame, environments: Environments) -> Iterator[str]:
    expected, finished = environments.plan.get("cells") or 0, runs["key"].nunique()
    if finished < expected:
        yield f"Unfinished: {finished} of {expected} runs are in the log. Everything below is about those."
    used = tables.environments_used(environments, runs)
    if len(used) > 1:
        differing = tables.differences(list(used.values()))
        yield (
            f"A mixture: these runs were measured in {len(used)} environments, which differ in {listed(differing)}. "
            "The section Environment has each, and the column “environment” of the results says whose a run is."
        )
    parallel = int(runs["parallel"].sum())
    if parallel:
        which = "All times" if parallel == len(runs) else f"The times of {counted(parallel, 'run')}"
        yield f"{which} were measured while other runs shared the machine; do not compare them with a serial run's."


def _limits(runs: pd.DataFrame) -> Iterator[str]:
    limits = " and ".join(f"{limit:g} s" for limit in sorted(runs["time_limit"].dropna().unique()))
    yield (
        f"A run that is no success is charged the time limit ({limits}), however early it ended. Mean times of solvers "
        "that fail often therefore depend on that limit."
    )
    yield (
        f"Mean times are shifted geometric means with a shift of {summary.SHIFT:g} s: differences well below "
        "the shift hardly show in them. The performance profiles have no shift."
    )
    yield (
        "Importing a solver's software is not measured: every solver first solves a tiny problem of the same kind in "
        "its process. Neither are the moment constant, which belongs to the problem, and the search for the certified "
        "optimum. Set-up time, such as building a model, is."
    )
    repetitions = int(runs["repetition"].max()) + 1
    if repetitions == 1:
        yield (
            "Each run is measured once. Use pacb bench --repeat, and --compare, before relying on differences of a few "
            "per cent."
        )
    else:
        yield (
            f"Times are medians of {repetitions} repetitions, the whole suite after the whole suite; an optimum counts "
            "as found when every repetition finds it. The interval encloses the median with probability 95 %, or is "
            "the range of the repetitions where there are fewer than six. Runs that ran out of time are not repeated."
        )
    yield (
        "Except for the exact solver, “optimal” is a claim about a stationary point: it may be a local minimum. Runs "
        "that end in one which is not global count as successes, but neither as correct nor as optima found."
    )
    yield (
        "The certified optimum comes from the exact solver, whose own gap is therefore zero. Its test is whether "
        "solvers that know nothing of it agree and none finds a smaller bound; the summary says so or not."
    )
    yield (
        "Where no exact solver covers a problem there is no certified optimum: its gap is unknown, its runs are not "
        "counted as correct, and a success counts as found."
    )
    yield (
        "Bounds and residuals are recomputed from the weights by one code for all solvers, with the weights scaled to "
        "sum to one; a solver's own figures are not used."
    )
    if runs["status"].eq("unavailable").any():
        yield "A solver whose software is missing is listed, with all its runs charged."


def _hard(runs: pd.DataFrame) -> Section | None:
    made = (families.overview_table(runs), families.families_table(runs), families.lower_bounds_table(runs))
    found = tuple(table for table in made if table)
    text = "Each family of hard problems is built around one difficulty; what a solver misses says what it cannot do."
    return Section("hard", "Hard problems", text, found) if found else None


def _failures(runs: pd.DataFrame) -> Section:
    table = tables.failures_table(runs)
    text = "" if table.rows else "Every run found the certified optimum."
    return Section("failures", "Failures in detail", text, (table,) if table.rows else ())


def _missed(runs: pd.DataFrame, style: Style, say: Callable[[str], None]) -> Section | None:
    above = missed.missed_runs(runs)
    if above.empty:
        return None
    say("what was returned instead of the optimum")
    found = missed.cases(runs)
    drawn = []
    for case in found:
        if case.display is not None:
            say(f"path, {case.name}")
            drawn.append(_draw(f"path-{tables.slug(case.name)}", case.sentence(), missed.path_figure(case, style)))
    text = (
        "Runs that ended above the certified optimum, whatever they claim. All local minima of a bound are on one path "
        "of posteriors, from the prior to the smallest risk; a local method may end in any of them."
    )
    if drawn:
        problems = above["problem"].nunique()
        text += (
            " Below the table: the bound along the path, with the points where solvers ended, for "
            f"{len(drawn)} of {counted(problems, 'such problem')} (at most {missed.DRAWN}, of those that can be built "
            "again from the log: embedded tables and the frozen collection)."
        )
    return Section(
        "missed", "Instead of the optimum", text, (missed.missed_table(found, len(above)),), (), tuple(drawn)
    )


def _agreement(runs: pd.DataFrame) -> Section:
    text = (
        "Solvers that reach the same optimum return the same bound. Where two claims of optimality differ, at least "
        "one of the two points is not the global optimum."
    )
    both = tuple(tables.agreement_table(runs, claims_only) for claims_only in (True, False))
    return Section("agreement", "Agreement between solvers", text, both)


def _merging(runs: pd.DataFrame) -> Section | None:
    table = tables.merging_table(runs)
    if table is None:
        return None
    text = "Risks are counts of errors: H classifiers have at most m + 1 different ones, and equal ones can be merged."
    return Section("merging", "Equal risks merged", text, (table,))


def _drawn_kinds(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The kinds of problem that have figures, with their runs: all, unless some have enough problems and some not."""
    problems = runs.groupby("kind")["problem"].nunique()
    for kind, rows in runs.groupby("kind", sort=False):
        if problems[kind] >= DRAWN_FROM or problems.max() < DRAWN_FROM:
            yield kind, rows


def _profiles(runs: pd.DataFrame, style: Style, say: Callable[[str], None]) -> Section:
    drawn, pairs = [], []
    for kind, rows in _drawn_kinds(runs):
        say(f"performance profile, {kind}")
        description = (
            f"Performance profile, {kind} distance: share of problems solved within a multiple of the fastest time."
        )
        drawn.append(_draw(f"profile-{tables.slug(kind)}", description, figures.profile(rows, style)))
        if rows["method"].nunique() > 1:
            best = analysis.by_kind(rows)["method"].iloc[0]
            description = f"Pairwise profiles, {kind} distance: {best} and each other solver, as if they were alone."
            drawn.append(_draw(f"pairs-{tables.slug(kind)}", description, figures.pairwise_profiles(rows, best, style)))
            pairs.append(tables.pairwise_table(kind, rows))
    text = (
        "After Dolan and Moré: how many of the problems a solver finds the optimum of when it may take τ times as long "
        "as the fastest solver of each. At the left edge: how often it is the fastest; at the right: how often it "
        "finds the optimum at all. A joint profile tells who is best; it does not rank the others, whose curves may "
        "change places when a solver is added or left out (Gould and Scott, ACM Transactions on Mathematical Software "
        "43, 2016). Two solvers are compared by the profile of the two alone, or by their entry in the tables of pairs."
    )
    return Section("profiles", "Performance profiles", text, tuple(pairs), tuple(drawn))


def _levels(runs: pd.DataFrame, style: Style, say: Callable[[str], None]) -> Section | None:
    if runs[[reach_field(level) for level in LEVELS]].isna().all(axis=None):
        return None
    drawn = []
    for kind, rows in _drawn_kinds(runs):
        say(f"profiles by accuracy, {kind}")
        description = f"Performance profiles for three accuracies, {kind} distance."
        drawn.append(_draw(f"levels-{tables.slug(kind)}", description, figures.level_profiles(rows, style)))
    text = (
        "A solver that is quick to three digits may be slow to nine. The time counts until the gap is at most the "
        "level, whether or not the solver stops there or claims anything."
    )
    return Section("levels", "Accuracy levels", text, (tables.levels_table(runs),), tuple(drawn))


def _evaluations(runs: pd.DataFrame, style: Style, say: Callable[[str], None]) -> Section | None:
    drawn = []
    for kind, rows in _drawn_kinds(runs):
        say(f"data profile, {kind}")
        figure = figures.data_profile(rows, style)
        if figure is not None:
            description = (
                f"Data profile, {kind} distance: share of problems solved within so many gradient evaluations."
            )
            drawn.append(_draw(f"evaluations-{tables.slug(kind)}", description, figure))
    if not drawn:
        return None
    text = (
        "After Moré and Wild: the share of problems whose optimum is found within so many evaluations of the gradient. "
        "It depends neither on the machine nor on the language; only methods that count evaluations are shown."
    )
    return Section("evaluations", "Gradient evaluations", text, (), tuple(drawn))


def _growth(runs: pd.DataFrame, style: Style, say: Callable[[str], None]) -> Section | None:
    drawn = []
    for kind, rows in _drawn_kinds(runs[runs["found"]]):
        say(f"time against H, {kind}")
        description = f"Time against the number of classifiers, {kind} distance."
        drawn.append(_draw(f"time-{tables.slug(kind)}", description, figures.time_against_size(rows, style)))
        memory = figures.memory_against_size(rows, style)
        if memory is not None:
            description = f"Memory against the number of classifiers, {kind} distance."
            drawn.append(_draw(f"memory-{tables.slug(kind)}", description, memory))
    if not drawn:
        return None
    table = tables.growth_table(runs)
    text = "Runs that found the optimum: geometric mean at each size, shaded from the fastest to the slowest."
    if table is None:
        text += f" Exponents are fitted from {analysis.SIZES_FOR_A_FIT} sizes on; this run has fewer."
    return Section("growth", "Time against H", text, () if table is None else (table,), tuple(drawn))


def _gaps(runs: pd.DataFrame, style: Style, say: Callable[[str], None]) -> Section:
    say("gap distributions")
    text = (
        "How far each returned bound is above the certified optimum. To the right of the dashed line a bound is not "
        "correct."
    )
    description = "Distance of every run's bound from the certified optimum, by solver."
    drawn = _draw("gaps", description, figures.gap_distributions(runs, style))
    return Section("gaps", "Gap distributions", text, (tables.gaps_table(runs),), (drawn,))


def _posteriors(runs: pd.DataFrame, say: Callable[[str], None]) -> Section | None:
    say("optimal posteriors")
    found = posteriors.of_runs(runs)
    if not found:
        return None
    style = Style(list(dict.fromkeys(posterior.kind for each in found for posterior in each.posteriors)))
    drawn = []
    for each in found:
        say(f"posteriors, {each.dataset}")
        where = f"{each.dataset}, H = {each.posteriors[0].problem.size}, δ = {each.delta:g}"
        weights = figures.weights_against_risk(each, style)
        drawn.append(_draw(f"weights-{tables.slug(each.dataset)}", f"{where}: optimal weights against risk.", weights))
        mass = figures.cumulative_weights(each, style)
        drawn.append(_draw(f"cdf-{tables.slug(each.dataset)}", f"{where}: optimal posterior mass up to a risk.", mass))
    text = (
        "The certified optimal posteriors at the largest H of each data set. First figure of each: the weight of a "
        "single classifier against its risk on the validation examples; second: the posterior mass of all classifiers "
        "up to a risk. Grey is the uniform prior."
    )
    table = tables.posteriors_table(posteriors.records(found))
    return Section("posteriors", "Optimal posteriors", text, (table,), tuple(drawn))


def _draw(name: str, description: str, figure: Any) -> Illustration:
    settled = figures.settle(figure)
    return Illustration(name, description, figures.as_svg(settled), figures.as_pdf(settled))
