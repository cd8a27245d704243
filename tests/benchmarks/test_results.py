"""The log and what lies beside it, as others may have left them."""

import json

import pandas as pd
import pytest

from pacb_models.benchmarks.harness.environment import Environments
from pacb_models.benchmarks.harness.measurement import conforming
from pacb_models.benchmarks.harness.results import LOG, neutralised, read_rows, write_exports
from pacb_models.commands.program import main
from pacb_models.errors import InputError
from pacb_models.wording import shown

from .made_up_log import row, write_log


def changed(**changes):
    return json.dumps({"key": "k", "row": vars(row("a")) | changes}).encode()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *((line, "line 2 is no row of ours") for line in (b'{"key": "\xff"}', b"not JSON", b"[" * 100_000)),
        *((line, "line 2 is no row of ours") for line in (b'{"key": 3, "row": 1}', b'{"key": "b"}')),
        (b'{"key": "of another program", "row": 3}', "row 2 is no result"),
        (changed(iterations="many"), "row 2 is no result: iterations is 'many'; it must be an integer"),
        (changed(claims=None), "it has no 'claims'"),
        (changed(settings="{"), "settings is '{'; it must be a JSON object"),
        (changed(schema=2), "was written by another version of pacb (schema 2"),
        (changed(theirs=1), "it has the unknown field 'theirs'"),
    ],
)
@pytest.mark.parametrize("command", ["--report", "--resume"])
def test_a_foreign_line_is_one_sentence_and_stays(tmp_path, capsys, line, reason, command):
    log = write_log(tmp_path / "out", [row("a")]) / LOG
    log.write_bytes(log.read_bytes() + line + b"\n")
    before = log.read_bytes()
    arguments = ["--report", str(log.parent)] if command == "--report" else ["--resume", "--out", str(log.parent)]
    cells = [] if command == "--report" else ["--problems", "wdbc-H50-kl"]
    assert main(["bench", *arguments, *cells]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert str(log) in message and reason in message
    assert log.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        *(b"{", b"[]", b"\xff", b"[" * 100_000, b'{"environments": 3}', b'{"environments": [3]}'),
        *(b'{"environments": [null]}', b'{"environments": [], "plan": 3}', b'{"environments": [{"cores": -1}]}'),
        b'{"environments": [], "plan": {"cells": "many"}}',
        b'{"environments": [{"processor": ["a list"]}]}',
        b'{"environments": [{"cores": {"an": "object"}}]}',
        b'{"environments": [{"versions": {"numpy": [2]}}]}',
        b'{"environments": [{"memory_bytes": 1' + b"0" * 400 + b"}]}",
    ],
)
def test_a_malformed_environment_is_one_sentence(tmp_path, capsys, content):
    out = write_log(tmp_path / "out", [row("a")])
    (out / "environment.json").write_bytes(content)
    assert main(["bench", "--report", str(out)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "environment.json" in message
    with pytest.raises(InputError):
        Environments.read(out)


@pytest.mark.parametrize("arguments", [["--out"], ["--merge", "a", "b", "--out"], ["--resume", "--out"]])
@pytest.mark.parametrize(
    "foreign",
    ['{"theirs": 1}\nand more of it', '[{"key": "a", "row": 1}]', "\x00", "[1, 2]", '{\n"key": "a"}', "a,b\n1,2\n"],
)
def test_a_refused_run_leaves_a_foreign_file_as_it_is(tmp_path, monkeypatch, capsys, arguments, foreign):
    """Its last line has no line break, as other programs write it."""
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        write_log(tmp_path / name, [row(name)])
    log = tmp_path / "foreign" / LOG
    log.parent.mkdir()
    log.write_text(foreign)
    assert main(["bench", *arguments, str(log.parent)]) == 2
    assert "does not begin as our results do" in capsys.readouterr().err
    assert log.read_text() == foreign and [each.name for each in log.parent.iterdir()] == [LOG]


@pytest.mark.long
def test_texts_of_others_are_shown_on_one_line_and_not_at_length(tmp_path):
    made = row("a\x1b[2Jb", "one\ntwo", message="\x07" + 3_000_000 * "long ")
    [found] = read_rows(write_log(tmp_path, [made]))
    assert (found.solver, found.problem) == (r"a\x1b[2Jb", "one two")
    assert found.message.startswith(r"\x07long long") and found.message.endswith("... (15000001 characters)")
    assert len(found.message) <= 1000 and (tmp_path / LOG).stat().st_size < 4000


def test_a_value_of_another_type_is_refused_and_no_number_is_none():
    assert conforming({"bound": float("nan"), "iterations": 3.0}) == {"bound": None, "iterations": 3}
    integers = [{"iterations": wrong} for wrong in ("many", True, 10**40, 1e40)]
    for wrong in (*integers, {"bound": 10**400}, {"bound": [1.0]}, {"message": 3}, {"claims": 1}, {"settings": []}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} is .*; it must be"):
            row("a", **wrong)


HOSTILE = ("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "plain", " =1")


def test_spreadsheets_run_nothing_of_the_exported_table(tmp_path):
    out = write_log(tmp_path / "out", [row("a", name, family=name, gap=-1e-9) for name in HOSTILE])
    write_exports(out, read_rows(out))
    read = pd.read_csv(out / "results.csv", dtype=str)
    for name, problem in zip(HOSTILE, read["problem"], strict=True):
        assert problem == ("plain" if name == "plain" else f"'{shown(name)}")
        assert neutralised(problem) == problem
    # Numbers stay numbers, and the names are in the Parquet file.
    assert read["gap"].astype(float).tolist() == [(0.25 - 1e-9) - 0.25] * len(HOSTILE)
    assert pd.read_parquet(out / "results.parquet")["problem"].tolist() == list(map(shown, HOSTILE))


def test_empty_columns_keep_their_type(tmp_path):
    out = write_log(tmp_path / "out", [row("a", gap=None)])
    write_exports(out, read_rows(out))
    kinds = pd.read_parquet(out / "results.parquet").dtypes
    assert (kinds["bound"], kinds["seed"], kinds["traced"]) == ("float64", "Int64", "boolean")
