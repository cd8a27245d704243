import os
import stat
import subprocess
import sys

import pytest

from pacb_models.errors import InputError
from pacb_models.files import held, reading, write_atomically
from pacb_models.risk_file import read_risk_file


def test_text_and_bytes_and_new_directories(tmp_path):
    write_atomically(tmp_path / "deep" / "a.txt", "λ = 0.1\n")
    write_atomically(tmp_path / "deep" / "b.bin", b"\x00\xff")
    assert (tmp_path / "deep" / "a.txt").read_bytes() == "λ = 0.1\n".encode()
    assert (tmp_path / "deep" / "b.bin").read_bytes() == b"\x00\xff"
    assert len(list((tmp_path / "deep").iterdir())) == 2


def test_a_file_is_replaced_not_rewritten(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "first")
    with path.open() as reader:
        write_atomically(path, "second")
        assert reader.read() == "first"
    assert path.read_text() == "second"


def test_the_umask_holds(tmp_path):
    previous = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a.txt", "text")
    finally:
        os.umask(previous)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def test_pipes_and_devices_are_written_to_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, "text")
    assert os.read(reading, 10) == b"text" and stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reading)
    # By a link: should this fail, it costs the link and not the device.
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        write_atomically(tmp_path / "full", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "pipe"]


def test_failures_leave_nothing_behind(tmp_path):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*: "):
        write_atomically(tmp_path / "file" / "below.txt", "text")
    with pytest.raises(InputError, match=r"cannot write .*: Is a directory"):
        write_atomically(tmp_path / "folder", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


COUNTING = """
import sys, time
from pathlib import Path
from pacb_models.errors import InputError
from pacb_models.files import held
path, done = Path(sys.argv[1]), 0
while done < 20:
    try:
        with held(path):
            number = int(path.read_text())
            time.sleep(0.001)
            path.write_text(str(number + 1))
            done += 1
    except InputError:
        time.sleep(0.001)
"""


@pytest.mark.outside
def test_a_file_is_held_by_one_process_at_a_time(tmp_path):
    """Many processes that add one to a number, each reading and writing it while it holds the file: none is lost."""
    path = tmp_path / "number"
    path.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", COUNTING, str(path)]) for _ in range(4)]
    assert [process.wait(timeout=120) for process in processes] == [0] * 4
    assert path.read_text() == "80"
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (OverflowError("int too large"), "cannot read 'a.txt': OverflowError: int too large."),
        (KeyError("x"), "cannot read 'a.txt': KeyError: 'x'."),
        (RecursionError(), "cannot read 'a.txt': RecursionError."),
        (OSError(40, "Too many levels of symbolic links"), "cannot read 'a.txt': Too many levels of symbolic links."),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), "cannot read 'a.txt': it is not a text file in UTF-8."),
        (InputError("m is 0; it must be positive."), "a.txt: m is 0; it must be positive."),
        (InputError("a.txt has no m."), "a.txt has no m."),
    ],
)
def test_whatever_is_raised_while_a_file_is_read_is_one_sentence_with_its_name(reason, sentence):
    with pytest.raises(InputError) as said, reading("a.txt"):
        raise reason
    assert str(said.value) == sentence


@pytest.mark.parametrize("reason", [KeyboardInterrupt, MemoryError])
def test_what_is_not_the_files_fault_stays_what_it_is(reason):
    with pytest.raises(reason), reading("a.txt"):
        raise reason


def test_names_that_no_file_can_have(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, why in (("a\0b", "embedded null"), ("loop", "Too many levels of symbolic links")):
        with pytest.raises(InputError, match=f"cannot read the risk file .*{why}"):
            read_risk_file(tmp_path / name)
    for write in (lambda path: write_atomically(path, "text"), lambda path: held(path).__enter__()):
        with pytest.raises(InputError, match=r"cannot write .*embedded null"):
            write(tmp_path / "a\0b")
        with pytest.raises(InputError, match="cannot write"):
            write(tmp_path / "loop" / "below")
