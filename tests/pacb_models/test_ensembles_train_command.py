import os
import signal
import subprocess
import sys
import time

import pytest

from pacb_models.benchmarks.commands.train import add_parser
from pacb_models.benchmarks.experiments.datasets import load_dataset
from pacb_models.benchmarks.experiments.risk_table import RiskTable
from pacb_models.benchmarks.experiments.risks import train_risks
from pacb_models.commands.program import Parser, main
from pacb_models.errors import InputError
from pacb_models.files import held

from ..small_data import small_dataset


def train(*words):
    parser = Parser(prog="pacb")
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["train", *map(str, words)])
    return options.run(options)


#: The command in a process of its own, with its errors as a plain exit. It does not get beyond its second batch.
PROGRAM = """
import sys, time
from pacb_models.commands.program import Parser
from pacb_models.benchmarks.commands.train import add_parser
from pacb_models.benchmarks.experiments.risks import BATCH, Experiment
errors = Experiment.errors
Experiment.errors = lambda ours, batch: time.sleep(600) if batch[0] >= 2 * BATCH else errors(ours, batch)
parser = Parser(prog="pacb")
add_parser(parser.add_subparsers())
options = parser.parse_args(sys.argv[1:])
sys.exit(options.run(options))
"""


@pytest.fixture(autouse=True)
def no_directory(monkeypatch):
    """Wdbc is scikit-learn's then, and waveform is generated."""
    monkeypatch.delenv("PACB_DATA", raising=False)


def test_one_data_set_to_a_file(tmp_path, capsys):
    out = tmp_path / "deep" / "risks.csv"
    assert train("wdbc", "--count", 20, "--out", out, "--jobs", 2) == 0
    table = RiskTable.read(out)
    assert table.to_csv() == train_risks(load_dataset("wdbc"), count=20, command=table.command).to_csv()
    assert table.command == "pacb train wdbc --grid paper --count 20 --protocol paper --seed 0"
    assert "20 SVMs, validation risks 0." in capsys.readouterr().err
    assert list(out.parent.iterdir()) == [out]


def test_to_standard_output(capsys):
    assert train("wdbc", "--count", 5, "--protocol", "hold-out") == 0
    table = RiskTable.from_csv(capsys.readouterr().out)
    assert len(table) == 5 and table.protocol == "hold-out"


def test_several_data_sets_to_a_directory(tmp_path, capsys):
    words = ("wdbc", "waveform", "--count", 4, "--out", tmp_path / "risks", "--no-risk-column")
    assert train(*words) == 0
    assert sorted(path.name for path in (tmp_path / "risks").iterdir()) == ["waveform.csv", "wdbc.csv"]
    before = (tmp_path / "risks" / "wdbc.csv").stat().st_mtime_ns
    capsys.readouterr()
    assert train(*words, "--resume") == 0
    assert capsys.readouterr().err.count("complete, kept") == 2
    assert (tmp_path / "risks" / "wdbc.csv").stat().st_mtime_ns == before
    with pytest.raises(InputError, match=r"which was made by 'pacb train wdbc .* --seed 0'; delete it, or choose"):
        train(*words, "--resume", "--seed", 1)


@pytest.mark.long
def test_all_means_every_data_set(data_dir, tmp_path):
    assert train("all", "--count", 1, "--data", data_dir, "--out", tmp_path) == 0
    assert len(list(tmp_path.glob("*.csv"))) == 10
    assert RiskTable.read(tmp_path / "spambase.csv").m == 1840


def test_own_file_whose_name_has_a_line_break(tmp_path):
    own, small = tmp_path / "two\nlines.csv", small_dataset()
    rows = "".join(f"{a},{b},{c},{y}\n" for (a, b, c), y in zip(small.X.tolist(), small.y.tolist()))
    own.write_text(f"smoothness,symmetry,dimension,benign\n{rows}")
    words = (own, "--target", "benign", "--count", 6, "--out", tmp_path / "risks.csv")
    assert train(*words) == 0
    table, ours = RiskTable.read(words[-1]), train_risks(small, count=6)
    assert table.validation_errors.tolist() == ours.validation_errors.tolist()
    # The header keeps its lines.
    assert table.name == r"two\nlines" and len(table) == 6 and "--target benign" in table.command
    assert train(*words, "--resume") == 0


@pytest.mark.outside
def test_killed_runs_go_on(tmp_path):
    out, partial = tmp_path / "risks.csv", tmp_path / "risks.csv.partial"
    words = ["train", "wdbc", "--count", "96", "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stderr=subprocess.DEVNULL)
    while not (partial.exists() and partial.read_bytes().count(b"\n") == 2) and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert partial.read_text().count('"errors"') == 2 and not out.exists()
    assert train(*words[1:], "--resume") == 0
    assert not partial.exists()
    table = RiskTable.read(out)
    assert table.to_csv() == train_risks(load_dataset("wdbc"), count=96, command=table.command).to_csv()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing",), "'nothing' is neither a data set .spambase, .* nor a .csv or .parquet file"),
        (("table.csv",), "table.csv needs --target COLUMN"),
        (("bupa", "haberman"), "several data sets need --out DIR"),
        (("wdbc", "--count", "0"), "count is 0"),
        (("wdbc", "--seed", "-3"), "seed is -3"),
        *((("wdbc", o, "x"), f"{o} is 'x'; it must be one of") for o in ("--grid", "--protocol", "--missing")),
        (("wdbc", "--jobs", "0"), "--jobs is 0; it must be a positive number, or -1 for one per core"),
        (("wdbc", "--jobs", "-7"), "--jobs is -7; it must be"),
        (("wdbc", "--target", "survival"), "--target is for tables in files, and none is given"),
        (("wdbc", "--ignore", "age"), "--ignore is for tables in files"),
        (("table.csv", "--target", "y", "--data", "."), "--data is for data sets by name, and none is given"),
        (("wdbc", "--grid", "arithmetic-geometric", "--count", "5"), "count is 5; only the grid 'paper'"),
    ],
)
def test_bad_input(words, sentence):
    with pytest.raises(InputError, match=sentence):
        train(*words)


def test_tables_overwrite_neither_each_other_nor_the_data(tmp_path):
    text = "x,label\n" + "".join(f"{k},{k % 2}\n" for k in range(40))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text(text)
    options = ("--target", "label", "--count", 2, "--out")
    with pytest.raises(InputError, match=r"a/x\.csv' and '.*b/x\.csv' would both go to '.*out/x\.csv'"):
        train(tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv", *options, tmp_path / "out")
    for out in (tmp_path / "a", tmp_path / "b" / ".." / "a" / "x.csv"):
        with pytest.raises(InputError, match="would overwrite the data"):
            train(tmp_path / "a" / "x.csv", *options, out)
    assert (tmp_path / "a" / "x.csv").read_text() == text
    assert not (tmp_path / "out").exists()


@pytest.fixture
def own(tmp_path):
    """A small table of one's own, and the words that train on it."""
    path = tmp_path / "own.csv"
    path.write_text("x,label\n" + "".join(f"{k * k % 17},{k % 3 % 2}\n" for k in range(60)))
    return path, (path, "--target", "label", "--count", 8, "--out", tmp_path / "risks.csv")


def test_resume_keeps_a_table_of_the_same_data_and_settings_only(own, tmp_path, capsys):
    data, words = own
    out, text = tmp_path / "risks.csv", data.read_text()
    assert train(*words) == 0
    complete = out.read_text()
    assert train(*words, "--resume") == 0 and "complete, kept" in capsys.readouterr().err
    changed = "is not the table of these data and settings: the data changed, or the table did"
    data.write_text(text.replace("\n0,", "\n5,", 1))
    with pytest.raises(InputError, match=changed):
        train(*words, "--resume")
    data.write_text(text)
    lines = complete.splitlines(keepends=True)
    error = lines[-1].split(",")
    for damaged in (lines[:-5], [*lines[:-1], ",".join([error[0], str(int(error[1]) + 1), *error[2:]])]):
        out.write_text("".join(damaged))
        with pytest.raises(InputError, match=changed):
            train(*words, "--resume")
    assert out.read_text() == "".join(damaged)
    # Without --resume the same command makes its table anew.
    assert train(*words) == 0 and out.read_text() == complete


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("risks.csv.partial", "224 SVMs", r"risks\.csv\.partial' does not begin as our results do"),
        ("risks.csv", "name,price\ntea,3\n", "which is there already. .* its header lacks name, grid"),
    ],
)
def test_what_is_not_ours_is_not_overwritten(own, tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=sentence):
        train(*own[1])
    assert (tmp_path / name).read_text() == content and len(list(tmp_path.iterdir())) == 2


def test_devices_and_empty_files_are_written(own):
    assert train(*own[1][:-1], "/dev/null") == 0 and not os.path.exists("/dev/null.partial")
    # A file that is made to be written, such as mktemp's, is empty.
    own[1][-1].touch()
    assert train(*own[1]) == 0


def test_a_second_run_into_the_same_file_is_refused(own, tmp_path, capsys):
    words = ["train", *map(str, own[1])]
    with held(tmp_path / "risks.csv"):
        assert main(words) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1 and "another process is making" in complaint
    assert [path.name for path in tmp_path.iterdir()] == ["own.csv"]
    # A lock that a killed process left is none.
    (tmp_path / ".risks.csv.lock").write_text("")
    assert main(words) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.csv", "risks.csv"]
