"""``pacb certify``: the printed numbers, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import pacb_models as pm
from pacb_models import InputError
from pacb_models.certificates import ErrorCounts
from pacb_models.certificates.prediction_files import count_errors
from pacb_models.commands.program import main

FIVE = "name,errors\nlogistic,25\nforest,23\nboosting,21\nnearest,35\ntree,50\n"


def run(capsys, tmp_path, text, *options):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    status = main(["certify", str(path), *options])
    return status, capsys.readouterr()


def test_five_classifiers(tmp_path, capsys):
    status, printed = run(capsys, tmp_path, FIVE, "--m", "549")
    assert status == 0
    assert "boosting errs with probability at most 0.06182 (observed: 0.0383)" in printed.out
    table = printed.out.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table] == ["name", "boosting", "forest", "logistic", "nearest", "tree"]


def test_json_has_the_fields_of_the_certificate(tmp_path, capsys):
    status, printed = run(capsys, tmp_path, FIVE, "--m", "549", "--json", "--delta", "0.01")
    expected = pm.certify(
        [25, 23, 21, 35, 50], 549, 0.01, names=["logistic", "forest", "boosting", "nearest", "tree"]
    ).as_dict()
    assert status == 0 and json.loads(printed.out) == expected


def test_risks_that_are_counts_priors_and_plain_numbers(tmp_path, capsys):
    risks = "risk,prior\n" + "".join(f"{k / 549!r},{p}\n" for k, p in ((25, 0.5), (21, 0.5)))
    _, printed = run(capsys, tmp_path, risks, "--m", "549", "--json")
    assert json.loads(printed.out)["bound"] == pm.certify([25, 21], 549, prior=[0.5, 0.5]).bound
    _, printed = run(capsys, tmp_path, "25\n21\n", "--m", "549", "--json")
    assert json.loads(printed.out)["errors"] == [25, 21]


def test_a_risk_that_is_a_count_of_many_examples_is_one(tmp_path, capsys):
    for count in (127592112, 999999999, 1, 123456789):
        _, printed = run(capsys, tmp_path, f"risk\n{count / 10**9!r}\n", "--m", str(10**9), "--json")
        assert json.loads(printed.out)["errors"] == [count]
    status, printed = run(capsys, tmp_path, "risk\n0.1275921125\n", "--m", str(10**9))
    assert status == 2 and "a rounded risk is no count" in printed.err


def test_losses(tmp_path, capsys):
    _, printed = run(capsys, tmp_path, "losses\n20.5\n30\n", "--m", "549", "--losses")
    assert "has an expected loss of at most" in printed.out


def test_names_of_any_kind_stay_in_their_line(tmp_path, capsys):
    status, printed = run(capsys, tmp_path, 'name,errors\n"two\nlines\x1b[2J",3\nb,1234567\n', "--m", "2000000")
    assert status == 0 and "  two\\nlines\\x1b[2J errs with" in printed.out
    table = printed.out.split("\n\n")[1].splitlines()
    assert len(table) == 3 and len({len(line) for line in table}) == 1
    assert table[2].split()[1] == "1234567"


def test_the_column_of_losses_is_called_so(tmp_path, capsys):
    _, printed = run(capsys, tmp_path, "losses\n20.5\n", "--m", "549", "--losses")
    assert printed.out.split("\n\n")[1].split()[1] == "losses"


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
def test_bad_input_is_exit_two_and_one_line(text, options, words, tmp_path, capsys):
    status, printed = run(capsys, tmp_path, text, "--m", "549", *options)
    assert status == 2 and words in printed.err and printed.err.count("\n") == 1 and printed.out == ""


def test_plot(tmp_path, capsys):
    picture = tmp_path / "certificate.svg"
    status, printed = run(capsys, tmp_path, FIVE, "--m", "549", "--plot", str(picture))
    assert status == 0 and "boosting errs" in printed.out and picture.read_bytes().startswith(b"<?xml")
    # Refused before the counts are read.
    status, printed = run(capsys, tmp_path, "no counts", "--m", "549", "--plot", "certificate.docx")
    assert status == 2 and "must end in .svg" in printed.err


# --- predictions larger than memory -----------------------------------------------------------------------------------


def predictions(rows, seed=0):
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, rows)
    columns = {name: np.where(random.random(rows) < rate, (truth + 1) % 3, truth) for name, rate in RATES.items()}
    return {"label": truth, **columns}


RATES = {"a": 0.05, "b": 0.2, "c": 0.01}


def test_predictions_of_many_files_are_counted_as_one(tmp_path, capsys):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    csv = pytest.importorskip("pyarrow.csv")
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
    assert main(["certify", "--predictions", str(tmp_path / "parts"), "--target", "label", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == counts.certify().as_dict()
    assert counts.m == 3300 and counts.errors.sum() > 0


def test_one_of_many_is_chosen_on_a_part_of_the_files(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    parts = [pd.DataFrame(predictions(1000 + 100 * part, part)) for part in range(3)]
    parts[0].to_parquet(tmp_path / "0.parquet", row_group_size=300)
    parts[1].to_csv(tmp_path / "1.csv", index=False)
    parts[2].to_csv(tmp_path / "2.csv.gz", index=False)
    whole = pd.concat(parts, ignore_index=True)
    expected = pm.certify_predictions(whole["label"], whole[list(RATES)], choose=0.2, random_state=7, vote=False)
    command = ["certify", "--predictions", str(tmp_path), "--target", "label", "--choose", "0.2", "--seed", "7"]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected.as_dict()
    assert main([*command, "--plot", str(tmp_path / "choice.svg")]) == 0
    assert capsys.readouterr().out.strip() == str(expected) and (tmp_path / "choice.svg").exists()
    for more, words in (
        (["--choose", "2"], "choose is 2.0"),
        (["--seed", "-1"], "--seed is -1"),
        (["--spread", "1"], "--choose cannot be used with --spread or --m"),
    ):
        assert main([*command, *more]) == 2
        assert words in capsys.readouterr().err
    assert main([*command[:5], "--seed", "7"]) == 2
    assert "--seed needs --choose" in capsys.readouterr().err
    (tmp_path / "counts.csv").write_text(FIVE)
    for option in ("--choose", "--seed"):
        assert main(["certify", str(tmp_path / "counts.csv"), "--m", "549", option, "1"]) == 2
        assert f"{option} needs --predictions" in capsys.readouterr().err
    assert main(["certify", str(tmp_path / "counts.csv"), "--target", "label"]) == 2
    assert "to train on a table: pacb fit TABLE.csv --target COLUMN" in capsys.readouterr().err


def test_a_folder_is_counted_as_a_whole_or_not_at_all(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    folder, elsewhere = tmp_path / "parts", tmp_path / "elsewhere"
    for place in (folder, elsewhere):
        place.mkdir()
        (place / "p.csv").write_text("label,a\n1,1\n0,1\n")
    (folder / "README.md").write_text("notes are no predictions")
    command = ["certify", "--predictions", str(folder), "--target", "label", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["m"] == 2
    odd = folder / "more"
    for make, words in (
        (lambda: odd.symlink_to(elsewhere), "is a link to a folder; name that folder itself"),
        (lambda: odd.with_suffix(".csv").symlink_to(tmp_path / "nowhere.csv"), "is not a file that can be read"),
        (lambda: odd.with_name("more.csv.zst").write_text(""), "does not end in .csv, .csv.gz or .parquet"),
        (lambda: odd.with_name("more.tsv").write_text(""), "does not end in .csv, .csv.gz or .parquet"),
        (lambda: odd.with_name("more.PARQUET.gz").write_text(""), "does not end in .csv, .csv.gz or .parquet"),
    ):
        make()
        assert main(command) == 2
        assert words in capsys.readouterr().err
        for path in folder.glob("more*"):
            path.unlink()
    assert main(command) == 0


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


def test_labels_above_two_to_the_63_are_not_compared_as_floats(tmp_path, capsys):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    text = tmp_path / "p.csv"
    text.write_text("label,a\n9223372036854775808,9223372036854775809\n")
    assert main(["certify", "--predictions", str(text), "--target", "label"]) == 2
    assert "row 1: a is a floating-point number that stands for several whole numbers" in capsys.readouterr().err
    exact = tmp_path / "p.parquet"
    labels = {"label": pa.array([2**63, 2**63], pa.uint64()), "a": pa.array([2**63, 2**63 + 1], pa.uint64())}
    pq.write_table(pa.table(labels), exact)
    assert main(["certify", "--predictions", str(exact), "--target", "label", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["errors"] == [1]


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
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
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


def test_a_dask_data_frame_is_counted_partition_by_partition():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    dask = pytest.importorskip("dask")
    columns = predictions(2000)
    frame = dd.from_pandas(pd.DataFrame(columns), npartitions=4)

    @dask.delayed
    def count(part):
        counts = ErrorCounts(list(RATES))
        counts.update(part["label"], part)
        return counts

    merged = sum(dask.compute(*map(count, frame.to_delayed()), scheduler="synchronous"))
    assert merged.m == 2000
    assert merged.errors.tolist() == [int((columns[name] != columns["label"]).sum()) for name in RATES]


@pytest.mark.parametrize(
    ("text", "words"),
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
    ],
)
def test_bad_prediction_files_are_one_line(text, words, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "predictions.csv"
    path.write_text(text)
    assert main(["certify", "--predictions", str(path), "--target", "label"]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_missing_labels_of_a_parquet_file_are_missing(tmp_path, capsys):
    """NaN is no null."""
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    path = tmp_path / "p.parquet"
    command = ["certify", "--predictions", str(path), "--target", "label"]
    words = pa.array(["x", None]).dictionary_encode()
    for truth, column in (([0.0, 1.0], [0.0, float("nan")]), ([0, 1], [0, None]), (words, words)):
        pq.write_table(pa.table({"label": truth, "a": column}), path)
        assert main(command) == 2
        assert "row 2: a is missing" in capsys.readouterr().err


def test_categories_are_compared_by_their_values(tmp_path, capsys):
    """As pandas writes them, each column with an order of its own."""
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    texts = pd.DataFrame({"label": ["x", "y", "z", "x"], "a": ["x", "z", "z", "y"], "id": [1, 2, 3, 4]})
    orders = {"label": ["x", "y", "z"], "a": ["z", "y", "x"]}
    texts.astype({name: pd.CategoricalDtype(order) for name, order in orders.items()}).to_parquet(
        tmp_path / "p.parquet"
    )
    command = ["certify", "--predictions", str(tmp_path / "p.parquet"), "--target", "label", "--json"]
    assert main([*command, "--ignore", "id"]) == 0
    assert json.loads(capsys.readouterr().out)["errors"] == [2]
    assert main([*command, "--ignore", "ids"]) == 2
    assert "--ignore is 'ids'; the columns of" in capsys.readouterr().err


def test_no_example_is_counted_twice(tmp_path, capsys):
    """A file that is named twice, by another name, or beside its folder would halve the bound."""
    pytest.importorskip("pyarrow")
    folder = tmp_path / "parts"
    (folder / ".ipynb_checkpoints").mkdir(parents=True)
    path = folder / "p.csv"
    for place in (path, folder / ".ipynb_checkpoints" / "p-checkpoint.csv", folder / "_old.csv"):
        place.write_text("label,a\n" + "1,1\n" * 20)
    (tmp_path / "link.csv").symlink_to(path)
    for files in ([path, path], [folder, path], [path, tmp_path / "link.csv"]):
        assert main(["certify", "--predictions", *map(str, files), "--target", "label"]) == 2
        assert "every example must be counted once" in capsys.readouterr().err
    assert main(["certify", "--predictions", str(folder), "--target", "label", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["m"] == 20


@pytest.mark.parametrize(
    ("errors", "m", "words"),
    [
        ([1.9], 10, r"errors\[0\] is 1.9"),
        ([-1], 10, r"errors\[0\] is -1"),
        ([11], 10, r"errors\[0\] is 11"),
        (3, 10, "errors has the shape"),
        ([1, 2], 10, "errors has the shape"),
        ([1], 10.5, "m is 10.5"),
    ],
)
def test_counts_that_are_none_are_refused(errors, m, words):
    with pytest.raises(InputError, match=words):
        ErrorCounts(["a"], errors, m)


def test_bad_pieces_are_refused():
    pd = pytest.importorskip("pandas")
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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("latin.csv", "label,\xe9\n1,1\n".encode("latin-1")),
        ("zipped.csv", gzip.compress(b"label,a\n1,1\n", mtime=0)),
        ("zipped.csv", gzip.compress(bytes(range(256)) * 9, mtime=0)),
        ("plain.csv.gz", b"label,a\n1,1\n"),
        ("text.parquet", b"label,a\n1,1\n"),
    ],
)
def test_files_of_another_kind_are_one_line(name, content, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content)
    assert main(["certify", "--predictions", str(path), "--target", "label"]) == 2
    error = capsys.readouterr().err
    assert f"cannot read '{path}'" in error and error.count("\n") == 1


def test_an_example_that_is_there_twice_is_named(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    for number, rows in enumerate(("1,0,0\n2,1,1\n", "3,0,1\n2,1,1\n")):
        (tmp_path / f"{number}.csv").write_text("patient,label,a\n" + rows)
    command = ["certify", "--target", "label", "--predictions"]
    assert main([*command, str(tmp_path), "--id", "patient"]) == 2
    assert "patient is '2' in 2 rows; every example must be counted once" in capsys.readouterr().err
    assert main([*command, str(tmp_path), "--id", "patient", "--choose", "0.5"]) == 2
    assert main([*command, str(tmp_path / "0.csv"), "--id", "patient", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["names"] == ["a"]
    (tmp_path / "counts.csv").write_text(FIVE)
    assert main(["certify", str(tmp_path / "counts.csv"), "--m", "549", "--id", "patient"]) == 2
    assert "--id needs --predictions" in capsys.readouterr().err


def test_a_missing_column_among_many_is_answered_briefly(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path, other = tmp_path / "wide.csv", tmp_path / "other.csv"
    names = ["label", *(f"c{number}" for number in range(5000))]
    path.write_text(f"{','.join(names)}\n{','.join('0' for _ in names)}\n")
    other.write_text(path.read_text().replace("c4999", "d"))
    assert main(["certify", "--predictions", str(path), "--target", "lable"]) == 2
    error = capsys.readouterr().err
    assert len(error) < 300 and "label, ... (5001 in all)" in error
    assert main(["certify", "--predictions", str(path), "--target", "nothing like it"]) == 2
    assert "are label, c0, c1, c2, c3, ... (5001 in all)" in capsys.readouterr().err
    assert main(["certify", "--predictions", str(path), str(other), "--target", "label"]) == 2
    error = capsys.readouterr().err
    assert len(error) < 300 and "has the classifier d, but" in error and "has c4999 in its place" in error
