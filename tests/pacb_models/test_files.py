import os
import stat

import pytest

from pacb_models.errors import InputError
from pacb_models.files import write_atomically


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
