"""Somebody's program as a solver, ``nl:PROGRAM``: it reads an ``.nl`` file and writes a ``.sol``, as AMPL's solvers do.

Memory and threads are limited as in the process that starts it, and what it starts is ended by :mod:`.supervisor`.
"""

import os
import signal
import subprocess
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from pacb_models.errors import InputError
from pacb_models.models.pyomo_models import set_start
from pacb_models.problem import BoundProblem
from pacb_models.processes import closed_before_the_end, undisturbed
from pacb_models.solution import Outcome
from pacb_models.solver import MODEL, Solver
from pacb_models.solvers.options import default_start
from pacb_models.solving.judging import OPTIMAL_RESIDUAL
from pacb_models.validation import check_positive, check_posterior

from ..problems.claimed import claims
from ..problems.model_files import add_floors, mixture, nl_files, without_suffixes
from ..problems.solution_files import read_solution


class NlProgram(Solver):
    """A program that reads the lifted model of a bound minimisation."""

    needs = MODEL
    requires = ("pyomo",)
    honours = ("average", "weights", "support")

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def missing(self) -> str | None:
        return super().missing() or (None if os.access(self.path, os.X_OK) else f"{self.path} is no program")

    def run(
        self,
        problem: BoundProblem,
        *,
        start: object = None,
        time_limit: float | None = None,
        suffixes: bool = True,
        floors: bool = False,
    ) -> Outcome:
        """Write the model, let the program work on it, and read what it wrote.

        The start is by default the prior, or what is nearest to it under the problem's constraints. The seconds are for
        writing the model and for the program, which is ended then with all of its process group; ``suffixes`` and
        ``floors`` are as ``pacb export`` has them.
        """
        began = time.perf_counter()
        limit = None if time_limit is None else check_positive("time_limit", time_limit)
        posterior = default_start(problem) if start is None else check_posterior(start, problem.size, "start")
        model = problem.pyomo_model()
        if floors:
            add_floors(model, problem)
            posterior = mixture(problem, posterior)
        set_start(model, problem, posterior)
        with closed_before_the_end(), tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with nullcontext() if suffixes else without_suffixes(model):
                for file, content in nl_files(model, "model").items():
                    (folder / file).write_bytes(content)
            built = time.perf_counter() - began
            ended = _ended(self.path, folder, None if limit is None else max(limit - built, 0.0))
            if ended is None:
                return Outcome(None, "time_limit", "the program was ended at the time limit", setup_seconds=built)
            if not os.path.lexists(folder / "model.sol"):
                printed = (folder / "printed").read_bytes()[-300:].decode(errors="replace")
                how = f"signal {-ended}" if ended < 0 else f"exit code {ended}"
                message = f"no model.sol; {how}; it printed: {' '.join(printed.split()) or 'nothing'}"
                return Outcome(None, "error", message, setup_seconds=built)
            try:
                found = read_solution(folder / "model.sol", problem.size)
            except InputError as reason:
                return Outcome(None, "error", str(reason), setup_seconds=built)
        message, details = found.message, {"software": found.solver}
        if found.weights is None:
            status = "not_converged" if found.claims else found.status
            return Outcome(None, status or "", message, setup_seconds=built, details=details)
        if (said := claims(problem, found)).violation > OPTIMAL_RESIDUAL:
            off = f"{said.violated} is violated by {said.violation:.1e}, with a value of {said.claimed}"
            message = f"{off}. {message}"
        return Outcome(found.weights, found.status or "optimal", message, setup_seconds=built, details=details)


def _ended(program: str, folder: Path, seconds: float | None) -> int | None:
    """Return the program's exit code; None when it took longer, and is ended with its group."""
    with open(folder / "printed", "wb") as printed:
        process = None
        try:
            with undisturbed():
                process = subprocess.Popen(
                    [program, "model.nl", "-AMPL"],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=printed,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process is not None and process.returncode is None:
                # Before it is waited for: until then nobody else can have its number.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
