"""Random problems of every kind with their proofs, one number changed, and what forty digits say of the claim."""

import copy
import json
import random
from pathlib import Path

import numpy as np
from mpmath import exp, log, mpf

import pacb_models as pm
from pacb_models.proofs import files, verify

from .mp_reference import budget, invert, numbers, statistic

BOUNDS = [
    *(("chi2", 2.0, distance) for distance in ("linear", "squared", "kl")),
    *(("kl", 1.0, distance) for distance in ("linear", "squared", "kl", "pinsker", "ch", "relative")),
    *(("renyi", order, "kl") for order in (1.1, 1.5, 4.0, 30.0)),
    ("renyi", 1.3, "linear"),
    ("renyi", 3.0, "squared"),
]


def drawn(rng, bound, size=None, constraints=()):
    divergence, order, distance = bound
    size = size or int(rng.integers(2, 40))
    m = int(rng.integers(10, 3000))
    # Equal risks are added up by the checker.
    different = rng.integers(0, max(m // 2, 2), size if rng.random() < 0.5 else 3)
    arguments = {
        "m": m,
        "delta": float(rng.choice([0.01, 0.05, 0.3])),
        "distance": distance,
        "divergence": divergence,
        "order": order if divergence == "renyi" else 2.0,
        "prior": rng.dirichlet(np.ones(size)) + 0.0 if rng.random() < 0.5 else None,
        "constant": str(rng.choice(["exact", "one-sided"])),
        "constraints": constraints,
    }
    errors = rng.choice(different, size)
    if rng.random() < 0.3:
        return pm.BoundProblem.from_counts(errors, **arguments)
    return pm.BoundProblem(errors / m, **arguments)


def sets(rng, size):
    """Constraints of every kind; none contradicts the prior."""
    latency, memory = rng.uniform(0.0, 50.0, size).round(1), rng.uniform(0.1, 1.0, size).round(1)
    few = pm.support(at_most=int(rng.integers(1, 4)))
    row = pm.average(latency, at_most=float(np.median(latency)))
    return {
        "free": [],
        "few": [few],
        "sizes": [pm.support(sizes=memory, total=float(memory.max() + 0.7).__round__(1))],
        "caps": [pm.weights(at_most=float(rng.uniform(1.5, 3.0)) / size)],
        "caps and floors": [pm.weights(at_most=rng.uniform(1.5, 3.0, size) / size, at_least=0.2 / size)],
        "row": [row],
        "few and row": [few, row],
        "rows and caps": [
            pm.average(latency, at_most=float(np.mean(latency)), name="latency"),
            pm.average(memory, at_least=float(np.quantile(memory, 0.3)), name="memory"),
            pm.weights(at_most=0.6),
        ],
    }


KINDS = list(sets(np.random.default_rng(0), 6))


def problem_of(bound, kind, seed):
    """A random problem of a kind; under constraints a small one."""
    rng = np.random.default_rng([seed, BOUNDS.index(bound), KINDS.index(kind)])
    size = None if kind == "free" else int(rng.integers(4, 8))
    return drawn(rng, bound, size, sets(rng, size)[kind] if size else ())


def proven(problem):
    """The minimum that the package finds, and its proof as a record."""
    solution = pm.solve(problem)
    return solution, files.to_record(problem, solution.proof, solution)


def answer(record, folder):
    """What the checker says of a record as a file."""
    path = Path(folder) / "proof.json"
    path.write_text(json.dumps(record))
    return verify.verify(path)


def named(record):
    """The record with the digest of its own problem."""
    return record | {"problem_digest": files.digest(record["problem"])}


# -- Mutants ---------------------------------------------------------------------------------------------------------


def places(value, path=()):
    """The paths of all numbers in a record."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def mutant(record, draw):
    """The record with one number changed: as often one of the claim or the problem as one of the many lines."""
    groups = {}
    for path in places(record):
        groups.setdefault(path[:2] if path[0] in ("problem", "posterior") else path[0], []).append(path)
    path = draw.choice(draw.choice(list(groups.values())))
    changed = copy.deepcopy(record)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    old = holder[path[-1]]
    by = draw.choice([1e-12, 1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0]) * draw.choice([-1.0, 1.0])
    whole = [old + 1, old - 1, 0, -old, 2 * old, 10 * old] if isinstance(old, int) else []
    holder[path[-1]] = draw.choice(
        whole or [old * (1 + by), old * (1 + by), old + by, 0.0, -old, 1e300, 1e-300, float("nan"), float("inf")]
    )
    return path, named(changed)


def bound_of(record, weights):
    """The bound of some weights, by the formulas in forty digits, with the constant of the record."""
    given, errors = record["problem"], record["problem"]["errors"]
    names = given["distance"], given["divergence"], given["order"]
    risks = numbers(given["risks"]) if errors is None else [mpf(k) / given["m"] for k in errors]
    prior = numbers(given["prior"] or np.ones(len(risks)))
    p, q = ([each / sum(values) for each in values] for values in (prior, numbers(weights)))
    L = sum(w * risk for w, risk in zip(q, risks))
    total, constant = statistic(q, p, *names[1:]), exp(mpf(record["log_constant"]))
    return invert(given["distance"], L, budget(total, constant, given["m"], given["delta"], *names))


def lie(record):
    """What is false about a record that was accepted; None when nothing is found."""
    weights = np.zeros(len(record["problem"]["risks"]))
    weights[record["posterior"]["classifiers"]] = record["posterior"]["weights"]
    if bound_of(record, weights) > mpf(record["bound"]) * (1 + mpf(10) ** -20):
        return "the bound of the posterior is larger"
    given = copy.deepcopy(record["problem"])
    for each in given.get("constraints", ()):
        if each["kind"] == "weights":
            # A cap above one is none, and a floor below zero neither: the package does not take them.
            each |= {name: np.clip(each[name], 0.0, 1.0).tolist() for name in ("at_most", "at_least") if name in each}
    try:
        problem = pm.BoundProblem.from_json(json.dumps(given))
    except pm.InputError:
        # Numbers out of the package's reach: the posterior was compared.
        return None
    # Another constant is another δ.
    delta = float(exp(log(mpf(problem.delta)) + problem.log_constant - record["log_constant"]))
    best = pm.solve(problem.replace(delta=float(np.clip(delta, 1e-300, 1 - 1e-15)))).posterior
    tolerance = mpf(10) ** (-20 if problem.posteriors is None else -9)  # by which constraints may be broken
    support = None if problem.posteriors is None else problem.posteriors.support
    if best is not None and support is not None and support.exact_size(np.flatnonzero(best)) > support.exact_total():
        # Sizes in a unit as small as 1e-300: the package adds them up in floating point, the checker does not.
        return None
    if best is not None and bound_of(record, best) < mpf(record["lower_bound"]) * (1 - tolerance):
        return "another posterior has a smaller bound"
    return None


def attack(bound, kind, seed, folder):
    """Prove a random problem, have the proof verified, and one of its mutants; what was changed, and the answer."""
    problem = problem_of(bound, kind, seed)
    if pm.solve(problem).proof is None:
        # Branches over supports may end without any.
        assert kind == "few and row"
        return None, None
    solution, record = proven(problem)
    code, sentence = answer(record, folder)
    assert code == verify.PROVEN, sentence
    assert not solution.is_global or record["lower_bound"] >= solution.bound * (1 - 1e-9)
    path, changed = mutant(record, random.Random(seed))
    code, sentence = answer(changed, folder)
    assert code != verify.PROVEN or not lie(changed), f"{path}: {lie(changed)}, but {sentence}"
    return path, code
