"""The file of printed numbers is complete, unambiguous, and agrees with what can be recomputed from it."""

import itertools

import numpy as np
import pytest

from pacb_models.benchmarks.paper.printed import TABLES, printed, printed_value
from pacb_models.errors import InputError

DATA_SETS = (
    "spambase bupa mammographic wdbc banknote mushroom ionosphere waveform haberman".split()
)  # the order of every table of the paper
SIZES = (50, 200, 500, 1000, 1990)
DISTANCES = ("linear", "squared", "kl")
SWAPPED = ["bound_fp_H200", "bound_solver_H200"]


def columns_of_solver_table(quantity, status, size):
    return [size] + [f"{name}_H{H}" for H in SIZES for name in (f"{quantity}_fp", f"{quantity}_solver", status)]


# The printed tables: label -> (name, rows, columns), written down from the paper's layout rather than from the file.
LAYOUT = {
    "Table 2 (tab:dataset.details)": (
        "data",
        DATA_SETS,
        ["features", "examples", "positive", "negative", "training_size", "validation_size", "test_size"],
    ),
    "Table 3 (tab:phiChi2Compare)": (
        "bounds",
        DATA_SETS,
        [f"{quantity}_{distance}" for quantity in ("bound", "test_error") for distance in DISTANCES],
    ),
    "Table 4 (tab:PACBvsCV)": (
        "cross-validation",
        DATA_SETS,
        ["best_lambda", "cv_test_error", "pac_bayes_test_error", "delta_test_error", "relative_test_error"]
        + ["bound_squared", "significantly_lower"],
    ),
    "Table 5 (appdx_tab:I_R_kl)": ("constants", "50 100 200 500 1000 1020 1028".split(), ["l_star", "I_kl"]),
    "Table 6 (appdx_tab:Bnd.klChi2)": (
        "fp-vs-solver",
        DATA_SETS,
        columns_of_solver_table("bound", "status_solver", "validation_size"),
    ),
    "Table 7 (appdx_tab:TestErr.klChi2)": (
        "fp-vs-solver",
        DATA_SETS,
        columns_of_solver_table("test_error", "test_error_status_solver", "test_size"),
    ),
    "Table 8 (appdx_tab:Bnd.TestErr.FPnCCP.klChi2)": (
        "fp-vs-ccp",
        DATA_SETS,
        [
            f"{quantity}_{name}"
            for quantity in ("bound", "test_error")
            for name in ("fp", "ccp_min", "ccp_max", "ccp_mean", "ccp_sd")
        ],
    ),
    "Table 9 (appdx_tab:allQChi2.HHI)": (
        "sparsity",
        "mammographic spambase wdbc bupa banknote".split(),
        ["validation_size"]
        + [f"N_{distance}_{level}" for level in ("0.8", "0.9", "0.95") for distance in DISTANCES]
        + [f"HHI_{distance}" for distance in DISTANCES],
    ),
}


@pytest.mark.parametrize("label", LAYOUT)
def test_every_cell_of_a_printed_table_is_there_and_no_other(label):
    name, rows, columns = LAYOUT[label]
    cells = printed(name)
    found = cells[cells.label == label]
    found = found[found.column != "one_hot_features"]  # printed for Mushroom only, in brackets
    assert list(zip(found.row, found.column, strict=True)) == list(itertools.product(rows, columns))


@pytest.mark.parametrize("name", TABLES)
def test_each_cell_is_entered_once_and_never_empty(name):
    cells = printed(name)
    assert not cells.empty
    assert not cells.duplicated(["row", "column"]).any()
    assert (cells[["label", "row", "column", "value"]] != "").all(axis=None)
    assert (cells.value == cells.value.str.strip()).all()


@pytest.mark.parametrize(
    ("table", "row", "column", "value"),
    [
        ("constants", "1028", "I_kl", 0.0003580),
        ("constants", "over-1028", "I_kl", 0.00037),
        ("bounds", "haberman", "bound_squared", 0.51731),
        ("bounds", "ionosphere", "test_error_linear", 0.20960),
        ("fp-vs-solver", "spambase", "bound_solver_H50", 0.84883),
        ("fp-vs-solver", "mushroom", "test_error_fp_H200", 4.42e-06),
        ("fp-vs-solver", "banknote", "test_error_solver_H1000", 0.002401),
        ("fp-vs-solver", "wdbc", "status_solver_H1000", "R"),
        ("fp-vs-solver", "wdbc", "status_solver_H50", "none"),
        ("fp-vs-solver", "wdbc", "test_error_status_solver_H50", "I"),
        ("fp-vs-ccp", "banknote", "bound_ccp_mean", "NA"),
        ("fp-vs-ccp", "haberman", "test_error_ccp_max", 0.30268),
        ("sparsity", "spambase", "N_squared_0.95", 104),
        ("sparsity", "bupa", "HHI_kl", 0.0342),
        ("cross-validation", "bupa", "relative_test_error", -156.29),
        ("cross-validation", "mushroom", "relative_test_error", "NA"),
        ("cross-validation", "wdbc", "significantly_lower", "pac-bayes"),
        ("data", "mushroom", "one_hot_features", 116),
        ("divergences", "all", "tighter_bound", "kl"),
        ("examples", "figure-5", "support_fp", 1986),
    ],
)
def test_spot_values(table, row, column, value):
    assert printed_value(table, row, column) == value


def test_letters_are_the_ones_the_captions_explain():
    cells = printed("fp-vs-solver")
    letters = cells[cells.column.str.contains("status")]
    assert set(letters.value) == {"I", "R", "M", "E", "none", "v"}
    assert letters[letters.value == "v"].row.tolist() == ["banknote"]
    in_table = letters[letters.value != "none"].groupby("label").size()
    assert in_table["Table 6 (appdx_tab:Bnd.klChi2)"] == 33
    assert in_table["Table 7 (appdx_tab:TestErr.klChi2)"] == 34


def test_sizes_add_up():
    for name in DATA_SETS:
        of = {column: printed_value("data", name, column) for column in LAYOUT["Table 2 (tab:dataset.details)"][2]}
        assert of["positive"] + of["negative"] == of["examples"]
        assert of["training_size"] + of["validation_size"] + of["test_size"] == of["examples"]
        assert printed_value("fp-vs-solver", name, "validation_size") == of["validation_size"]
        assert printed_value("fp-vs-solver", name, "test_size") == of["test_size"]


def test_cross_validation_columns_agree_with_each_other_and_with_the_bounds():
    for name in DATA_SETS:
        cv, pac, delta = (
            printed_value("cross-validation", name, column)
            for column in ("cv_test_error", "pac_bayes_test_error", "delta_test_error")
        )
        assert delta == pytest.approx(cv - pac, abs=1e-9)
        assert pac == printed_value("bounds", name, "test_error_squared")
        assert printed_value("cross-validation", name, "bound_squared") == printed_value(
            "bounds", name, "bound_squared"
        )
        if cv > 0:  # one unit of the last printed digit: Bupa's -156.296 % is printed as -156.29 %
            relative = printed_value("cross-validation", name, "relative_test_error")
            assert relative == pytest.approx(100 * delta / cv, abs=0.0101)


def test_tables_printed_twice_differ_only_where_the_note_says_so():
    """The kl column of Table 3 is H = 1990 of Tables 6 and 7; the fixed points of Table 8 are H = 50."""
    pairs = [
        (("bounds", f"{quantity}_kl"), ("fp-vs-solver", f"{quantity}_fp_H1990")) for quantity in ("bound", "test_error")
    ] + [
        (("fp-vs-ccp", f"{quantity}_fp"), ("fp-vs-solver", f"{quantity}_fp_H50"))
        for quantity in ("bound", "test_error")
    ]
    for (table, column), (other_table, other_column) in pairs:
        other = printed(other_table)
        for name in DATA_SETS:
            note = other[(other.row == name) & (other.column == other_column)].note.item()
            same = printed_value(table, name, column) == printed_value(other_table, name, other_column)
            assert same == (note == ""), (name, column)


def test_the_swapped_cells_are_the_only_bounds_below_their_neighbours():
    """Bounds grow with H along each row; the two swapped Waveform cells break that, and they are marked."""
    cells = printed("fp-vs-solver")
    for name in DATA_SETS:
        bounds = [printed_value("fp-vs-solver", name, f"bound_fp_H{H}") for H in SIZES]
        assert (np.diff(bounds) >= 0).all() == (name != "waveform")
    marked = cells[cells.note.str.contains("swapped with the test error")]
    assert set(zip(marked.row, marked.column, strict=True)) == {("waveform", column) for column in SWAPPED}


def test_nonconvexity_example_is_entered_right():
    """Both sides of the convexity condition, recomputed from the entered weights."""
    example = {c: printed_value("examples", "nonconvexity", c) for c in ("H", "degenerate_index", "left_side")}
    H, index = int(example["H"]), int(example["degenerate_index"])
    other = np.array([printed_value("examples", "nonconvexity", f"q_prime_{i}") for i in range(1, H + 1)])
    assert other.sum() == pytest.approx(1, abs=1e-6)
    left = H ** (3 / 4) * (H * (other**2).sum()) ** (1 / 4)
    right = (H * other[index - 1] + H) / 2
    assert left == pytest.approx(example["left_side"], abs=1e-6)
    assert right == pytest.approx(printed_value("examples", "nonconvexity", "right_side"), abs=1e-6)


def test_unknown_names_are_named():
    with pytest.raises(InputError, match="table is 'bound'; expected one of constants, bounds"):
        printed("bound")
    with pytest.raises(InputError, match="row is 'iris'; table 'bounds' has spambase"):
        printed_value("bounds", "iris", "bound_kl")
    with pytest.raises(InputError, match="column is 'kl'; row 'bupa' of table 'bounds' has bound_linear"):
        printed_value("bounds", "bupa", "kl")


def test_a_caller_cannot_change_the_file_for_the_next_one():
    cells = printed("bounds")
    cells["value"] = "0"
    assert printed_value("bounds", "bupa", "bound_kl") == 0.83864
