"""``pacb fit``: the guarantee, its record, its page, and the paper's ensemble by name."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from pacb_models.commands.program import main
from pacb_models.estimators.classifier_sets import SETS, classifier_set


@pytest.fixture
def table(tmp_path):
    frame = load_breast_cancer(as_frame=True).frame
    frame["site"] = np.resize(["north", "south & <b>west</b>"], len(frame))
    path = tmp_path / "cells.csv"
    frame.to_csv(path, index=False)
    return path


def test_guarantee_record_model_and_page(table, tmp_path, capsys):
    out, page, model = tmp_path / "cells.json", tmp_path / "cells.html", tmp_path / "cells.joblib"
    arguments = [
        "fit",
        str(table),
        "--target",
        "target",
        "--classifiers",
        "linear",
        "--per-class",
        "--group",
        "site",
    ]
    assert main([*arguments, "--ignore", "site", "--out", str(out), "--report", str(page), "--model", str(model)]) == 0
    printed = capsys.readouterr().out
    record = json.loads(out.read_text())
    bound = record["guarantee"]["bound"]
    assert float(re.search(r"errs on a new example with probability at most ([\d.]+)", printed)[1]) >= bound
    assert record["certificate"]["single_bound"] == bound and len(record["guarantee"]["statements"]) == 4
    html = page.read_text()
    assert hashlib.sha256(table.read_bytes()).hexdigest() in html
    assert "south &amp; &lt;b&gt;west&lt;/b&gt;" in html and "<b>" not in html
    assert not re.search(r"(src|href)=|https?://|<script", html), "the page needs nothing from elsewhere"
    assert html.count("<circle") == 2 * len(record["certificate"]["single_bounds"])
    titles = ["What is guaranteed", "What is not", "What it said of the held-out examples", "The deployed predictor"]
    assert re.findall("<h2>(.*?)</h2>", html) == [*titles, "All candidates", "Data and split", "How it was made"]
    # Loading runs code; this file was written a moment ago.
    restored = joblib.load(model)
    names, weights = restored.names_, restored.deployed_.weights
    assert all(f"<td>{names[index]}</td>" in html for index in np.flatnonzero(weights))
    assert restored.bound_ == bound and set(restored.predict(load_breast_cancer().data[:9])) <= {"0", "1"}


def test_the_paper_s_ensemble_by_name(table, capsys):
    paper = [
        "fit",
        str(table),
        "--target",
        "target",
        "--ignore",
        "site",
        "--classifiers",
        "paper-svm",
        "--count",
        "3",
    ]
    assert main([*paper, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["lambdas"]) == 3
    assert main([*paper, "--report", "x.html"]) == 2
    assert "--report is not for --classifiers paper-svm" in capsys.readouterr().err


def test_what_an_auditor_asks(tmp_path, capsys):
    """Dropped rows, ignored columns, the positive class, identifiers, small groups, counts and percentages."""
    frame = load_breast_cancer(as_frame=True).frame
    frame["target"] = np.where(frame["target"] == 0, "cancer", "healthy")
    frame["patient"] = np.arange(1000, 1000 + len(frame))
    frame["site"] = np.where(np.arange(len(frame)) < 5, "tiny", "north")
    frame["note"] = "x"
    frame.loc[5:30, "mean area"] = np.nan
    path, page, out = tmp_path / "cells.csv", tmp_path / "cells.html", tmp_path / "cells.json"
    frame.to_csv(path, index=False)
    command = ["fit", str(path), "--target", "target", "--classifiers", "trees", "--missing", "drop"]
    command += ["--ignore", "note", "--group", "site", "--per-class", "--report", str(page), "--out", str(out)]
    assert main(command) == 0
    printed, html = capsys.readouterr().out, page.read_text()
    for text in (printed, html):
        assert "26 of 569 rows were dropped because a value is missing (by column: mean area 26)" in text
        assert "has another whole number in every row" in text and "Too few examples: group" in text
        assert "Columns that were ignored: note" in text and "false positive rate" not in text
        assert "not an estimate" in text and "tiny" in text
    record = json.loads(out.read_text())
    data, guarantee = record["data"], record["guarantee"]
    assert (data["rows_in_file"], data["rows_dropped"], data["columns_ignored"]) == (569, 26, ["note"])
    assert f"({100 * guarantee['errors'] / guarantee['examples']:.1f} %)" in html
    assert "several seeds" in html and "called cancer" in html and "not given, so that no rate is called" in html
    cells = [int(cell) for cell in re.findall(r"<td class=number>(\d+)</td>", html.split("called cancer")[1])[:6]]
    assert cells[0] + cells[1] == cells[2] and cells[3] + cells[4] == cells[5]
    assert cells[2] + cells[5] == guarantee["examples"] and cells[1] + cells[3] == guarantee["errors"]
    assert main([*command, "--positive", "cancer"]) == 0
    html = page.read_text()
    assert "class &#39;cancer&#39; (false negative rate, 1 - recall)" in html
    assert "class &#39;healthy&#39; (false positive rate)" in html
    assert main([*command, "--positive", "Cancer"]) == 2
    assert "positive is 'Cancer'" in capsys.readouterr().err


def test_places_are_looked_at_before_anything_is_trained(table, tmp_path, capsys):
    model = tmp_path / "kept.joblib"
    blocked = tmp_path / "file" / "page.html"
    (tmp_path / "file").write_text("not a folder")
    for place in (blocked, tmp_path):
        # The target does not exist: a place that cannot be written is noticed before the table is read.
        command = ["fit", str(table), "--target", "nosuch", "--model", str(model), "--report", str(place)]
        assert main(command) == 2
        assert f"--report is {str(place)!r}; it cannot be written there" in capsys.readouterr().err
    assert not model.exists()
    assert main(["fit", str(table), "--target", "target", "--report", ""]) == 2
    assert "--report is empty" in capsys.readouterr().err


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on(table, tmp_path, capsys):
    command = ["fit", str(table), "--target", "target", "--ignore", "site", "--classifiers", "linear", "--json"]
    assert main(command) == 0
    expected = json.loads(capsys.readouterr().out)
    kept = [*command, "--resume", str(tmp_path / "kept")]
    assert main(kept) == 0
    assert json.loads(capsys.readouterr().out) == expected
    results = sorted((tmp_path / "kept").rglob("output.pkl"))
    assert len(results) == 6  # five folds and the classifiers themselves
    # As if it had been stopped in the last fold: what is there is not done again.
    for path in results[:2]:
        path.unlink()
    before = {path: path.stat().st_mtime_ns for path in results[2:]}
    assert main(kept) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert {path: path.stat().st_mtime_ns for path in results[2:]} == before and all(map(Path.exists, results))
    # Other data are other work.
    assert main([*kept, "--seed", "1"]) == 0
    assert len(list((tmp_path / "kept").rglob("output.pkl"))) == 12


def test_the_former_name_works_and_says_the_new_one(table, capsys):
    command = [str(table), "--target", "target", "--ignore", "site", "--classifiers", "linear", "--json"]
    assert main(["fit", *command]) == 0
    new = capsys.readouterr().out
    assert main(["certify", *command]) == 0
    old = capsys.readouterr()
    assert json.loads(old.out) == json.loads(new) and "is called pacb fit now" in old.err
    assert main(["certify", str(table), "--target", "target", "--m", "5"]) == 2
    assert "--target goes with --predictions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--classifiers", "magic"], "--classifiers is 'magic'"),
        (["--group", "nowhere"], "group is 'nowhere'"),
        (["--seed", "99999999999"], "--seed is 99999999999"),
        # What would be ignored, or written over.
        (["--distance", "squared"], "--distance goes with --classifiers paper-svm"),
        (["--classifiers", "linear", "--count", "3"], "--count goes with --classifiers paper-svm"),
        (["--out", "one", "--report", "one"], "--report is 'one', as is --out"),
    ],
)
def test_bad_input_is_one_line(table, capsys, options, named):
    assert main(["fit", str(table), "--target", "target", *options]) == 2
    message = capsys.readouterr().err
    assert named in message and message.count("\n") == 1


def test_sets_have_names_of_their_own():
    names = [name for name, _ in classifier_set("all")]
    assert len(set(names)) == len(names) == sum(len(classifier_set(part)) for part in SETS)
