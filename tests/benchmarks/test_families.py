"""The hard problems: the same to the last bit everywhere, with optima that other means confirm."""

import json

import pytest

import pacb_models as pm
from pacb_models import average
from pacb_models.benchmarks.problems import forests
from pacb_models.benchmarks.problems.families import CONSTRAINED, FAMILIES, GAPS, every_instance, instance, instances
from pacb_models.benchmarks.problems.families.collection import data_digest
from pacb_models.benchmarks.problems.families.generators import sentence
from pacb_models.proofs import files, verify, votes

from ..solvers.constrained import best_of_supports
from ..solvers.path_reference import scan

#: Small enough for brute force in fifty digits: few distinct risks, two minima or more.
SAMPLE = (
    "one-good-10-H20-chi2-squared",
    "one-good-17-H20-chi2-kl",
    "one-good-33-H20-renyi3-squared",
    "one-good-41-H20-renyi3-kl",
    "no-errors-07-H50-chi2-kl",
)


def test_every_family_is_explained_and_frozen():
    assert {frozen.family for frozen in every_instance()} == set(FAMILIES)
    for family in FAMILIES:
        assert sentence(family).endswith(".") and sentence(family).count(". ") == 0


def are_apart(frozen, gap):
    return abs((frozen.second_minimum - frozen.optimum) / gap - 1.0) < 0.01


def test_a_third_of_the_collection_has_several_minima():
    assert 190 <= len(instances()) <= 210
    assert sum(frozen.minima > 1 for frozen in instances()) >= len(instances()) / 3
    tuned = [frozen for frozen in instances() if frozen.family == "one-good"]
    for gap in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        assert sum(are_apart(frozen, gap) for frozen in tuned) >= 8


def test_minima_are_as_far_apart_as_they_were_tuned_to_be():
    found = instances(GAPS)
    assert len(every_instance()) >= 400
    assert {frozen.size for frozen in found} == {10, 100, 300, 1000, 10_000, 100_000}
    counts = [sum(are_apart(frozen, gap) for frozen in found) for gap in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)]
    assert min(counts) >= 25 and sum(counts) == len(found)


def test_constrained_instances_are_small_and_a_third_has_several_minima():
    found = instances(CONSTRAINED)
    assert {frozen.family for frozen in found} == {"budget", "caps", "sparse"}
    assert {frozen.build().posteriors is None for frozen in found} == {False}
    assert min(frozen.size for frozen in found) == 4 and max(frozen.size for frozen in found) == 60
    for family in ("budget", "caps", "sparse"):
        minima = [frozen.minima for frozen in found if frozen.family == family]
        assert 8 <= len(minima) <= 12 and sum(count > 1 for count in minima) >= 4


def test_a_constraint_that_changes_changes_the_digest():
    problem = instance("budget-01-H20-chi2-kl").build()
    [row] = problem.constraints
    changed = [average(row.values, at_most=row.at_most + 1e-9, name=row.name)]
    assert len({data_digest(problem.replace(constraints=each)) for each in (changed, problem.constraints, ())}) == 3


@pytest.mark.long
@pytest.mark.parametrize(
    "frozen", [each for each in instances(CONSTRAINED) if each.family != "sparse"], ids=lambda frozen: frozen.name
)
def test_ipopt_from_many_starts_finds_nothing_below_and_mostly_the_same(frozen):
    """On the averages and caps; limits on the support have integer variables, which Ipopt has not."""
    problem = frozen.build()
    solution = pm.solve(problem, "ipopt", starts=10, seed=1)
    assert solution.details["constraint_violation"] <= 1e-8
    assert solution.bound >= frozen.optimum - 1e-9
    if frozen.minima == 1:
        assert solution.bound == pytest.approx(frozen.optimum, abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("name", ["sparse-04-H10-kl-kl", "sparse-10-H10-chi2-squared", "sparse-12-H4-chi2-kl"])
def test_trying_every_support_finds_the_same(name):
    frozen = instance(name)
    assert best_of_supports(frozen.build()) == pytest.approx(frozen.optimum, abs=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_generated_data_are_those_that_were_frozen(family):
    for frozen in every_instance():
        if frozen.family == family:
            assert data_digest(frozen.build()) == frozen.digest, frozen.name


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_the_exact_solver_certifies_the_frozen_optima_again_and_its_proofs_are_verified(family, tmp_path):
    for frozen in every_instance():
        # The largest takes half a minute, and its data were compared above.
        if frozen.family == family and frozen.size <= 100_000:
            problem = frozen.build()
            solution = pm.solve(problem)
            assert solution.is_global, frozen.name
            assert solution.bound == pytest.approx(frozen.optimum, abs=1e-12), frozen.name
            record = files.to_record(problem, solution.proof, solution)
            assert record["problem"] == json.loads(problem.to_json())
            assert frozen.optimum * (1 - 1e-9) <= record["lower_bound"] <= frozen.optimum * (1 + 1e-12)
            files.save(tmp_path / "proof.json", record)
            code, sentence = verify.verify(tmp_path / "proof.json")
            assert code == verify.PROVEN, f"{frozen.name}: {sentence}"
            # Where minima come by chance one of them may be a dip of the last digits, which another processor misses.
            if family in ("one-good", "rivals", "staircase"):
                assert 1 < 1 + len(solution.local_minima) <= frozen.minima, frozen.name
                second = solution.local_minima[0].bound
                # Minima that the proof does not need may be missed.
                assert second >= frozen.second_minimum - 1e-12, frozen.name


@pytest.mark.long
def test_the_optima_of_votes_are_certified_and_their_proofs_verified(tmp_path):
    for recipe in forests.problems():
        solution = pm.solve(recipe.build())
        solution.save_proof(tmp_path / "proof.json")
        code, sentence = votes.verify.verify(tmp_path / "proof.json")
        assert (solution.is_global, code) == (True, verify.PROVEN), f"{recipe.name}: {sentence}"


@pytest.mark.parametrize("name", SAMPLE)
def test_brute_force_in_fifty_digits_finds_the_same_minima(name):
    frozen = instance(name)
    bounds = [float(bound) for bound, *_ in scan(frozen.build(), count=6000)]
    assert len(bounds) == frozen.minima
    assert bounds[:2] == pytest.approx([frozen.optimum, frozen.second_minimum], abs=1e-12)


def test_an_unknown_instance_is_named():
    with pytest.raises(pm.InputError, match="instance is 'easy'"):
        instance("easy")
