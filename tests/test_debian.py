"""Set-up asks before it uses sudo, lets root stop it, and does without where nobody can answer."""

from __future__ import annotations

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

#: Two packages in turn, as set-up wants them; what cannot be had is said, and what was called is in a file.
SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import debian
from steps import Log, StepFailed
if os.geteuid() == 0:  # be somebody else, now that all is imported
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for package in ("g++", "libamplsolver-dev"):
    try:
        debian.install([package], Log(Path("log")))
    except StepFailed as reason:
        print(f"missing: {reason}")
"""


def install(folder: Path, answer: str | None) -> tuple[str, str]:
    """What set-up says, and the commands that it ran through sudo, for a user who is not root; None: no terminal."""
    programs, here = folder / "bin", folder / "here"
    for directory in (folder, programs, here):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o777)
    for name in ("sudo", "apt-get"):
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {here}/called\n')
        (programs / name).chmod(0o755)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(TOOLS)],
        cwd=here,
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL if answer is None else theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if answer is not None:
        os.write(ours, f"{answer}\n".encode())
    said = process.communicate(timeout=60)[0]
    os.close(ours), os.close(theirs)
    called = here / "called"
    return said, called.read_text() if called.exists() else ""


@pytest.fixture
def folder():
    """A directory that every user can reach."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("answer", [None, "", "n", "what?"])
def test_without_a_yes_nothing_is_installed_and_what_is_missing_is_said(folder, answer):
    said, called = install(folder, answer)
    assert called == ""
    for package in ("g++", "libamplsolver-dev"):
        assert f"missing: no {package}; get it as root with: apt-get install {package}" in said
    assert said.count("with sudo apt-get? [y/N]") == (0 if answer is None else 1), "asked once, where there is somebody"


def test_with_a_yes_sudo_is_used(folder):
    said, called = install(folder, "y")
    assert "missing" not in said and said.count("[y/N]") == 1
    assert [line.split()[0] for line in called.splitlines()] == ["sudo", "sudo"] and "libamplsolver-dev" in called


#: As root, or as if: the programs that are called are those of the test.
AS_ROOT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import debian
from steps import Log, StepFailed
os.geteuid = lambda: 0
# Children of a shell's background jobs are born deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
debian.GRACE = float(sys.argv[2])
try:
    debian.install(["libamplsolver-dev"], Log(Path("log")))
except StepFailed as reason:
    print(f"missing: {reason}")
"""


@pytest.mark.parametrize(("terminal", "grace", "stopped"), [(True, 0.2, False), (True, 600, True), (False, 600, False)])
def test_root_is_told_what_is_installed_and_can_stop_it(folder, terminal, grace, stopped):
    """And nobody waits where nobody looks."""
    (folder / "apt-get").write_text('#!/bin/sh\necho "$@" >> called\n')
    (folder / "apt-get").chmod(0o755)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", AS_ROOT, str(TOOLS), str(grace)],
        cwd=folder,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        stdin=theirs if terminal else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    if terminal:
        assert process.stdout.readline().startswith("set-up: apt-get installs libamplsolver-dev in ")
    if stopped:
        process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    os.close(ours), os.close(theirs)
    assert ("missing: no libamplsolver-dev; get it as root" in said) == stopped
    assert (folder / "called").exists() != stopped
