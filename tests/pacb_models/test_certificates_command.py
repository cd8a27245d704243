"""``pacb certify``: the printed numbers, and what is refused."""

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import pacb_models as pm
from pacb_models import InputError
from pacb_models.certificates import ErrorCounts
from pacb_models.certificates.prediction_files import count_errors

FIVE = "name,errors\nlogistic,25\nforest,23\nboosting,21\nnearest,35\ntree,50\n"


@pytest.fixture
def counts(tmp_path):
    """A file of counts of 549 examples, and the line that certifies with it."""

    def line(text, m=549):
        (tmp_path / "counts.csv").write_text(text)
        return f"certify {tmp_path}/counts.csv --m {m}"

    return line


def test_five_classifiers(counts, pacb):
    out = pacb(counts(FIVE)).out
    assert "boosting errs with probability at most 0.06182 (observed: 0.0383)" in out
    table = out.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table] == ["name", "boosting", "forest", "logistic", "nearest", "tree"]
    names = ["logistic", "forest", "boosting", "nearest", "tree"]
    expected = pm.certify([25, 23, 21, 35, 50], 549, 0.01, names=names).as_dict()
    assert pacb(counts(FIVE), "--json", "--delta", 0.01).json == expected


def test_risks_that_are_counts_priors_and_plain_numbers(counts, pacb):
    risks = "risk,prior\n" + "".join(f"{k / 549!r},{p}\n" for k, p in ((25, 0.5), (21, 0.5)))
    assert pacb(counts(risks), "--json").json["bound"] == pm.certify([25, 21], 549, prior=[0.5, 0.5]).bound
    assert pacb(counts("25\n21\n"), "--json").json["errors"] == [25, 21]


def test_a_risk_that_is_a_count_of_many_examples_is_one(counts, pacb, refused):
    for count in (127592112, 999999999, 1, 123456789):
        assert pacb(counts(f"risk\n{count / 10**9!r}\n", 10**9), "--json").json["errors"] == [count]
    refused("a rounded risk is no count", counts("risk\n0.1275921125\n", 10**9))


def test_losses(counts, pacb):
    out = pacb(counts("losses\n20.5\n30\n"), "--losses").out
    assert "has an expected loss of at most" in out and out.split("\n\n")[1].split()[1] == "losses"


def test_names_of_any_kind_stay_in_their_line(counts, pacb):
    out = pacb(counts('name,errors\n"two\nlines\x1b[2J",3\nb,1234567\n', 2_000_000)).out
    assert "  two\\nlines\\x1b[2J errs with" in out
    table = out.split("\n\n")[1].splitlines()
    assert len(table) == 3 and len({len(line) for line in table}) == 1
    assert table[2].split()[1] == "1234567"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("risk\n0.046\n", (), "line 2: risk is 0.046, which is 25.254 of 549 examples; a rounded risk is no count."),
        ("errors\n3\n2.5\n", (), "line 3: errors is 2.5; a number of errors is a whole number"),
        ("errors,risk\n3,0\n", (), "has columns 'errors' and 'risk'; there must be one of them"),
        ("errors\n", (), "has a header but no errors below it"),
        ("", (), "holds no errors; it must have one number per line or a CSV column 'errors' or 'risk'"),
        ("errors\n600\n", (), "errors[0] is 600.0; a number of errors lies between 0 and m"),
        ("errors\nnan\n", (), "line 2: errors is nan"),
        ("errors\n3\n", ("--delta", "0"), "delta is 0.0"),
        ("errors\n3\n", ("--top", "-1"), "--top is -1"),
        ("name,errors\na,3\na,4\n", (), "names has 'a' more than once"),
        ("errors\n3\n", ("--losses",), "line 1: losses is 'errors'; it must be a number"),
        ("losses\n3\n", ("--losses", "--spread", "1"), "losses is given together with errors or spread"),
    ],
)
def test_bad_input_is_exit_two_and_one_line(text, options, words, counts, refused):
    refused(words, counts(text), *options)


def test_plot(tmp_path, counts, pacb, refused):
    picture = tmp_path / "certificate.svg"
    assert "boosting errs" in pacb(counts(FIVE), "--plot", picture).out and picture.read_bytes().startswith(b"<?xml")
    # Refused before the counts are read.
    refused("must end in .svg", counts("no counts"), "--plot", "certificate.docx")


# --- predictions larger than memory -----------------------------------------------------------------------------------


def predictions(rows, seed=0):
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, rows)
    columns = {name: np.where(random.random(rows) < rate, (truth + 1) % 3, truth) for name, rate in RATES.items()}
    return {"label": truth, **columns}


RATES = {"a": 0.05, "b": 0.2, "c": 0.01}


def test_predictions_of_many_files_are_counted_as_one(tmp_path, pacb):
    counts = ErrorCounts(list(RATES))
    (tmp_path / "parts").mkdir()
    for part in range(3):
        columns = predictions(1000 + 100 * part, part)
        table = pa.table(columns)
        if part == 2:
            csv.write_csv(table, tmp_path / "parts" / "last.csv")
        else:
            pq.write_table(table, tmp_path / "parts" / f"{part}.parquet", row_group_size=300)
        counts.update(columns["label"], columns)
    assert pacb(f"certify --predictions {tmp_path}/parts --target label --json").json == counts.certify().as_dict()
    assert counts.m == 3300 and counts.errors.sum() > 0


def test_one_of_many_is_chosen_on_a_part_of_the_files(tmp_path, pacb, refused):
    parts = [pd.DataFrame(predictions(1000 + 100 * part, part)) for part in range(3)]
    parts[0].to_parquet(tmp_path / "0.parquet", row_group_size=300)
    parts[1].to_csv(tmp_path / "1.csv", index=False)
    parts[2].to_csv(tmp_path / "2.csv.gz", index=False)
    whole = pd.concat(parts, ignore_index=True)
    expected = pm.certify_predictions(whole["label"], whole[list(RATES)], choose=0.2, random_state=7, vote=False)
    command = ["certify", "--predictions", str(tmp_path), "--target", "label", "--choose", "0.2", "--seed", "7"]
    assert pacb(*command, "--json").json == expected.as_dict()
    assert (
        pacb(*command, "--plot", tmp_path / "choice.svg").out.strip() == str(expected)
        and (tmp_path / "choice.svg").exists()
    )
    for more, words in (
        (["--choose", "2"], "choose is 2.0"),
        (["--seed", "-1"], "--seed is -1"),
        (["--spread", "1"], "--choose cannot be used with --spread or --m"),
    ):
        refused(words, *command, *more)
    refused("--seed needs --choose", *command[:5], "--seed", "7")
    (tmp_path / "counts.csv").write_text(FIVE)
    for option in ("--choose", "--seed"):
        refused(f"{option} needs --predictions", f"certify {tmp_path}/counts.csv --m 549 {option} 1")
    refused("to train on a table: pacb fit TABLE.csv --target COLUMN", f"certify {tmp_path}/counts.csv --target label")


def test_a_folder_is_counted_as_a_whole_or_not_at_all(tmp_path, pacb, refused):
    folder, elsewhere = tmp_path / "parts", tmp_path / "elsewhere"
    for place in (folder, elsewhere):
        place.mkdir()
        (place / "p.csv").write_text("label,a\n1,1\n0,1\n")
    (folder / "README.md").write_text("notes are no predictions")
    command = ["certify", "--predictions", str(folder), "--target", "label", "--json"]
    assert pacb(*command).json["m"] == 2
    odd = folder / "more"
    for make, words in (
        (lambda: odd.symlink_to(elsewhere), "is a link to a folder; name that folder itself"),
        (lambda: odd.with_suffix(".csv").symlink_to(tmp_path / "nowhere.csv"), "is not a file that can be read"),
        (lambda: odd.with_name("more.csv.zst").write_text(""), "does not end in .csv, .csv.gz or .parquet"),
        (lambda: odd.with_name("more.tsv").write_text(""), "does not end in .csv, .csv.gz or .parquet"),
        (lambda: odd.with_name("more.PARQUET.gz").write_text(""), "does not end in .csv, .csv.gz or .parquet"),
    ):
        make()
        refused(words, *command)
        for path in folder.glob("more*"):
            path.unlink()
    pacb(*command)


def test_a_folder_that_cannot_be_read_is_refused():
    with tempfile.TemporaryDirectory() as place:
        parts = Path(place) / "parts"
        (parts / "closed").mkdir(parents=True)
        (parts / "p.csv").write_text("label,a\n1,1\n")
        Path(place).chmod(0o755)
        (parts / "closed").chmod(0)
        # Root may read everything, so somebody else looks.
        root = os.geteuid() == 0
        try:
            if root:
                os.seteuid(65534)
            with pytest.raises(InputError, match=r"cannot read the folder .*closed"):
                count_errors([parts], "label")
        finally:
            if root:
                os.seteuid(0)
            (parts / "closed").chmod(0o755)


def test_labels_above_two_to_the_63_are_not_compared_as_floats(tmp_path, pacb, refused):
    text = tmp_path / "p.csv"
    text.write_text("label,a\n9223372036854775808,9223372036854775809\n")
    refused(
        "row 1: a is a floating-point number that stands for several whole numbers",
        f"certify --predictions {text} --target label",
    )
    exact = tmp_path / "p.parquet"
    labels = {"label": pa.array([2**63, 2**63], pa.uint64()), "a": pa.array([2**63, 2**63 + 1], pa.uint64())}
    pq.write_table(pa.table(labels), exact)
    assert pacb(f"certify --predictions {exact} --target label --json").json["errors"] == [1]
    pq.write_table(pa.table(dict.fromkeys(("label", "a"), np.float32([2**24 - 1, 2**24]))), exact)
    refused("row 2: a is a floating-point number that stands", f"certify --predictions {exact} --target label")


MEASURED = """
import resource, sys
from pacb_models.certificates.prediction_files import _opened, count_errors
from pathlib import Path
_opened([sys.argv[1]], "label", ())
import pyarrow.parquet, pyarrow.compute
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(count_errors([sys.argv[1]], "label").m)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.outside
@pytest.mark.parametrize(("columns", "rows"), [(300, 200_000), (2, 12_000_000)])
def test_memory_for_wide_files_and_large_row_groups(tmp_path, columns, rows):
    """One row group each: 480 MB of numbers side by side, or 290 MB below each other."""
    truth = np.arange(rows) % 2
    pq.write_table(
        pa.table({"label": truth} | {f"c{k}": truth for k in range(columns)}),
        tmp_path / "p.parquet",
        row_group_size=rows,
    )
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path / "p.parquet")], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    counted, megabytes = map(int, done.stdout.split())
    assert counted == rows and megabytes < 200


def test_counts_merge_like_a_map_and_reduce():
    columns = predictions(5000)
    whole = ErrorCounts(list(RATES))
    whole.update(columns["label"], columns)
    parts = []
    for piece in np.array_split(np.arange(5000), 7):
        part = ErrorCounts(list(RATES))
        part.update(columns["label"][piece], {name: columns[name][piece] for name in RATES})
        parts.append(part)
    merged = sum(parts)
    assert merged.m == whole.m and merged.errors.tolist() == whole.errors.tolist()
    assert merged.errors.tolist() == [int((columns[name] != columns["label"]).sum()) for name in RATES]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("label,a\n1,1\n0,\n", "row 2: a is missing"),
        ("label,a\n1,x\n0,y\n", "a is of type string, but label of type int64; labels must be of one type"),
        ("label,a,a\n1,1,1\n", "multiple columns named a"),
        ("truth,a\n1,1\n", "--target is 'label'; the columns of"),
        ("label\n1\n", "has no column of predictions beside 'label'"),
        ("label,a\n", "has a header but no rows below it"),
        # Equal, but no labels.
        ("label,a\nx,x\n,\n", "row 2: a is missing"),
        ("label,a\nx,x\nNA,NA\n", "row 2: a is missing"),
        ("label,a\n0.5,0.5\nnan,nan\n", "row 2: a is missing"),
        # Files of another kind.
        ("label,\xe9\n1,1\n".encode("latin-1"), "cannot read '{}/p.csv'"),
        (gzip.compress(b"label,a\n1,1\n", mtime=0), "cannot read '{}/p.csv'"),
        (gzip.compress(bytes(range(256)) * 9, mtime=0), "cannot read '{}/p.csv'"),
        ("label,a\n1,1\n", "cannot read '{}/p.csv.gz'"),
        ("label,a\n1,1\n", "cannot read '{}/p.parquet'"),
    ],
)
def test_bad_prediction_files_are_one_line(content, words, tmp_path, pacb):
    path = tmp_path / (words.split("/")[1].rstrip("'") if words.startswith("cannot read") else "p.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    error = pacb(f"certify --predictions {path} --target label", code=2).err
    assert words.format(tmp_path) in error and error.count("\n") == 1


def test_missing_labels_of_a_parquet_file_are_missing(tmp_path, refused):
    """NaN is no null."""
    path = tmp_path / "p.parquet"
    command = ["certify", "--predictions", str(path), "--target", "label"]
    words = pa.array(["x", None]).dictionary_encode()
    for truth, column in (([0.0, 1.0], [0.0, float("nan")]), ([0, 1], [0, None]), (words, words)):
        pq.write_table(pa.table({"label": truth, "a": column}), path)
        refused("row 2: a is missing", *command)


def test_categories_are_compared_by_their_values(tmp_path, pacb, refused):
    """As pandas writes them, each column with an order of its own."""
    texts = pd.DataFrame({"label": ["x", "y", "z", "x"], "a": ["x", "z", "z", "y"], "id": [1, 2, 3, 4]})
    orders = {"label": ["x", "y", "z"], "a": ["z", "y", "x"]}
    texts.astype({name: pd.CategoricalDtype(order) for name, order in orders.items()}).to_parquet(
        tmp_path / "p.parquet"
    )
    command = ["certify", "--predictions", str(tmp_path / "p.parquet"), "--target", "label", "--json"]
    assert pacb(*command, "--ignore", "id").json["errors"] == [2]
    refused("--ignore is 'ids'; the columns of", *command, "--ignore", "ids")


def test_no_example_is_counted_twice(tmp_path, pacb, refused):
    """A file that is named twice, by another name, or beside its folder would halve the bound."""
    folder = tmp_path / "parts"
    (folder / ".ipynb_checkpoints").mkdir(parents=True)
    path = folder / "p.csv"
    for place in (path, folder / ".ipynb_checkpoints" / "p-checkpoint.csv", folder / "_old.csv"):
        place.write_text("label,a\n" + "1,1\n" * 20)
    (tmp_path / "link.csv").symlink_to(path)
    for files in ([path, path], [folder, path], [path, tmp_path / "link.csv"]):
        refused("every example must be counted once", "certify --predictions", *files, "--target", "label")
    assert pacb(f"certify --predictions {folder} --target label --json").json["m"] == 20


def test_bad_counts_and_pieces_are_refused():
    for errors, m, words in (
        ([1.9], 10, r"errors\[0\] is 1.9"),
        ([-1], 10, r"errors\[0\] is -1"),
        ([11], 10, r"errors\[0\] is 11"),
        (3, 10, "errors has the shape"),
        ([1, 2], 10, "errors has the shape"),
        ([1], 10.5, "m is 10.5"),
    ):
        with pytest.raises(InputError, match=words):
            ErrorCounts(["a"], errors, m)
    counts = ErrorCounts(["a"])
    for y, columns, words in (
        ([0, 1], {"b": [0, 1]}, "no column 'a'"),
        ([0, 1], {"a": [0]}, "has shape"),
        ([0, 1], {"a": ["0", "1"]}, "is of type"),
        ([0.0, 1.0], {"a": [0.0, float("nan")]}, r"predictions\['a'\]\[1\] is missing"),
        (["x", "y"], {"a": np.array(["x", None], dtype=object)}, r"predictions\['a'\]\[1\] is missing"),
        ([0, 1], {"a": np.ma.array([0, 1], mask=[False, True])}, r"predictions\['a'\]\[1\] is missing"),
        (pd.array([0, None], dtype="Int64"), {"a": pd.array([0, 1], dtype="Int64")}, r"y\[1\] is missing"),
    ):
        with pytest.raises(InputError, match=words):
            counts.update(y, columns)
    assert counts.m == 0
    with pytest.raises(InputError, match="more than once"):
        ErrorCounts(["a", "a"])


def test_an_example_that_is_there_twice_is_named(tmp_path, pacb, refused):
    for number, rows in enumerate(("1,0,0\n2,1,1\n", "3,0,1\n2,1,1\n")):
        (tmp_path / f"{number}.csv").write_text("patient,label,a\n" + rows)
    command = ["certify", "--target", "label", "--predictions"]
    refused("patient is '2' in 2 rows; every example must be counted once", *command, tmp_path, "--id", "patient")
    pacb(*command, tmp_path, "--id", "patient", "--choose", "0.5", code=2)
    assert pacb(*command, tmp_path / "0.csv", "--id", "patient", "--json").json["names"] == ["a"]
    (tmp_path / "counts.csv").write_text(FIVE)
    refused("--id needs --predictions", f"certify {tmp_path}/counts.csv --m 549 --id patient")


def test_a_missing_column_among_many_is_answered_briefly(tmp_path, pacb, refused):
    path, other = tmp_path / "wide.csv", tmp_path / "other.csv"
    names = ["label", *(f"c{number}" for number in range(5000))]
    path.write_text(f"{','.join(names)}\n{','.join('0' for _ in names)}\n")
    other.write_text(path.read_text().replace("c4999", "d"))
    error = pacb(f"certify --predictions {path} --target lable", code=2).err
    assert len(error) < 300 and "label, ... (5001 in all)" in error
    refused("are label, c0, c1, c2, c3, ... (5001 in all)", f"certify --predictions {path} --target", "nothing like it")
    error = pacb(f"certify --predictions {path} {other} --target label", code=2).err
    assert len(error) < 300 and "has the classifier d, but" in error and "has c4999 in its place" in error
