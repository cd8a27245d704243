"""What the report contains, before it is written in any format: six parts, the picture first, and details."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from pacb_models.plots.style import styled

from .. import verdict
from ..harness.environment import MOMENTARY, Description, Environments
from ..verdict import Judged
from . import missed, pictures
from .details import COUNT, SOLVER, details, families, milliseconds
from .drawing import Looks
from .paper_methods import paper_parts
from .tables import Column, Part, Table
from .terminal import caveats
from .wording import counted, duration, listed, percent, said, significant


@dataclass(frozen=True)
class Content:
    """Everything the report says."""

    suite: str
    subtitle: str
    introduction: str
    verdict: str
    contradicted: bool
    warnings: tuple[str, ...]
    parts: tuple[Part, ...]
    paper: tuple[Part, ...]
    details: tuple[Part, ...]

    def every(self) -> Iterator[Part]:
        """All parts, in the order of the page."""
        yield from (*self.parts, *self.paper, *self.details)


def describe(judged: Judged, environments: Environments) -> Content:
    """Everything the report says about the results of a run."""
    runs, each = judged.runs, judged.comparable
    parts: list[Part | None] = []
    paper: list[Part] = []
    found: list[Part] = []
    if len(each):
        table = judged.by_solver
        looks = pictures.looks_for(table)
        with styled():
            parts = [
                _overview(each, table, looks),
                _matrix(each, table),
                families(each) if each["start"].nunique() > 1 else None,
                _growth(each, looks),
                _ends(each, looks),
                _solvers(each, table),
            ]
            paper = list(paper_parts(judged.condensed, each))
            found = list(details(judged, looks))
    limits = tuple(_limits(judged, environments))
    return Content(
        suite=" and ".join(map(str, runs["suite"].unique())),
        subtitle=_subtitle(judged),
        introduction=_introduction(runs),
        verdict=judged.sentence(),
        contradicted=len(judged.contradictions) > 0,
        warnings=tuple(_warnings(runs, environments)),
        parts=(*filter(None, parts), Part("environment", "Where it was measured, and its limits", points=limits)),
        paper=tuple(paper),
        details=(*found, _software(runs, environments)),
    )


def _introduction(runs: pd.DataFrame) -> str:
    known = runs.groupby("problem")["reference_bound"].first().notna()
    which = "all of them" if known.all() else f"{known.sum()} of {counted(len(known), 'problem')}"
    return said("introduction", which=which)


def _subtitle(judged: Judged) -> str:
    runs, compared = judged.runs, len(judged.comparable)
    counts = (runs["problem"].nunique(), "problem"), (runs["method"].nunique(), "solver"), (compared, "compared run")
    # The day is enough here; the environment has the rest.
    return " · ".join([*(counted(*each) for each in counts), str(runs["timestamp"].max())[:10]])


def _warnings(runs: pd.DataFrame, environments: Environments) -> Iterator[str]:
    expected, finished = environments.plan.get("cells") or 0, runs["key"].nunique()
    if finished < expected:
        yield f"Unfinished: {finished} of {expected} runs are in the log. Everything below is about those."
    used = _used(environments, runs)
    differing = _differences(list(used.values()))
    if len(used) > 1:
        yield f"A mixture: these runs were measured in {len(used)} environments, which differ in {listed(differing)}."
    yield from caveats(runs)


def _overview(each: pd.DataFrame, table: pd.DataFrame, looks: Looks) -> Part:
    best = table.iloc[0]
    if best["found"] == 0:
        title = "No solver found an optimum"
    else:
        tally = "every optimum" if best["found"] == best["runs"] else f"{best['found']} of {best['runs']} optima"
        title = f"{best['method']} finds {tally}"
        if best["median"] == best["median"]:
            title += f", in {duration(best['median'], 2)} (median)"
    text = "Higher: more optima found. Further left: faster. Runs that missed have no time. "
    if each["start"].nunique() > 1:
        text += said("whiskers") + " "
    parts = [percent(rows["found"].mean()) for rows in pictures.classes(each).values()]
    if len(parts) == 2:
        text += said("overview", easy=parts[0], hard=parts[1])
    return Part("overview", title, text, pictures.overview(each, looks))


def _matrix(each: pd.DataFrame, table: pd.DataFrame) -> Part:
    missed = len(each) - int(table["found"].sum())
    title = "No run missed an optimum"
    if missed:
        counts = {"ended in another local minimum": "elsewhere", "found it less accurately": "less_accurate"}
        tallies = {ending: table[name].sum() for ending, name in counts.items() if table[name].any()}
        words = [f"{'all' if tally == missed > 1 else tally} {ending}" for ending, tally in tallies.items()]
        title = f"{missed} of {len(each)} runs missed the optimum" + (f"; {listed(words)}" if words else "")
    text = said("matrix")
    if differing := verdict.disagreements(each):
        text += f" On {counted(differing, 'problem')}, solvers end in different minima."
    return Part("matrix", title, text, (pictures.matrix(each),))


def _growth(each: pd.DataFrame, looks: Looks) -> Part | None:
    kinds = pictures.growth_kinds(each)
    if not kinds:
        return None
    timed = each[each["found"] & each["total_seconds"].notna()]
    largest = timed.loc[timed["kind"].isin(kinds), "size"].max()
    there = timed[timed["size"] == largest].groupby("method")["total_seconds"].median().sort_values()
    title = f"At H = {largest:,.0f}, {there.index[0]} takes {duration(there.iloc[0], 2)}"
    if len(there) > 1:
        title += f", {there.index[-1]} {duration(there.iloc[-1], 2)}"
    return Part("growth", title, said("growth"), pictures.growth(each, looks, kinds))


def _ends(each: pd.DataFrame, looks: Looks, most: int = 4) -> Part | None:
    found = missed.missed_problems(each, most)
    if not found:
        return None
    ends = [end for case in found for end in case.display.ends]
    lost = sum(end.place.startswith("local minimum") for end in ends)
    title = "Methods that missed ended in another local minimum" if lost else "Where methods that missed ended"
    return Part("ends", title, said("ends"), pictures.paths(found, looks))


def _solvers(each: pd.DataFrame, table: pd.DataFrame) -> Part:
    liars = list(table.loc[table["false_claims"] > 0, "method"])
    title = "No solver makes a false claim"
    if liars:
        title = f"{counted(len(liars), 'solver')} of {len(table)} made a false claim"
        title += f": {listed(liars)}" if len(liars) <= 3 else ""
    return Part("solvers", title, tables=(solvers_table(each, table),))


def solvers_table(each: pd.DataFrame, table: pd.DataFrame) -> Table:
    """The one table: a row for each solver."""
    table, columns = table.copy(), [SOLVER]
    classes = pictures.classes(each)
    heads = ["found"] if len(classes) == 1 else ["found, one minimum", "found, several minima"]
    for head, (title, rows) in zip(heads, classes.items(), strict=True):
        tallies = verdict.by_solver(rows).set_index("method")
        texts = {line.method: f"{line.found}/{line.runs}" for line in tallies.reset_index().itertuples()}
        table[f"share {title}"] = table["method"].map(tallies["share"])
        table[f"tally {title}"] = table["method"].map(texts)
        columns.append(Column(head, f"share {title}", text=f"tally {title}"))
    columns.append(Column("another minimum", "elsewhere", COUNT))
    if table["less_accurate"].any():
        columns.append(Column("less accurate", "less_accurate", COUNT))
    columns.append(Column("false claims", "false_claims", COUNT))
    columns += [Column("median [ms]", "median", milliseconds), Column("90 % [ms]", "ninety", milliseconds)]
    columns.append(Column("× fastest", "relative", lambda value: significant(value, 2)))
    notes = [said("solvers")]
    if table["evaluations"].notna().any():
        columns.append(Column("gradients", "evaluations", COUNT))
        notes.append("Gradients: the median number of evaluations.")
    return Table.of("solvers", "", columns, table, notes)


def _limits(judged: Judged, environments: Environments) -> Iterator[str]:
    runs = judged.runs
    entries = [entry for entry in _used(environments, runs).values() if entry]
    machines = {
        f"{entry.get('processor')}, {counted(entry.get('cores') or 1, 'core')}, Python {entry.get('python')}"
        for entry in entries
    }
    if machines:
        yield f"Machine: {listed(sorted(machines))}."
    if any((entry.get("load") or 0) > (entry.get("cores") or 1) for entry in entries):
        yield "Other programs kept all cores busy when it began: times are upper limits."
    limits = " and ".join(f"{limit:g} s" for limit in sorted(runs["time_limit"].dropna().unique()))
    repetitions = int(runs["repetition"].max()) + 1
    times = f"up to {repetitions} times; the median time counts, and the worst outcome" if repetitions > 1 else "once"
    yield f"Each run: a process of its own with one BLAS thread, ended after {limits}, measured {times}."
    local = runs.loc[runs["solver"].map(verdict.is_local).astype(bool), "start"]
    drawn = local[local != verdict.PRIOR].nunique()
    places = ["at the prior"] if (local == verdict.PRIOR).any() or not drawn else []
    places += [f"at {drawn} random posteriors, the same for all methods"] if drawn else []
    yield f"Each local method begins {listed(places)}."
    counts = len(judged.comparable), len(judged.condensed), len(runs)
    if counts[0] < counts[2]:
        yield said("counts", compared=counts[0], runs=counts[1], measurements=counts[2])
    yield "Not timed: importing software, the constant, the certificate."
    yield said("optimum", gap=verdict.CORRECT_GAP)


def _used(environments: Environments, runs: pd.DataFrame) -> dict[int, Description]:
    """The environments that runs name, by number."""
    return {number: environments.entry(number) for number in sorted({int(n) for n in runs["environment"].dropna()})}


def _differences(entries: list[Description]) -> list[str]:
    """The facts in which environments differ, date and load aside."""
    names = dict.fromkeys(name for entry in entries for name in _flat(entry) if name not in MOMENTARY)
    return [name for name in names if len({str(_flat(entry).get(name)) for entry in entries}) > 1]


def _flat(environment: Description) -> Description:
    entries: Description = {}
    for name, value in environment.items():
        entries |= value if isinstance(value, dict) else {name.removesuffix("_bytes"): value}
    return entries


def _software(runs: pd.DataFrame, environments: Environments) -> Part:
    used = _used(environments, runs)
    columns = [Column("what", "what", numeric=False)]
    facts: dict[str, Description] = {}
    for number, entry in used.items():
        here = runs[runs["environment"] == number]
        # Nobody but the programs that solvers ran know their versions.
        programs = here.dropna(subset="software").groupby("method", sort=False)["software"]
        named = programs.agg(lambda texts: ", ".join(sorted(set(texts)))).to_dict()
        known = {"runs": len(here), **_flat(entry), **named}
        known |= {"memory": f"{known['memory'] / 2**30:.1f} GiB"} if known.get("memory") else {}
        facts[str(number)] = known
        columns.append(Column(f"environment {number}" if len(used) > 1 else "value", str(number), numeric=False))
    names = dict.fromkeys(name for known in facts.values() for name in known)
    records = pd.DataFrame({"what": list(names)})
    for place, known in facts.items():
        records[place] = ["not installed" if known.get(name) is None else str(known[name]) for name in names]
    return Part("software", "Machine and versions", tables=(Table.of("environment", "", columns, records),))
