"""The paper's data sets, and tables of one's own."""

import functools
import http.server
import shutil
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from pacb_models.benchmarks.experiments import datasets
from pacb_models.benchmarks.experiments.datasets import (
    LOADERS,
    Dataset,
    available_datasets,
    generate_waveform,
    load_dataset,
)
from pacb_models.benchmarks.experiments.protocols import paper_sizes
from pacb_models.errors import InputError
from pacb_models.estimators.tables import load_table, read_table

from ..installed import install

#: Rows, features and class counts as the paper and the README of the data give them.
EXPECTED = {
    "spambase": (4601, 57, {2788, 1813}),
    "bupa": (345, 6, {176, 169}),
    "bupa-no-leak": (345, 5, {176, 169}),
    "mammographic": (830, 5, {427, 403}),
    "wdbc": (569, 30, {357, 212}),
    "banknote": (1372, 4, {762, 610}),
    "mushroom": (5644, 116, {3488, 2156}),
    "ionosphere": (351, 34, {225, 126}),
    "waveform": (3308, 40, {1653, 1655}),
    "haberman": (306, 3, {225, 81}),
}


@pytest.fixture
def no_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("PACB_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", EXPECTED)
def test_counts(name, data_dir):
    rows, features, classes = EXPECTED[name]
    dataset = load_dataset(name, data_dir)
    assert dataset.X.shape == (rows, features)
    assert set(dataset.class_counts) == classes and sum(dataset.class_counts) == rows
    assert len(dataset.feature_names) == len(set(dataset.feature_names)) == features
    assert dataset.X.dtype == np.float64 and np.isfinite(dataset.X).all()
    assert set(np.unique(dataset.y)) == {0, 1} and len(dataset.class_names) == 2
    assert (LOADERS[name].features, LOADERS[name].class_counts) == (features, dataset.class_counts)


def test_the_nine_are_found_in_the_directory_of_the_environment(data_dir, monkeypatch):
    assert list(EXPECTED) == available_datasets()[:10]
    monkeypatch.setenv("PACB_DATA", str(data_dir))
    assert load_dataset("haberman").source == str(data_dir / "haberman.csv")


def test_bupa_leaks_and_the_other_does_not(data_dir):
    leaky, clean = load_dataset("bupa", data_dir), load_dataset("bupa-no-leak", data_dir)
    drinks = leaky.X[:, leaky.feature_names.index("drinks")]
    assert np.array_equal(drinks >= 3, leaky.y == 1)
    assert "drinks" not in clean.feature_names
    assert np.array_equal(clean.X, leaky.X[:, :5]) and np.array_equal(clean.y, leaky.y)


def test_mushroom_columns_are_one_hot(data_dir):
    dataset = load_dataset("mushroom", data_dir)
    names = [name.split("=")[0] for name in dataset.feature_names]
    for feature in set(names):
        columns = [index for index, name in enumerate(names) if name == feature]
        assert np.array_equal(dataset.X[:, columns].sum(axis=1), np.ones(5644))


def test_banknote_is_divided_as_in_the_paper(data_dir):
    sizes = load_dataset("banknote", data_dir).sizes
    assert (sizes.training, sizes.validation, sizes.test) == (548, 549, 275)
    assert sizes != paper_sizes(1372)


def test_wdbc_of_scikit_learn_is_the_file(data_dir, no_directory):
    file, package = load_dataset("wdbc", data_dir), load_dataset("wdbc")
    assert package.source == "scikit-learn"
    assert np.array_equal(file.X, package.X) and np.array_equal(file.y, package.y)


def test_generated_waveforms_have_the_distribution_of_the_file(data_dir, no_directory):
    generated, file = load_dataset("waveform"), load_dataset("waveform", data_dir)
    assert "generated" in generated.source
    assert generated.class_counts == file.class_counts
    for number in (0, 1):
        ours, theirs = generated.X[generated.y == number], file.X[file.y == number]
        # Both means have a standard error of at most sqrt(5/1653) per feature: 80 comparisons, five errors.
        assert np.abs(ours.mean(axis=0) - theirs.mean(axis=0)).max() < 5 * np.sqrt(2 * 5 / 1653)
        ratio = ours.std(axis=0) / theirs.std(axis=0)
        assert 0.9 < ratio.min() and ratio.max() < 1.1


def test_generator_mixes_the_right_waves():
    X, y = generate_waveform((20000, 20000), seed=1)
    i = np.arange(1, 22)
    h_a, h_b, h_c = (np.maximum(6 - np.abs(i - peak), 0) for peak in (7, 15, 11))
    for number, waves in ((0, (h_a, h_c)), (1, (h_b, h_c))):
        mean = X[y == number].mean(axis=0)
        np.testing.assert_allclose(mean[:21], sum(waves) / 2, atol=0.09)
        np.testing.assert_allclose(mean[21:], 0, atol=0.05)


# Damage a copy: drop a row, drop a cell, change a digit.
DAMAGE = [
    (lambda lines: lines[:-1], r"is not the haberman.csv of the UCI repository: it has 305 rows, expected 306\."),
    (lambda lines: ["30,64,1", *lines[1:]], r"repository: row 1 has 3 columns, expected 4\."),
    (lambda lines: ["31,64,1,1", *lines[1:]], r"repository: its SHA-256 is [0-9a-f]{64}, expected b4b7a3"),
]


@pytest.mark.parametrize(("damage", "sentence"), DAMAGE)
def test_damaged_files_are_noticed(damage, sentence, data_dir, tmp_path):
    lines = (data_dir / "haberman.csv").read_text().splitlines()
    (tmp_path / "haberman.csv").write_text("\n".join(damage(lines)) + "\n")
    with pytest.raises(InputError, match=sentence):
        load_dataset("haberman", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", EXPECTED)
def test_any_changed_character_is_noticed(name, data_dir, tmp_path):
    file = LOADERS[name].file.name
    text = (data_dir / file).read_text()
    place = next(i for i in range(len(text) // 2, len(text)) if text[i] in "1234bcd")
    (tmp_path / file).write_text(text[:place] + chr(ord(text[place]) + 1) + text[place + 1 :])
    with pytest.raises(InputError):
        load_dataset(name, tmp_path)


def test_line_ends_do_not_matter(data_dir, tmp_path):
    text = (data_dir / "haberman.csv").read_text()
    (tmp_path / "haberman.csv").write_bytes(text.replace("\n", "\r\n").encode() + b"\r\n")
    assert np.array_equal(load_dataset("haberman", tmp_path).X, load_dataset("haberman", data_dir).X)


def test_missing_file_unreadable_file_and_unknown_name(tmp_path):
    with pytest.raises(InputError, match=f"there is no wdbc.csv in the data directory '{tmp_path}'"):
        load_dataset("wdbc", tmp_path)
    (tmp_path / "wdbc.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot read"):
        load_dataset("wdbc", tmp_path)
    with pytest.raises(InputError, match="dataset is 'iris'; it must be one of spambase, bupa"):
        load_dataset("iris")


@pytest.fixture
def mirror(tmp_path, data_dir):
    """A server laid out like the UCI repository, which holds Haberman's file and a damaged Bupa."""
    root = tmp_path / "mirror"
    (root / "haberman").mkdir(parents=True)
    (root / "liver-disorders").mkdir()
    shutil.copy(data_dir / "haberman.csv", root / "haberman" / "haberman.data")
    damaged = (data_dir / "bupa.csv").read_text().replace("85,92,45", "85,92,46")
    (root / "liver-disorders" / "bupa.data").write_text(damaged)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_download_is_checked_and_cached(mirror, no_directory, data_dir):
    file = LOADERS["haberman"].file
    path = datasets.find_file(file, None, base_url=mirror)
    assert path.read_bytes() == (data_dir / "haberman.csv").read_bytes()
    assert path.parent == datasets.cache_directory()
    # The second time the cache serves: the address no longer exists.
    assert datasets.find_file(file, None, base_url="http://127.0.0.1:9") == path
    assert np.array_equal(load_dataset("haberman").X, load_dataset("haberman", data_dir).X)


def test_damaged_download_is_not_kept(mirror, no_directory):
    with pytest.raises(InputError, match=r"bupa.data is not the bupa.csv of the UCI repository: its SHA-256"):
        datasets.find_file(LOADERS["bupa"].file, None, base_url=mirror)
    assert not (datasets.cache_directory() / "bupa.csv").exists()


@pytest.mark.parametrize("name", ["spambase", "haberman"])
def test_failed_download_says_what_to_do(name, mirror, no_directory):
    base_url = mirror if name == "spambase" else "http://127.0.0.1:9"
    advice = rf"cannot download .*; put {name}.csv into a directory and name that, also as PACB_DATA"
    with pytest.raises(InputError, match=advice):
        datasets.find_file(LOADERS[name].file, None, base_url=base_url)


def test_registered_data_sets_are_found(tmp_path, monkeypatch):
    """A third party's package on the path, with nothing but an entry point."""
    theirs = (
        "import numpy as np\n"
        "from pacb_models.benchmarks.experiments.datasets import Dataset\n"
        "def load(data_dir=None):\n"
        "    return Dataset(np.eye(4), np.array([0, 1, 0, 1]), 'theirs', source=str(data_dir))\n"
    )
    install(tmp_path, "[pacb_models.datasets]\ntheirs = their_datasets:load\n", their_datasets=theirs)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert available_datasets()[-1] == "theirs"
    dataset = load_dataset("theirs", "here")
    assert dataset.name == "theirs" and dataset.source == "here"


def test_a_data_set_has_one_class_per_row():
    with pytest.raises(InputError, match=r"X has shape \(3, 2\) and y \(4,\)"):
        Dataset(np.zeros((3, 2)), np.zeros(4, dtype=int), "odd")


# --- tables of one's own ---------------------------------------------------------------------------------------------


TABLE = "size,colour,old,class\n1.5,red,True,yes\n2,blue,False,no\n3,red,True,no\n-1,green,False,yes\n"


@pytest.fixture
def table(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numeric_categorical_and_boolean_columns(table, suffix):
    path = table(TABLE)
    frame = pd.read_csv(path).astype({"colour": "category"})
    frame.to_parquet(path.with_suffix(".parquet"))
    dataset = load_table(path.with_suffix(suffix), "class")
    assert dataset.feature_names == ("size", "colour=blue", "colour=green", "colour=red", "old")
    assert dataset.X.tolist() == [[1.5, 0, 0, 1, 1], [2, 1, 0, 0, 0], [3, 0, 0, 1, 1], [-1, 0, 1, 0, 0]]
    assert dataset.class_names == ("no", "yes") and dataset.y.tolist() == [1, 0, 0, 1]
    assert dataset.name == "table" and dataset.class_counts == (2, 2)
    assert load_table(path, "class", ignore=["colour", "old"]).feature_names == ("size",)


def test_missing_values_are_counted_or_dropped(table):
    path = table("a,b,class\n1,x,0\n,y,1\n?,x,1\n3,,0\n4,y,1\n5,x,\n2,x,1\n7,y,0\n")
    counted = r"missing values in 4 of 8 rows \(by column: a 2, b 1, class 1\); missing='drop'"
    with pytest.raises(InputError, match=counted):
        load_table(path, "class")
    dataset = load_table(path, "class", missing="drop")
    assert dataset.X[:, 0].tolist() == [1, 4, 2, 7] and dataset.y.tolist() == [0, 1, 1, 0]


def test_a_wdbc_of_ones_own_gives_the_same_features(data_dir, tmp_path):
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
    ("a,class\n1,0\n2,1\n3,0\n1e308,1\n", "class", r"column 'a' of .* holds 1e\+308 in row 4; a feature must be"),
    ("class\n1\n0\n1\n0\n", "class", "no column besides the target"),
    ("", "class", "cannot read .*: No columns to parse"),
    ("a,class\n1,0\n2,1,7,9\n", "class", "cannot read .*: Error tokenizing"),
    ("a,class\n,0\n2,\n", "class", "missing values in 2 of 2 rows"),
    # pandas would take the first column for names of rows and leave it out.
    ("a,class\n1,2,0\n3,4,1\n", "class", r"more cells than its header has names \(2\)"),
]


@pytest.mark.parametrize(("text", "target", "sentence"), BAD)
def test_bad_tables_get_a_sentence(table, text, target, sentence):
    with pytest.raises(InputError, match=sentence):
        load_table(table(text), target)


@pytest.mark.parametrize(
    ("name", "text", "options", "sentence"),
    [
        ("table.txt", TABLE, {}, r"suffix of the table is '.txt'; it must be one of '.csv', '.parquet'"),
        ("table.parquet", "no parquet", {}, "cannot read"),
        ("table.csv", TABLE, {"ignore": ["id"]}, "ignore is 'id'"),
        ("table.csv", TABLE, {"missing": "impute"}, "missing is 'impute'"),
        ("table.csv", "a,class\n,0\n2,\n", {"missing": "drop"}, "no row without missing values"),
    ],
)
def test_bad_files_get_a_sentence(table, tmp_path, name, text, options, sentence):
    with pytest.raises(InputError, match=sentence):
        load_table(table(text, name), "class", **options)
    with pytest.raises(InputError, match=r"cannot read the table .*none.csv': No such file"):
        load_table(tmp_path / "none.csv", "class")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_one_name_are_refused(tmp_path, suffix):
    """pandas renames the second one in a CSV, and the target would be among the features."""
    (tmp_path / "twins.csv").write_text("x,class,class\n1,a,a\n2,b,b\n")
    columns = [pa.array([1, 2]), pa.array(["a", "b"]), pa.array(["a", "b"])]
    write_table(pa.Table.from_arrays(columns, names=["x", "class", "class"]), tmp_path / "twins.parquet")
    with pytest.raises(InputError, match="class"):
        load_table(tmp_path / f"twins{suffix}", "class")


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
    notes = " ".join(dataset.reading.notes)
    assert "3 of 60 rows were dropped" in notes and "ignored: x" in notes and "Column 'id'" in notes
    with pytest.raises(InputError, match=r"column 'y' of .* has no group in row 1; every example needs one"):
        read_table(table("id,x,y,class\n" + rows), "class", missing="impute", group="y")
