"""L-BFGS or Adam over the logits of the weights."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """L-BFGS or Adam over the logits of the weights."""

    name = "softmax"
    parameters = {"method": ["lbfgs"]}
