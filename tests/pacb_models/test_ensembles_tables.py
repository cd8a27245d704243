import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pacb_models.errors import InputError
from pacb_models.estimators.tables import load_table, reading_notes

TABLE = "size,colour,old,class\n1.5,red,True,yes\n2,blue,False,no\n3,red,True,no\n-1,green,False,yes\n"


@pytest.fixture
def table(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def check_features(dataset):
    assert dataset.feature_names == ("size", "colour=blue", "colour=green", "colour=red", "old")
    assert dataset.X.tolist() == [[1.5, 0, 0, 1, 1], [2, 1, 0, 0, 0], [3, 0, 0, 1, 1], [-1, 0, 1, 0, 0]]
    assert dataset.class_names == ("no", "yes") and dataset.y.tolist() == [1, 0, 0, 1]


def test_numeric_categorical_and_boolean_columns(table):
    dataset = load_table(table(TABLE), "class")
    check_features(dataset)
    assert dataset.name == "table" and dataset.class_counts == (2, 2)


def test_parquet(table, tmp_path):
    frame = pd.read_csv(table(TABLE))
    frame["colour"] = frame["colour"].astype("category")
    frame.to_parquet(tmp_path / "table.parquet")
    check_features(load_table(tmp_path / "table.parquet", "class"))


def test_ignored_columns(table):
    dataset = load_table(table(TABLE), "class", ignore=["colour", "old"])
    assert dataset.feature_names == ("size",)


def test_missing_values_are_counted_or_dropped(table):
    path = table("a,b,class\n1,x,0\n,y,1\n?,x,1\n3,,0\n4,y,1\n5,x,\n2,x,1\n7,y,0\n")
    with pytest.raises(
        InputError, match=r"missing values in 4 of 8 rows \(by column: a 2, b 1, class 1\); missing='drop'"
    ):
        load_table(path, "class")
    dataset = load_table(path, "class", missing="drop")
    assert dataset.X[:, 0].tolist() == [1, 4, 2, 7] and dataset.y.tolist() == [0, 1, 1, 0]


def test_a_wdbc_of_ones_own_gives_the_same_features(data_dir, tmp_path):
    from pacb_models.benchmarks.experiments.datasets import load_dataset

    columns = ["id", "diagnosis"] + [f"x{i}" for i in range(30)]
    (tmp_path / "own.csv").write_text(",".join(columns) + "\n" + (data_dir / "wdbc.csv").read_text())
    own, ours = load_table(tmp_path / "own.csv", "diagnosis", ignore=["id"]), load_dataset("wdbc", data_dir)
    assert np.array_equal(own.X, ours.X) and np.array_equal(own.y, ours.y)


MANY = "".join(f"{i}.5,w{i},{i % 2}\n" for i in range(300))

BAD = [
    ("a,class\n1,0\n2,1\n", "label", "target is 'label'; the columns of .* are a, class"),
    ("a,class\n1,0\n2,0\n", "class", "has the one value 0; there must be two classes"),
    ("a,b,class\n" + MANY, "a", "has 300 different values in 300 rows; it must hold classes"),
    ("a,b,class\n" + MANY, "class", "column 'b' of .* has 300 different values .* ignore="),
    ("a,class\n1,0\ninf,1\n3,0\n4,1\n", "class", "column 'a' of .* holds inf in row 2"),
    ("class\n1\n0\n1\n0\n", "class", "no column besides the target"),
    ("", "class", "cannot read .*: No columns to parse"),
    ("a,class\n1,0\n2,1,7,9\n", "class", "cannot read .*: Error tokenizing"),
    ("a,class\n,0\n2,\n", "class", "missing values in 2 of 2 rows"),
]


@pytest.mark.parametrize(("text", "target", "sentence"), BAD)
def test_bad_tables_get_a_sentence(table, text, target, sentence):
    with pytest.raises(InputError, match=sentence):
        load_table(table(text), target)


def test_nothing_left_after_dropping(table):
    with pytest.raises(InputError, match="no row without missing values"):
        load_table(table("a,class\n,0\n2,\n"), "class", missing="drop")


def test_bad_files_get_a_sentence(table, tmp_path):
    with pytest.raises(InputError, match=r"cannot read the table .*none.csv': No such file"):
        load_table(tmp_path / "none.csv", "class")
    with pytest.raises(InputError, match=r"suffix of the table is '.txt'; it must be one of '.csv', '.parquet'"):
        load_table(table(TABLE, "table.txt"), "class")
    with pytest.raises(InputError, match="cannot read"):
        load_table(table("no parquet", "table.parquet"), "class")
    with pytest.raises(InputError, match="ignore is 'id'"):
        load_table(table(TABLE), "class", ignore=["id"])
    with pytest.raises(InputError, match="missing is 'impute'"):
        load_table(table(TABLE), "class", missing="impute")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_one_name_are_refused(tmp_path, suffix):
    """pandas renames the second one in a CSV, and the target would be among the features."""
    path = tmp_path / f"twins{suffix}"
    if suffix == ".csv":
        path.write_text("x,class,class\n1,a,a\n2,b,b\n")
    else:
        import pyarrow.parquet

        columns = [pa.array([1, 2]), pa.array(["a", "b"]), pa.array(["a", "b"])]
        pyarrow.parquet.write_table(pa.Table.from_arrays(columns, names=["x", "class", "class"]), path)
    with pytest.raises(InputError, match="class"):
        load_table(path, "class")


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}])
def test_cells_that_hold_several_values_are_refused(tmp_path, cell):
    path = tmp_path / "nested.parquet"
    pd.DataFrame({"x": [cell, cell] * 4, "y": [0.5, 1.5] * 4, "class": ["a", "b"] * 4}).to_parquet(path)
    for target in ("class", "x"):
        with pytest.raises(InputError, match=r"column 'x' of .* in row 1; a cell must hold one value"):
            load_table(path, target)
    assert load_table(path, "class", ignore=["x"]).feature_names == ("y",)


def test_rows_are_numbered_whatever_the_index(tmp_path):
    path = tmp_path / "index.parquet"
    frame = pd.DataFrame({"x": [0.5, np.inf] * 4, "class": ["a", "b"] * 4}, index=list("stuvwxyz"))
    frame.to_parquet(path)
    with pytest.raises(InputError, match=r"column 'x' of .* holds inf in row 2"):
        load_table(path, "class")


def test_what_was_left_out_is_known(table):
    rows = "".join(f"{k + 100},{k % 7},{'' if k < 3 else k % 2},{k % 2}\n" for k in range(60))
    dataset = load_table(table("id,x,y,class\n" + rows), "class", missing="drop", ignore=["x"])
    assert (dataset.reading.rows, dataset.reading.dropped, dataset.reading.missing) == (60, 3, {"y": 3})
    assert dataset.reading.ignored == ("x",) and dataset.reading.identifiers == ("id",)
    notes = " ".join(reading_notes(dataset.reading))
    assert "3 of 60 rows were dropped" in notes and "ignored: x" in notes and "Column 'id'" in notes


def test_a_header_that_is_one_name_short_is_refused(table):
    """pandas would take the first column for names of rows and leave it out."""
    with pytest.raises(InputError, match=r"more cells than its header has names \(2\)"):
        load_table(table("a,class\n1,2,0\n3,4,1\n"), "class")
