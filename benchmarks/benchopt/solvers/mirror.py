"""Mirror descent with Barzilai–Borwein steps."""

from benchmark_utils.registered import RegisteredSolver


class Solver(RegisteredSolver):
    """Mirror descent with Barzilai–Borwein steps."""

    name = "mirror"
