"""SCIP on one model, in a process of its own: SCIP can end the process that it runs in.

Reads one JSON object from standard input, with the file of the model, its start and SCIP's parameters, and writes one
to standard output. It needs nothing of this package.
"""

import json
import sys
import time
from typing import Any


def solve_task(task: dict[str, Any]) -> dict[str, Any]:
    """Read the model, run SCIP, and tell what it found and proved. Where its linear programs fail, they have been seen
    not to fail without a start."""
    try:
        return _solved(task)
    except Exception as reason:
        if not task["start"] or "LP solver" not in str(reason):
            raise
        return _solved(task | {"start": {}})


def _solved(task: dict[str, Any]) -> dict[str, Any]:
    from pyscipopt import Model

    scip = Model()
    scip.hideOutput()
    scip.readProblem(task["model"])
    variables = {variable.name: variable for variable in scip.getVars()}
    # A first solution, with which SCIP knows from the beginning what need not be searched.
    solution = scip.createSol()
    for name, value in task["start"].items():
        scip.setSolVal(solution, variables[name], value)
    scip.addSol(solution, free=True)
    for name, value in task["options"].items():
        scip.setParam(name, value)
    started = time.perf_counter()
    scip.optimize()
    found = scip.getNSols() > 0
    return {
        "status": scip.getStatus(),
        "lower_bound": scip.getDualbound(),
        "values": {name: scip.getVal(variable) for name, variable in variables.items()} if found else None,
        "nodes": scip.getNTotalNodes(),
        "seconds": time.perf_counter() - started,
    }


if __name__ == "__main__":
    print(json.dumps(solve_task(json.load(sys.stdin))))
