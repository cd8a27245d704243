"""The bound in models of your own. Each answer is computed in a second way, too.

``python bound_in_your_own_model.py``; docs/own-model.md explains the steps.
"""

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
from scipy.optimize import minimize

import pacb_models as pm

ERRORS = [31, 35, 38, 42, 47, 55]  # of six classifiers, on the same 400 examples
PRICES = [0.030, 0.022, 0.012, 0.008, 0.006, 0.003]
PROBLEM = pm.BoundProblem.from_counts(ERRORS, m=400, distance="squared")


def ipopt() -> Any:
    """Ipopt as Pyomo calls it; by default it would leave weights and bounds some 1e-8 below their limits."""
    return pyo.SolverFactory("cyipopt", options={"bound_relax_factor": 0.0})


def purchase(problem: pm.BoundProblem) -> pyo.ConcreteModel:
    """A model with a binary variable for every classifier: only what is bought can have weight."""
    model = pyo.ConcreteModel()
    model.pac = problem.pyomo_block()
    model.buy = pyo.Var(range(problem.size), domain=pyo.Binary)
    model.held = pyo.Constraint(range(problem.size), rule=lambda model, i: model.pac.q[i] <= model.buy[i])
    return model


def least_bound_of(bought: tuple[int, ...]) -> float:
    """The proven minimum when only some classifiers can have weight."""
    return pm.solve(PROBLEM.replace(constraints=[pm.weights(at_most=np.array(bought, dtype=float))])).bound


def buy_or_not() -> tuple[float, float]:
    """The bound plus the price of what is bought: SCIP, and all 63 purchases."""
    model = purchase(PROBLEM)
    cost = sum(price * model.buy[i] for i, price in enumerate(PRICES))
    model.total = pyo.Objective(expr=model.pac.bound + cost)
    pyo.SolverFactory("scip_direct").solve(model)
    purchases = [each for each in product((0, 1), repeat=6) if any(each)]
    return pyo.value(model.total), min(least_bound_of(each) + np.dot(PRICES, each) for each in purchases)


def within_a_budget() -> tuple[float, float]:
    """The least bound of classifiers for at most 0.03: SCIP, and ours with ``support``."""
    model = purchase(PROBLEM)
    model.budget = pyo.Constraint(expr=sum(price * model.buy[i] for i, price in enumerate(PRICES)) <= 0.03)
    model.least = pyo.Objective(expr=model.pac.bound)
    pyo.SolverFactory("scip_direct").solve(model)
    return pyo.value(model.least), pm.solve(PROBLEM.replace(constraints=[pm.support(sizes=PRICES, total=0.03)])).bound


def two_data_sets() -> tuple[float, float]:
    """One posterior for two data sets, the larger bound as small as can be: Ipopt, and SciPy's SLSQP."""
    here = PROBLEM.replace(distance="kl")
    there = pm.BoundProblem.from_counts([70, 61, 55, 50, 46, 43], m=500, distance="kl")
    model = pyo.ConcreteModel()
    model.here = here.pyomo_block()
    model.there = there.pyomo_block(model.here.q, simplex=False)
    model.larger = pyo.Var(initialize=0.5)
    model.rows = pyo.ConstraintList()
    model.rows.add(model.here.bound <= model.larger)
    model.rows.add(model.there.bound <= model.larger)
    model.least = pyo.Objective(expr=model.larger)
    model.here.initialise(here.prior)
    model.there.initialise()
    ipopt().solve(model)

    def room(x: np.ndarray) -> list[float]:
        return [x[-1] - each.value_and_gradient(np.abs(x[:-1]))[0] for each in (here, there)]

    rows = [{"type": "eq", "fun": lambda x: x[:-1].sum() - 1.0}, {"type": "ineq", "fun": room}]
    start, limits = np.append(here.prior, 0.5), [(0.0, 1.0)] * 7
    found = minimize(lambda x: x[-1], start, method="SLSQP", bounds=limits, constraints=rows, options={"ftol": 1e-12})
    return pyo.value(model.larger), found.fun


def cheapest_with_a_guarantee() -> tuple[float, float]:
    """The least average latency with a bound of at most 0.18: Ipopt, and where ours meets 0.18 along the latency."""
    problem, latency = PROBLEM.replace(distance="kl"), [9.0, 7.0, 6.0, 4.0, 3.0, 1.0]
    model = pyo.ConcreteModel()
    model.pac = problem.pyomo_block()
    model.guarantee = pyo.Constraint(expr=model.pac.bound <= 0.18)
    model.latency = pyo.Objective(expr=sum(value * model.pac.q[i] for i, value in enumerate(latency)))
    ipopt().solve(model)
    low, high = min(latency), max(latency)
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        limited = pm.solve(problem.replace(constraints=[pm.average(latency, at_most=middle)]))
        low, high = (low, middle) if limited.bound <= 0.18 else (middle, high)
    return pyo.value(model.latency), high


def sweep_over_delta() -> list[tuple[float, float]]:
    """The least bound for several delta, compiled once: CVXPY with parameters, and ours."""
    problem, q = PROBLEM.replace(distance="linear"), cp.Variable(6)
    bound = problem.cvxpy_bound(q)
    program = cp.Problem(cp.Minimize(bound.expression), bound.constraints)
    found = []
    for delta in (0.01, 0.05, 0.2):
        changed = problem.replace(delta=delta)
        bound.update(changed)
        found.append((program.solve(solver=cp.CLARABEL), pm.solve(changed).bound))
    return found


def main() -> None:
    pairs = {
        "buy or not": buy_or_not(),
        "within a budget": within_a_budget(),
        "two data sets": two_data_sets(),
        "cheapest with a guarantee": cheapest_with_a_guarantee(),
        **dict(zip(("delta 0.01", "delta 0.05", "delta 0.2"), sweep_over_delta())),
    }
    for name, (own, other) in pairs.items():
        print(f"{name:<26} {own:.7f}  {other:.7f}")


if __name__ == "__main__":
    main()
