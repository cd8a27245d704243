import argparse
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pacb_models.ensembles.datasets import load_dataset
from pacb_models.ensembles.risk_table import RiskTable
from pacb_models.ensembles.risks import train_risks
from pacb_models.ensembles.train_command import add_parser
from pacb_models.errors import InputError


def train(*words):
    parser = argparse.ArgumentParser(prog="pacb")
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["train", *map(str, words)])
    return options.run(options)


#: The command in a process of its own, with its errors as a plain exit.
PROGRAM = """
import argparse, sys
from pacb_models.ensembles.train_command import add_parser
parser = argparse.ArgumentParser(prog="pacb")
add_parser(parser.add_subparsers())
options = parser.parse_args(sys.argv[1:])
sys.exit(options.run(options))
"""


def test_one_data_set_to_a_file(data_dir, tmp_path, capsys):
    out = tmp_path / "deep" / "risks.csv"
    assert train("haberman", "--count", 20, "--data", data_dir, "--out", out, "--jobs", 2) == 0
    table = RiskTable.read(out)
    assert table.to_csv() == train_risks(load_dataset("haberman", data_dir), count=20, command=table.command).to_csv()
    assert table.command == "pacb train haberman --grid paper --count 20 --protocol paper --seed 0"
    assert "20 SVMs, validation risks 0." in capsys.readouterr().err
    assert list(out.parent.iterdir()) == [out]


def test_to_standard_output(data_dir, capsys):
    assert train("haberman", "--count", 5, "--data", data_dir, "--protocol", "hold-out") == 0
    table = RiskTable.from_csv(capsys.readouterr().out)
    assert len(table) == 5 and table.protocol == "hold-out"


def test_several_data_sets_to_a_directory(data_dir, tmp_path, capsys):
    words = ("bupa", "haberman", "--count", 4, "--data", data_dir, "--out", tmp_path / "risks", "--no-risk-column")
    assert train(*words) == 0
    assert sorted(path.name for path in (tmp_path / "risks").iterdir()) == ["bupa.csv", "haberman.csv"]
    before = (tmp_path / "risks" / "bupa.csv").stat().st_mtime_ns
    capsys.readouterr()
    assert train(*words, "--resume") == 0
    assert capsys.readouterr().err.count("complete, kept") == 2
    assert (tmp_path / "risks" / "bupa.csv").stat().st_mtime_ns == before
    with pytest.raises(InputError, match=r"was made by 'pacb train bupa .* --seed 0', which is not what --resume"):
        train(*words, "--resume", "--seed", 1)


def test_all_means_every_data_set(data_dir, tmp_path):
    assert train("all", "--count", 1, "--data", data_dir, "--out", tmp_path) == 0
    assert len(list(tmp_path.glob("*.csv"))) == 10
    assert RiskTable.read(tmp_path / "spambase.csv").m == 1840


def test_own_file(data_dir, tmp_path):
    own = tmp_path / "own.csv"
    own.write_text("age,year,nodes,survival\n" + (data_dir / "haberman.csv").read_text())
    out = tmp_path / "risks.csv"
    assert train(own, "--target", "survival", "--count", 6, "--out", out) == 0
    table, ours = RiskTable.read(out), train_risks(load_dataset("haberman", data_dir), count=6)
    assert table.validation_errors.tolist() == ours.validation_errors.tolist()
    assert table.name == "own" and "--target survival" in table.command


def test_killed_runs_go_on(data_dir, tmp_path):
    out, partial = tmp_path / "risks.csv", tmp_path / "risks.csv.partial"
    words = ["train", "banknote", "--count", "320", "--data", str(data_dir), "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not partial.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = len(json.loads(partial.read_text())["errors"])
    assert 0 < done < 320 and not out.exists()
    assert train(*words[1:], "--resume") == 0
    assert not partial.exists()
    table = RiskTable.read(out)
    assert table.to_csv() == train_risks(load_dataset("banknote", data_dir), count=320, command=table.command).to_csv()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing",), "'nothing' is neither a data set .spambase, .* nor a .csv or .parquet file"),
        (("table.csv",), "table.csv needs --target COLUMN"),
        (("bupa", "haberman"), "several data sets need --out DIR"),
        (("haberman", "--count", "0"), "count is 0"),
        (("haberman", "--seed", "-3"), "seed is -3"),
        (("haberman", "--jobs", "0"), "n_jobs is 0; it must be a positive number of threads, or -1 for one per core"),
        (("wdbc", "--grid", "arithmetic-geometric", "--count", "5"), "count is 5; only the grid 'paper'"),
    ],
)
def test_bad_input(words, sentence, data_dir):
    with pytest.raises(InputError, match=sentence):
        train(*words, "--data", data_dir)


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


def test_a_name_with_a_line_break_keeps_the_header_in_lines(tmp_path):
    own = tmp_path / "two\nlines.csv"
    own.write_text("x,label\n" + "".join(f"{k},{k % 2}\n" for k in range(40)))
    out = tmp_path / "risks.csv"
    assert train(own, "--target", "label", "--count", 2, "--out", out) == 0
    table = RiskTable.read(out)
    assert table.name == r"two\nlines" and len(table) == 2
    assert train(own, "--target", "label", "--count", 2, "--out", out, "--resume") == 0


@pytest.mark.parametrize("option", ["--grid", "--protocol", "--missing"])
def test_unknown_choices(option):
    with pytest.raises(InputError, match=f"{option} is 'x'; it must be one of"):
        train("wdbc", option, "x")
