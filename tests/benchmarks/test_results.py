"""The log and what lies beside it, as others may have left them."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from pacb_models.benchmarks.environment import Environments
from pacb_models.benchmarks.report.tables import Cell, Table, as_markdown
from pacb_models.benchmarks.results import LOG, SCHEMA, ResultLog, conform, export, neutralised, read_rows
from pacb_models.cli import main
from pacb_models.errors import InputError

from .made_up_log import row, write_log


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"key": "\xff"}', "it is not UTF-8"),
        (b"not JSON", "it is not JSON"),
        (b"[1, 2]", "it is no JSON object"),
        (b'{"key": "of another program"}', "it has no 'problem'"),
        (b"[" * 100_000, "not"),
        (json.dumps(row("a") | {"iterations": "many"}).encode(), "iterations is 'many'; it must be an integer"),
        (json.dumps(row("a") | {"success": None}).encode(), "it has no 'success'"),
        (json.dumps(row("a") | {"settings": "{"}).encode(), "it is not JSON"),
        (json.dumps(row("a") | {"schema": SCHEMA + 1}).encode(), "was written by a newer version"),
    ],
)
@pytest.mark.parametrize("command", ["--report", "--resume"])
def test_a_foreign_line_is_one_sentence_and_stays(tmp_path, capsys, line, reason, command):
    log = write_log(tmp_path / "out", [row("a")]) / LOG
    log.write_bytes(log.read_bytes() + line + b"\n")
    before = log.read_bytes()
    arguments = ["--report", str(log.parent)] if command == "--report" else ["--resume", "--out", str(log.parent)]
    assert main(["bench", *arguments, "--problems", "wdbc-H50-kl"]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert f"{log}, line 2" in message and reason in message
    assert log.read_bytes() == before


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"environments": 3}', b'{"environments": [3]}', b"\xff"])
def test_a_malformed_environment_is_one_sentence(tmp_path, capsys, content):
    out = write_log(tmp_path / "out", [row("a")])
    (out / "environment.json").write_bytes(content)
    assert main(["bench", "--report", str(out)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "environment.json" in message
    with pytest.raises(InputError):
        Environments.read(out)


def test_a_log_deleted_under_a_run_is_written_again(tmp_path):
    with ResultLog(tmp_path / "out") as log:
        log.append(row("a"))
        log.path.unlink()
        log.append(row("b"))
        log.append(row("c"))
    assert [found["solver"] for found in read_rows(tmp_path / "out")] == ["a", "b", "c"]


def test_a_value_of_another_type_is_refused_and_no_number_is_none():
    assert conform({"bound": float("nan"), "gap": 1, "iterations": 3.0})["bound"] is None
    for wrong in ({"iterations": "many"}, {"iterations": True}, {"bound": [1.0]}, {"message": 3}, {"claims": 1}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} is .*; it must be"):
            conform(wrong)


HOSTILE = ("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "plain", " =1")


def test_spreadsheets_run_nothing_of_the_exported_table(tmp_path):
    out = write_log(tmp_path / "out", [row("a", name, dataset=name, gap=-1e-16) for name in HOSTILE])
    export(out)
    read = pd.read_csv(out / "results.csv", dtype=str)
    for name, problem in zip(HOSTILE, read["problem"], strict=True):
        assert problem == ("plain" if name == "plain" else f"'{name}")
        assert neutralised(problem) == problem
    # Numbers stay numbers, and the exact names are in the Parquet file.
    assert read["gap"].astype(float).tolist() == [-1e-16] * len(HOSTILE)
    assert pd.read_parquet(out / "results.parquet")["problem"].tolist() == list(HOSTILE)


def test_empty_columns_keep_their_type(tmp_path):
    out = write_log(tmp_path / "out", [row("a", gap=None)])
    export(out)
    kinds = pd.read_parquet(out / "results.parquet").dtypes
    assert (kinds["bound"], kinds["seed"], kinds["traced"]) == ("float64", "Int64", "boolean")


def test_markdown_tables_hold_text_only():
    import markdown

    name = "<img src=x onerror=alert(1)> | *a* [b](c) `d` _e_\n# f"
    text = as_markdown(Table("t", "caption", ("name",), (False,), ((Cell(name, name),),)))
    page = markdown.markdown(text, extensions=["tables"])
    assert page.count("<td>") == 1
    for tag in ("<img", "<em>", "<a ", "<code>", "<h1"):
        assert tag not in page
    assert "*a* [b](c) `d` _e_ # f" in page
