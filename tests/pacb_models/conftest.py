"""Commands run in this process, and what they say; data that many tests are about."""

import json
import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from sklearn.datasets import load_breast_cancer

from pacb_models.commands.program import main


class Done(NamedTuple):
    """The exit code of a command, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def pacb(capsys) -> Callable[..., Done]:
    """Run ``pacb`` with the words of a line, and further words; it ends with ``code``."""

    def run(line: str, *words: object, code: int = 0) -> Done:
        capsys.readouterr()
        try:
            ended = main([*shlex.split(line), *map(str, words)])
        except SystemExit as stop:
            ended = stop.code
        done = Done(ended, *capsys.readouterr())
        assert done.code == code, done
        return done

    return run


@pytest.fixture
def refused(pacb) -> Callable[..., None]:
    """Run a command that prints nothing, but for one line with these words on standard error."""

    def run(said: str, line: str, *words: object, code: int = 2) -> None:
        done = pacb(line, *words, code=code)
        assert said in done.err and done.err.count("\n") == 1 and not done.out, done

    return run


@pytest.fixture(scope="session")
def cancer() -> tuple[Any, Any]:
    """Features and classes of the 569 tumours."""
    return load_breast_cancer(return_X_y=True)
