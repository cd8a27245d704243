"""Finding compiled parts on PATH and in the environment."""

import os
import sys
from pathlib import Path

import pytest

from pacb_models.solvers.nonlinear import native


@pytest.fixture
def bare_paths(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)


def test_environment_is_appended_once_and_never_put_first(bare_paths):
    native.use_environment_folders()
    once = os.environ["PATH"].split(os.pathsep)
    native.use_environment_folders()
    assert os.environ["PATH"].split(os.pathsep) == once
    assert once[0] == "/usr/bin"
    assert str(Path(sys.prefix) / "bin") in once


def test_library_path_goes_before_path_as_in_pyomo(bare_paths, monkeypatch, tmp_path):
    for variable, name in (("PATH", "second"), ("LD_LIBRARY_PATH", "first")):
        (tmp_path / name).mkdir()
        (tmp_path / name / native.ASL_LIBRARY).touch()
        monkeypatch.setenv(variable, str(tmp_path / name))
        assert native.find_asl_library() == tmp_path / name / native.ASL_LIBRARY


def test_executable_of_the_environment_is_found_without_activation(bare_paths, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert native.find_asl_library() is None and native.find_ipopt_executable() is None
    program = tmp_path / "bin" / "ipopt"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    assert native.find_ipopt_executable() is None  # not executable yet
    program.chmod(0o755)
    assert native.find_ipopt_executable() == program
