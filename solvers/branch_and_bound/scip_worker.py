r"""SCIP on one bound minimisation, in a process of its own.

Reads one JSON object from standard input and writes one to standard output. SCIP can end the process that it runs in.

The model has the ratios :math:`w_i = q_i/p_i` (over a larger unit where :math:`p_i` is very small), the empirical
risk ``L``, and what the bound is made of, written in the form in which SCIP recognises what is convex:

* χ²: :math:`\sum_i p_i w_i^2 \le t^2`, a second-order cone, budget :math:`c\,t`; with :math:`X` and :math:`\sqrt X`
  SCIP stalls;
* Rényi order α: :math:`\sum_i p_i w_i^\alpha \le t^\alpha`, budget :math:`c\,t`;
* KL: :math:`\sum_i p_i w_i \ln w_i \le D`, budget :math:`(D + c)/n`; with :math:`q \ln(q/p)` SCIP does not see that it
  is convex;
* squared and Pinsker: :math:`s^2 \ge b/\text{scale}`, φ_CH: :math:`s^2 + \tfrac29 s^4 + \tfrac{16}{135} s^6 \ge b`,
  bound :math:`L + s`;
* kl: :math:`L \ln(L/r) + (1-L) \ln((1-L)/(1-r)) \ge b`, bound ``r``.

All but the last two lines are convex; SCIP branches on ``L``, ``r``, ``s`` and ``t`` until the rest is settled.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

#: Empirical risks below this are counted as this much: kl has no derivative at zero. The bound does not become smaller.
LEAST_RISK = 1e-9


def main() -> None:
    """Solve the problem on standard input."""
    print(json.dumps(minimise(json.load(sys.stdin))))


def minimise(task: dict[str, Any]) -> dict[str, Any]:
    """Build the model, run SCIP, and tell what it found and proved."""
    from pyscipopt import Model, quicksum

    started = time.perf_counter()
    scip = Model()
    scip.hideOutput()
    u, risks = task["units"], task["risks"]
    w = [scip.addVar(lb=0.0, ub=1.0 / unit) for unit in u]
    L = scip.addVar(lb=max(min(risks), LEAST_RISK), ub=max(*risks, LEAST_RISK))
    scip.addCons(quicksum(u[i] * w[i] for i in range(len(u))) == 1.0)
    # An inequality: the least empirical risk that is counted need not be reached.
    scip.addCons(quicksum(u[i] * risks[i] * w[i] for i in range(len(u)) if risks[i] > 0.0) <= L)
    spread, budget, spread_at = _divergence(scip, task, w)
    objective, tail = _distance(scip, task, L, budget)
    scip.setObjective(objective, "minimize")
    _add_start(scip, task, [*w, L, spread, *tail], spread_at)
    for name, value in task["options"].items():
        scip.setParam(name, value)
    built = time.perf_counter()
    scip.optimize()
    return {
        "status": scip.getStatus(),
        "lower_bound": scip.getDualbound(),
        "ratios": [scip.getVal(each) for each in w] if scip.getNSols() else None,
        "nodes": scip.getNTotalNodes(),
        "setup_seconds": built - started,
        "seconds": time.perf_counter() - built,
    }


def _divergence(scip: Any, task: dict[str, Any], w: list[Any]) -> tuple[Any, Any, str]:
    """The variable of the divergence, the budget as an expression in it, and which of the start's numbers it is."""
    from math import log as logarithm

    from pyscipopt import log, quicksum

    p, u, c = task["prior"], task["units"], task["coefficient"]
    if task["divergence"] == "kl":
        D = scip.addVar(lb=0.0, ub=task["largest_statistic"])
        terms = (u[i] * w[i] * log(w[i]) + u[i] * logarithm(u[i] / p[i]) * w[i] for i in range(len(p)))
        scip.addCons(quicksum(terms) <= D)
        return D, (D + c) / task["exponent"], "D"
    order = task["order"]
    t = scip.addVar(lb=1.0, ub=task["largest_statistic"] ** (1.0 / order))
    factors = [p[i] * (u[i] / p[i]) ** order for i in range(len(p))]
    if order == 2.0:
        scip.addCons(quicksum(factors[i] * w[i] * w[i] for i in range(len(p))) <= t * t)
    else:
        scip.addCons(quicksum(factors[i] * w[i] ** order for i in range(len(p))) <= t**order)
    return t, c * t, "t"


def _distance(scip: Any, task: dict[str, Any], L: Any, budget: Any) -> tuple[Any, list[Any]]:
    """The bound as an expression, and the variable that inverts the distance, if there is one."""
    from pyscipopt import log

    distance = task["distance"]
    if distance == "linear":
        return L + budget, []
    if distance == "kl":
        r = scip.addVar(lb=LEAST_RISK, ub=1.0 - 1e-9)
        scip.addCons(L * log(L / r) + (1.0 - L) * log((1.0 - L) / (1.0 - r)) >= budget)
        scip.addCons(r >= L)
        return r, [r]
    s = scip.addVar(lb=0.0, ub=task["largest_excess"])
    if distance == "ch":
        scip.addCons(s**2 + 2.0 / 9.0 * s**4 + 16.0 / 135.0 * s**6 >= budget)
    else:
        scip.addCons(s * s >= budget / task["scale"])
    return L + s, [s]


def _add_start(scip: Any, task: dict[str, Any], variables: list[Any], spread_at: str) -> None:
    """A first solution, with which SCIP knows from the beginning what need not be searched."""
    start = task["start"]
    solution = scip.createSol()
    inverse = {"kl": [start["bound"]], "linear": []}.get(task["distance"], [start["bound"] - start["L"]])
    values = [*start["ratios"], max(start["L"], LEAST_RISK), start[spread_at], *inverse]
    for variable, value in zip(variables, values, strict=True):
        scip.setSolVal(solution, variable, value)
    scip.addSol(solution, free=True)


if __name__ == "__main__":
    main()
