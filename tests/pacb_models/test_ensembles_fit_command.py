"""``pacb fit``: the guarantee, its record, its page, and the paper's ensemble by name."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from pacb_models import InputError
from pacb_models.estimators.coding import SETS, TableCoding, classifier_set

from ..policies import allows_what_it_has_and_no_more


@pytest.fixture
def table(tmp_path):
    frame = load_breast_cancer(as_frame=True).frame
    frame["site"] = np.resize(["north", "south & <b>west</b>"], len(frame))
    path = tmp_path / "cells.csv"
    frame.to_csv(path, index=False)
    return path


def test_guarantee_record_model_and_page(table, tmp_path, pacb):
    out, page, model = tmp_path / "cells.json", tmp_path / "cells.html", tmp_path / "cells.joblib"
    line = f"fit {table} --target target --classifiers linear --per-class --group site --ignore site"
    printed = pacb(f"{line} --out {out} --report {page} --model {model}").out
    record = json.loads(out.read_text())
    bound = record["guarantee"]["bound"]
    assert float(re.search(r"errs on a new example with probability at most ([\d.]+)", printed)[1]) >= bound
    assert record["certificate"]["single_bound"] == bound and len(record["guarantee"]["statements"]) == 4
    html = page.read_text()
    assert hashlib.sha256(table.read_bytes()).hexdigest() in html
    assert "south &amp; &lt;b&gt;west&lt;/b&gt;" in html and "<b>" not in html
    assert not re.search(r"(src|href)=|https?://|<script", html), "the page needs nothing from elsewhere"
    assert allows_what_it_has_and_no_more(html)
    assert html.count("<circle") == 2 * len(record["certificate"]["single_bounds"])
    titles = ["What is guaranteed", "What is not", "What it said of the held-out examples", "The deployed predictor"]
    assert re.findall("<h2>(.*?)</h2>", html) == [*titles, "All candidates", "Data and split", "How it was made"]
    # Loading runs code; this file was written a moment ago.
    restored = joblib.load(model)
    names, weights = restored.names_, restored.deployed_.weights
    assert all(f"<td>{names[index]}</td>" in html for index in np.flatnonzero(weights))
    said = restored.predict(pd.read_csv(table)[restored.feature_names_in_])
    assert restored.bound_ == bound and set(said) == {"0", "1"}


def test_the_paper_s_ensemble_by_name(table, pacb):
    paper = f"fit {table} --target target --ignore site --classifiers paper-svm --count 3"
    assert len(pacb(paper, "--json").json["lambdas"]) == 3


def test_what_an_auditor_asks(tmp_path, pacb, refused):
    """Dropped rows, ignored columns, the positive class, identifiers, small groups, counts and percentages."""
    frame = load_breast_cancer(as_frame=True).frame
    frame["target"] = np.where(frame["target"] == 0, "cancer", "healthy")
    frame["patient"] = np.arange(1000, 1000 + len(frame))
    frame["site"] = np.where(np.arange(len(frame)) < 5, "tiny", "north")
    frame["note"] = "x"
    frame.loc[5:30, "mean area"] = np.nan
    path, page, out = tmp_path / "cells.csv", tmp_path / "cells.html", tmp_path / "cells.json"
    frame.to_csv(path, index=False)
    command = f"fit {path} --target target --classifiers trees --missing drop --ignore note --group site --per-class"
    command += f" --report {page} --out {out}"
    printed, html = pacb(command).out, page.read_text()
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
    pacb(command, "--positive", "cancer")
    html = page.read_text()
    assert "class &#39;cancer&#39; (false negative rate, 1 - recall)" in html
    assert "class &#39;healthy&#39; (false positive rate)" in html
    refused("positive is 'Cancer'", command, "--positive", "Cancer")


def test_places_are_looked_at_before_anything_is_trained(table, tmp_path, refused):
    model = tmp_path / "kept.joblib"
    blocked = tmp_path / "file" / "page.html"
    (tmp_path / "file").write_text("not a folder")
    for place in (blocked, tmp_path):
        # The target does not exist: a place that cannot be written is noticed before the table is read.
        command = f"fit {table} --target nosuch --model {model} --report {place}"
        refused(f"--report is {str(place)!r}; it cannot be written there", command)
    assert not model.exists()
    refused("--report is empty", f"fit {table} --target target --report ''")


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on(table, tmp_path, pacb):
    command = f"fit {table} --target target --ignore site --classifiers linear --json"
    expected, folder = pacb(command).json, tmp_path / "kept"
    kept = f"{command} --resume {folder}"
    assert pacb(kept).json == expected
    # Five folds and the classifiers themselves.
    results = sorted(folder.rglob("output.pkl"))
    assert len(results) == 6
    # As if it had been stopped in the last fold: what is there is not done again.
    for path in results[:2]:
        path.unlink()
    before = {path: path.stat().st_mtime_ns for path in results[2:]}
    assert pacb(kept).json == expected
    assert {path: path.stat().st_mtime_ns for path in results[2:]} == before and all(map(Path.exists, results))
    # Other data are other work.
    pacb(kept, "--seed", "1")
    assert len(list(folder.rglob("output.pkl"))) == 12


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--classifiers magic", "--classifiers is 'magic'"),
        ("--group nowhere", "group is 'nowhere'"),
        ("--seed -1", "--seed is -1"),
        ("--seed 99999999999", "--seed is 99999999999; it must be a whole number from 0 to 4294967295"),
        ("--jobs 0", "--jobs is 0"),
        ("--lambdas x", "--lambdas is 'x'"),
        ("--out {table}", "the table itself"),
        # What would be ignored, or written over.
        ("--distance squared", "--distance needs --classifiers paper-svm"),
        ("--classifiers linear --count 3", "--count needs --classifiers paper-svm"),
        ("--classifiers paper-svm --report x.html", "--report is not for --classifiers paper-svm"),
        ("--out one --report one", "--report is 'one', as is --out"),
    ],
)
def test_bad_input_is_one_line(table, options, named, refused):
    refused(named, f"fit {table} --target target {options.format(table=table)}")


def test_a_class_of_one_row_cannot_be_trained_on(tmp_path, refused):
    (tmp_path / "table.csv").write_text("x,class\n" + "".join(f"{k},{'ab'[k == 39]}\n" for k in range(40)))
    said = "cannot be trained on this table: The number of classes"
    refused(said, f"fit {tmp_path}/table.csv --target class --count 2")


def test_sets_have_names_of_their_own():
    names = [name for name, _ in classifier_set("all", TableCoding())]
    assert len(set(names)) == len(names) == sum(len(classifier_set(part, TableCoding())) for part in SETS)


def shop(rows=300):
    """Who buys? Text, numbers, a flag, and values that few rows have."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": random.choice(["red", "blue", "green"], rows),
            "price": random.normal(10, 3, rows).round(2),
            "member": random.random(rows) < 0.5,
            "town": [f"town {k}" for k in np.minimum(random.geometric(0.3, rows), 40)],
        }
    )
    score = (frame["colour"] == "red") * 2 - 0.3 * (frame["price"] - 10) + frame["member"]
    frame["buys"] = np.where(score + random.normal(0, 0.7, rows) > 1, "yes", "no")
    return frame


ELSEWHERE = """
import sys, joblib, pandas as pd
model, table = joblib.load(sys.argv[1]), pd.read_csv(sys.argv[2])
print(*model.predict(table[model.feature_names_in_]))
print(*model.predict(table[model.feature_names_in_].tail(1).assign(colour="never seen")))
"""


@pytest.mark.outside
@pytest.mark.parametrize("options", ["trees", "linear --missing impute", "paper-svm --count 3 --scale"])
def test_a_saved_model_predicts_the_raw_table_in_another_process(options, tmp_path, pacb):
    frame, path, saved = shop(), tmp_path / "shop.csv", tmp_path / "shop.joblib"
    if "impute" in options:
        frame.loc[::7, "price"] = np.nan
        frame.loc[::11, "colour"] = None
    frame.to_csv(path, index=False, na_rep="?")
    printed = pacb(f"fit {path} --target buys --model {saved} --classifiers {options}").out
    assert "model.predict(table[model.feature_names_in_])" in printed
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, saved, path], capture_output=True, text=True, check=True)
    said, new = (line.split() for line in done.stdout.splitlines())
    assert np.mean(np.array(said) == frame["buys"]) > 0.75 and len(said) == len(frame) and new[0] in ("yes", "no")
    # Loading runs code; this file was written a moment ago.
    assert joblib.load(saved).predict(frame.drop(columns="buys")).tolist() == said


def test_what_the_held_out_rows_hold_is_not_learnt(tmp_path, pacb):
    frame, saved = shop(), tmp_path / "shop.joblib"
    frame["town"] = [f"town {k % 100}" for k in range(len(frame))]
    path = tmp_path / "shop.csv"
    frame.to_csv(path, index=False)
    pacb(f"fit {path} --target buys --classifiers linear --model {saved}")
    model = joblib.load(saved)
    order = np.random.RandomState(0).permutation(len(frame))
    trained = set(frame["town"].iloc[order[150:]])
    assert len(trained) < 100
    for pipeline in model.estimators_:
        assert {value for _, name, value in pipeline[0].features_ if name == "town"} == trained
    lacking = frame.drop(columns="buys").assign(price=["?", *frame["price"][1:]])
    with pytest.raises(InputError, match=r"column 'price' has no number in row 1 \('\?'\)"):
        model.predict(lacking)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["colour"]])


def test_more_dropped_than_kept_stands_in_the_first_box(tmp_path, pacb):
    frame, page = shop(), tmp_path / "shop.html"
    for lost, first in ((100, False), (160, True)):
        frame.loc[:lost, "price"] = np.nan
        frame.to_csv(tmp_path / "shop.csv", index=False)
        command = f"fit {tmp_path}/shop.csv --target buys --classifiers linear"
        pacb(command, "--missing", "drop", "--report", page)
        box = page.read_text().split("<h2>What is not")[0]
        assert (f"{lost + 1} of 300 rows were dropped" in box) is first


NUMBERS = st.one_of(st.none(), st.integers(-5, 5))


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), NUMBERS), min_size=2),
    st.lists(st.tuples(st.sampled_from(["a", "d", None]), NUMBERS), min_size=1),
)
def test_the_coding_by_hand(training, new):
    frames = [pd.DataFrame({"text": [t for t, _ in rows], "x": [x for _, x in rows]}) for rows in (training, new)]
    coding = TableCoding(["text"], impute=True).fit(frames[0])
    values = sorted({t or "is missing" for t, _ in training})
    known = [x for _, x in training if x is not None]
    median, flag = np.median(known or [0]), len(known) < len(training)
    coded = [[(t or "is missing") == value for value in values] + [median if x is None else x] for t, x in new]
    expected = [row + [x is None] * flag for row, (_, x) in zip(coded, new)]
    assert coding.transform(frames[1]).tolist() == expected
    # Read by pandas alone: it does not know this mark, and keeps the space after a comma.
    marked = frames[1].astype(object).where(frames[1].notna(), "?").assign(text=lambda f: " " + f["text"])
    assert coding.transform(marked).tolist() == expected
    assert len(coding.get_feature_names_out()) == len(expected[0])
