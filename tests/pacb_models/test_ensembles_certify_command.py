"""``pacb certify``: the guarantee, its record, its page, and the paper's ensemble by name."""

from __future__ import annotations

import hashlib
import json
import re

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from pacb_models.cli import main
from pacb_models.ensembles.classifier_sets import SETS, classifier_set


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
        "certify",
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
    titles = ["What is guaranteed", "What is not", "The deployed predictor", "All candidates", "Data and split"]
    assert re.findall("<h2>(.*?)</h2>", html) == [*titles, "How it was made"]
    # Loading runs code; this file was written a moment ago.
    restored = joblib.load(model)
    names, weights = restored.names_, restored.deployed_.weights
    assert all(f"<td>{names[index]}</td>" in html for index in np.flatnonzero(weights))
    assert restored.bound_ == bound and set(restored.predict(load_breast_cancer().data[:9])) <= {"0", "1"}


def test_the_paper_s_ensemble_by_name(table, capsys):
    paper = [
        "certify",
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
    assert "not for --classifiers paper-svm" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--classifiers", "magic"], "--classifiers is 'magic'"),
        (["--group", "nowhere"], "group is 'nowhere'"),
        # What would be ignored, or written over.
        (["--distance", "squared"], "--distance goes with --classifiers paper-svm"),
        (["--classifiers", "linear", "--count", "3"], "--count goes with --classifiers paper-svm"),
        (["--out", "one", "--report", "one"], "--report is 'one', as is --out"),
    ],
)
def test_bad_input_is_one_line(table, capsys, options, named):
    assert main(["certify", str(table), "--target", "target", *options]) == 2
    message = capsys.readouterr().err
    assert named in message and message.count("\n") == 1


def test_sets_have_names_of_their_own():
    names = [name for name, _ in classifier_set("all")]
    assert len(set(names)) == len(names) == sum(len(classifier_set(part)) for part in SETS)
