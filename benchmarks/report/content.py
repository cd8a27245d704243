"""What the report contains, before it is written in any format: six parts, the picture first, and details."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from pacb_models.plots.style import styled

from .. import verdict
from ..harness.environment import MOMENTARY, Description, Environments
from ..verdict import Judged
from . import caveats, missed, pictures
from .details import COUNT, SOLVER, details, families, milliseconds
from .drawing import Looks
from .tables import Column, Part, Table
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


def describe(judged: Judged, environments: Environments) -> Content:
    """Return everything the report says about the results of a run."""
    runs, each = judged.runs, judged.comparable
    parts: list[Part | None] = []
    paper: tuple[Part, ...] = ()
    found: tuple[Part, ...] = ()
    if len(each):
        looks = pictures.looks_for(judged.by_solver)
        with styled():
            parts = [_overview(judged, looks), _matrix(judged)]
            parts += [families(judged) if each["start"].nunique() > 1 else None, *_findings(judged, looks)]
            paper = tuple(paper_parts(judged.condensed, each))
            found = tuple(details(judged, looks))
    # The environments that runs name, by number.
    used = {int(number): environments.entry(number) for number in sorted(runs["environment"].dropna().unique())}
    limits = tuple(_limits(judged, used))
    known = runs.groupby("problem")["reference_bound"].first().notna()
    which = "all of them" if known.all() else f"{known.sum()} of {counted(len(known), 'problem')}"
    counts = (len(known), "problem"), (runs["method"].nunique(), "solver"), (len(each), "compared run")
    return Content(
        suite=" and ".join(map(str, runs["suite"].unique())),
        # The day is enough here; the environment has the rest.
        subtitle=" · ".join([*(counted(*count) for count in counts), str(runs["timestamp"].max())[:10]]),
        introduction=said("introduction", which=which),
        verdict=judged.sentence(),
        contradicted=len(judged.contradictions) > 0,
        warnings=tuple(_warnings(runs, environments.plan.get("cells") or 0, used)),
        parts=(*filter(None, parts), Part("environment", "Where it was measured, and its limits", points=limits)),
        paper=paper,
        details=(*found, _software(runs, used)),
    )


def _warnings(runs: pd.DataFrame, expected: int, used: dict[int, Description]) -> Iterator[str]:
    if (finished := runs["key"].nunique()) < expected:
        yield f"Unfinished: {finished} of {expected} runs are in the log. Everything below is about those."
    if len(used) > 1:
        facts = [_flat(entry) for entry in used.values()]
        names = dict.fromkeys(name for known in facts for name in known if name not in MOMENTARY)
        differing = listed([name for name in names if len({str(known.get(name)) for known in facts}) > 1])
        yield f"A mixture: these runs were measured in {len(used)} environments, which differ in {differing}."
    yield from caveats(runs)


def _overview(judged: Judged, looks: Looks) -> Part:
    each, best = judged.comparable, judged.by_solver.iloc[0]
    title = "No solver found an optimum"
    if best["found"] > 0:
        tally = "every optimum" if best["found"] == best["runs"] else f"{best['found']} of {best['runs']} optima"
        title = f"{best['method']} finds {tally}"
        title += f", in {duration(best['median'], 2)} (median)" if pd.notna(best["median"]) else ""
    text = "Higher: more optima found. Further left: faster. Runs that missed have no time. "
    text += said("whiskers") + " " if each["start"].nunique() > 1 else ""
    parts = [percent(rows["found"].mean()) for rows in pictures.classes(each).values()]
    text += said("overview", easy=parts[0], hard=parts[1]) if len(parts) == 2 else ""
    return Part("overview", title, text, pictures.overview(each, looks))


def _matrix(judged: Judged) -> Part:
    each, table = judged.comparable, judged.by_solver
    title = "No run missed an optimum"
    if missed := len(each) - int(table["found"].sum()):
        counts = {"ended in another local minimum": "elsewhere", "found it less accurately": "less_accurate"}
        tallies = {ending: table[name].sum() for ending, name in counts.items() if table[name].any()}
        words = [f"{'all' if tally == missed > 1 else tally} {ending}" for ending, tally in tallies.items()]
        title = f"{missed} of {len(each)} runs missed the optimum" + (f"; {listed(words)}" if words else "")
    text = said("matrix")
    if differing := verdict.disagreements(each):
        text += f" On {counted(differing, 'problem')}, solvers end in different minima."
    return Part("matrix", title, text, (pictures.matrix(judged),))


def _findings(judged: Judged, looks: Looks) -> Iterator[Part]:
    """Time against H, where those ended that missed, and what every solver came to."""
    each, table = judged.comparable, judged.by_solver
    if kinds := pictures.growth_kinds(each):
        timed = each[each["found"] & each["total_seconds"].notna()]
        largest = timed.loc[timed["kind"].isin(kinds), "size"].max()
        there = timed[timed["size"] == largest].groupby("method")["total_seconds"].median().sort_values()
        title = f"At H = {largest:,.0f}, {there.index[0]} takes {duration(there.iloc[0], 2)}"
        title += f", {there.index[-1]} {duration(there.iloc[-1], 2)}" if len(there) > 1 else ""
        yield Part("growth", title, said("growth"), pictures.growth(each, looks, kinds))
    if found := missed.missed_problems(each, most=4):
        lost = any(end.place.startswith("local minimum") for case in found for end in case.display.ends)
        title = "Methods that missed ended in another local minimum" if lost else "Where methods that missed ended"
        yield Part("ends", title, said("ends"), pictures.paths(found, looks))
    liars = list(table.loc[table["false_claims"] > 0, "method"])
    title = f"{counted(len(liars), 'solver')} of {len(table)} made" if liars else "No solver makes"
    title += " a false claim" + (f": {listed(liars)}" if 0 < len(liars) <= 3 else "")
    yield Part("solvers", title, tables=(solvers_table(judged),))


def solvers_table(judged: Judged) -> Table:
    """Return the one table: a row for each solver."""
    table, columns, classes = judged.by_solver.copy(), [SOLVER], pictures.classes(judged.comparable)
    heads = ["found"] if len(classes) == 1 else ["found, one minimum", "found, several minima"]
    for head, (title, rows) in zip(heads, classes.items(), strict=True):
        tallies = verdict.by_solver(rows).set_index("method")
        tallies["text"] = tallies["found"].astype(str) + "/" + tallies["runs"].astype(str)
        table[f"share {title}"], table[f"tally {title}"] = (table["method"].map(tallies[n]) for n in ("share", "text"))
        columns.append(Column(head, f"share {title}", text=f"tally {title}"))
    columns.append(Column("another minimum", "elsewhere", COUNT))
    columns += [Column("less accurate", "less_accurate", COUNT)] if table["less_accurate"].any() else []
    columns.append(Column("false claims", "false_claims", COUNT))
    columns += [Column("median [ms]", "median", milliseconds), Column("90 % [ms]", "ninety", milliseconds)]
    columns.append(Column("× fastest", "relative", lambda value: significant(value, 2)))
    notes = [said("solvers")]
    if table["evaluations"].notna().any():
        columns.append(Column("gradients", "evaluations", COUNT))
        notes.append("Gradients: the median number of evaluations.")
    return Table.of("solvers", "", columns, table, notes)


def _limits(judged: Judged, used: dict[int, Description]) -> Iterator[str]:
    runs, entries = judged.runs, [entry for entry in used.values() if entry]
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
    local = runs.loc[runs["local"], "start"]
    drawn = local[local != verdict.PRIOR].nunique()
    places = ["at the prior"] if (local == verdict.PRIOR).any() or not drawn else []
    places += [f"at {drawn} random posteriors, the same for all methods"] if drawn else []
    yield f"Each local method begins {listed(places)}."
    counts = len(judged.comparable), len(judged.condensed), len(runs)
    if counts[0] < counts[2]:
        yield said("counts", compared=counts[0], runs=counts[1], measurements=counts[2])
    yield "Not timed: importing software, the constant, the certificate."
    yield said("optimum", gap=verdict.CORRECT_GAP)


def _flat(environment: Description) -> Description:
    entries: Description = {}
    for name, value in environment.items():
        entries |= value if isinstance(value, dict) else {name.removesuffix("_bytes"): value}
    return entries


def _software(runs: pd.DataFrame, used: dict[int, Description]) -> Part:
    facts: dict[str, Description] = {}
    for number, entry in used.items():
        here = runs[runs["environment"] == number]
        # Nobody but the programs that solvers ran know their versions.
        programs = here.dropna(subset="software").groupby("method", sort=False)["software"]
        named = programs.agg(lambda texts: ", ".join(sorted(set(texts)))).to_dict()
        known = {"runs": len(here), **_flat(entry), **named}
        known |= {"memory": f"{known['memory'] / 2**30:.1f} GiB"} if known.get("memory") else {}
        facts[f"environment {number}" if len(used) > 1 else "value"] = known
    names = dict.fromkeys(name for known in facts.values() for name in known)
    records = pd.DataFrame({"what": list(names)})
    for place, known in facts.items():
        records[place] = ["not installed" if known.get(name) is None else str(known[name]) for name in names]
    columns = [Column(place, place, numeric=False) for place in records]
    return Part("software", "Machine and versions", tables=(Table.of("environment", "", columns, records),))


# --- The paper's methods: when they find the optimum, in what time, from how many starts, and why not ----------------


def paper_parts(cells: pd.DataFrame, each: pd.DataFrame) -> Iterator[Part]:
    """Yield a part for each question that the runs can answer; ``each`` are the rows on which solvers are compared."""
    methods = [name for name in pictures.PAPER_METHODS if name in set(each["method"])]
    if len(methods) < 2 or each["minima"].isna().all() or (each["problem_kind"] == "tandem").all():
        return
    mine = each[each["method"].isin(methods)]
    given = mine.groupby("problem")["method"].nunique()
    # Whoever takes fewer problems than the others must not look better, or worse, for it.
    shared = mine[mine["problem"].isin(given[given == len(methods)].index)]
    if shared.empty:
        return
    # In the same colours as elsewhere.
    looks = Looks(pictures.FIRST)
    parts = {title.partition(" (")[0]: rows for title, rows in pictures.classes(shared).items()}
    hard, rows = list(parts.items())[-1]
    rates = rows.groupby("method")["found"].mean()
    words = listed([f"{name} {percent(rates[name])}" for name in methods])
    counts = mine.groupby("method")["problem"].nunique()
    named = listed([f"{name} {counts[name]}" for name in methods])
    text = said("paper-found", count=counted(shared["problem"].nunique(), "problem"), given=named)
    title = f"When (optima found with {hard[0].lower()}{hard[1:]}): {words}"
    yield Part("paper-found", title, text, (pictures.shares(parts, methods, looks),))
    exact = each[(each["method"] == "frontier") & each["problem"].isin(shared["problem"])]
    both = pd.concat([shared, exact])
    if kinds := pictures.growth_kinds(both, most=1):
        medians = shared[shared["found"]].groupby("method")["total_seconds"].median().sort_values()
        words = listed([f"{name} {duration(value, 2)}" for name, value in medians.items()])
        drawn = pictures.growth(both, looks, kinds, name="paper-growth")
        yield Part("paper-growth", f"In what time (medians): {words}", said("paper-growth"), drawn)
    started = cells[cells["method"].isin(methods) & ~cells["merged"] & cells["problem"].isin(shared["problem"])]
    random = started[(started["start"] != verdict.PRIOR) & (started["minima"] > 1)]
    if random["start"].nunique() > 1:
        found = random.groupby(["method", "problem"])["found"].agg(["mean", "any"]).groupby("method").mean()
        had = [name for name in methods if name in found.index]
        one, after = (listed([f"{name} {percent(found[rate][name])}" for name in had]) for rate in ("mean", "any"))
        title = f"From how many starts (optima that one random start finds): {one}"
        drawn = (pictures.starts_needed(random, methods, looks),)
        yield Part("paper-starts", title, said("paper-starts", after=after), drawn)
    several = shared[shared["minima"] > 1]
    if cases := missed.missed_problems(several, 1):
        # From each start that they share: whether they end at the same bound.
        bounds = several.groupby(["problem", "start"])["bound"]
        same = bounds.max() - bounds.min() <= verdict.CORRECT_GAP
        title = f"the start decides. From the same one, they end at the same bound in {same.sum()} of {len(same)} cases"
        yield Part("paper-why", f"Why: {title}", said("paper-why"), pictures.paths(cases, looks, "paper-why"))
