"""Set-up asks before it uses sudo, lets root stop it, and does without where nobody can answer."""

import os
import pty
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.outside

TOOLS = Path(__file__).resolve().parent.parent / "tools"

#: The packages in turn, as set-up wants them; what cannot be had is said. As somebody else, or as if root.
SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import debian
from steps import Log, StepFailed
# Children of a shell's background jobs are born deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
debian.GRACE = float(sys.argv[2])
if debian.GRACE:
    os.geteuid = lambda: 0
elif os.geteuid() == 0:  # be somebody else, now that all is imported
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for package in sys.argv[3:]:
    try:
        debian.install([package], Log(Path("log")))
    except StepFailed as reason:
        print(f"missing: {reason}")
"""


@pytest.fixture
def install():
    """What set-up says and which commands it runs: for a user who answers (None: no terminal), or root with a grace.

    In a directory that every user can reach.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(*packages: str, answer: str | None = None, grace: float = 0.0, stop: bool = False) -> tuple[str, str]:
            programs, here = folder / "bin", folder / "here"
            for directory in (folder, programs, here):
                directory.mkdir(exist_ok=True)
                directory.chmod(0o777)
            for program in ("sudo", "apt-get"):
                (programs / program).write_text(f'#!/bin/sh\necho {program} "$@" >> {here}/called\n')
                (programs / program).chmod(0o755)
            ours, theirs = pty.openpty()
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            pipes["stdin"] = subprocess.DEVNULL if answer is None else theirs
            command = [sys.executable, "-c", SCRIPT, str(TOOLS), str(grace), *packages]
            process = subprocess.Popen(command, cwd=here, env={"PATH": f"{programs}:/usr/bin:/bin"}, **pipes)
            os.write(ours, f"{answer}\n".encode())
            if grace and answer is not None:
                assert process.stdout.readline().startswith(f"set-up: apt-get installs {packages[0]} in ")
            if stop:
                process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[0]
            os.close(ours), os.close(theirs)
            called = here / "called"
            return said, called.read_text() if called.exists() else ""

        yield run


@pytest.mark.parametrize("answer", [None, "", "n", "what?"])
def test_without_a_yes_nothing_is_installed_and_what_is_missing_is_said(install, answer):
    said, called = install("g++", "libamplsolver-dev", answer=answer)
    assert called == ""
    for package in ("g++", "libamplsolver-dev"):
        assert f"missing: no {package}; get it as root with: apt-get install {package}" in said
    assert said.count("with sudo apt-get? [y/N]") == (0 if answer is None else 1), "asked once, where there is somebody"


def test_with_a_yes_sudo_is_used(install):
    said, called = install("g++", "libamplsolver-dev", answer="y")
    assert "missing" not in said and said.count("[y/N]") == 1
    assert [line.split()[0] for line in called.splitlines()] == ["sudo", "sudo"] and "libamplsolver-dev" in called


@pytest.mark.parametrize(("answer", "grace", "stopped"), [("", 0.2, False), ("", 600, True), (None, 600, False)])
def test_root_is_told_what_is_installed_and_can_stop_it(install, answer, grace, stopped):
    """And nobody waits where nobody looks."""
    said, called = install("libamplsolver-dev", answer=answer, grace=grace, stop=stopped)
    assert ("missing: no libamplsolver-dev; get it as root" in said) == stopped
    assert called.startswith("apt-get ") != stopped
