"""The file of printed numbers is complete, unambiguous, and agrees with what can be recomputed; items have numbers."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pacb_models.benchmarks.paper.cells import PRINTED_TABLES, Place, printed, printed_value
from pacb_models.benchmarks.paper.document import ITEMS, chosen
from pacb_models.benchmarks.paper.numbers import BY_NUMBER, OTHERS, TITLES
from pacb_models.commands.program import main
from pacb_models.errors import InputError

#: In the order of every table of the paper.
DATA_SETS = "spambase bupa mammographic wdbc banknote mushroom ionosphere waveform haberman".split()
SIZES = (50, 200, 500, 1000, 1990)
DISTANCES = ("linear", "squared", "kl")


def by_size(quantity, status):
    methods = (("fixed-point", quantity), ("ipopt", quantity), ("ipopt", status))
    return [(size, method, each) for size in SIZES for method, each in methods]


SPLIT = "training_size validation_size test_size".split()
COUNTS = "features examples positive negative".split()
STATISTICS = ("min", "max", "mean", "sd")

# The printed tables: label -> (name, data sets, places), written down from the paper's layout and not from the file.
LAYOUT = {
    "Table 2 (tab:dataset.details)": ("data", DATA_SETS, [("", "", each) for each in (*COUNTS, *SPLIT)]),
    "Table 3 (tab:phiChi2Compare)": (
        "bounds",
        DATA_SETS,
        [(1990, distance, quantity) for quantity in ("bound", "test_error") for distance in DISTANCES],
    ),
    "Table 4 (tab:PACBvsCV)": (
        "cross-validation",
        DATA_SETS,
        [(1990, "cv", "lambda"), (1990, "cv", "test_error"), (1990, "squared", "test_error")]
        + [(1990, "", "delta_test_error"), (1990, "", "relative_test_error"), (1990, "squared", "bound")]
        + [(1990, "", "significantly_lower")],
    ),
    "Table 5 (appdx_tab:I_R_kl)": (
        "constants",
        [""],
        [(m, "kl", quantity) for m in (50, 100, 200, 500, 1000, 1020, 1028) for quantity in ("l_star", "constant")],
    ),
    "Table 6 (appdx_tab:Bnd.klChi2)": (
        "fp-vs-solver",
        DATA_SETS,
        [("", "", "validation_size"), *by_size("bound", "status")],
    ),
    "Table 7 (appdx_tab:TestErr.klChi2)": (
        "fp-vs-solver",
        DATA_SETS,
        [("", "", "test_size"), *by_size("test_error", "test_error_status")],
    ),
    "Table 8 (appdx_tab:Bnd.TestErr.FPnCCP.klChi2)": (
        "fp-vs-ccp",
        DATA_SETS,
        [
            (50, method, f"{quantity}{end}")
            for quantity in ("bound", "test_error")
            for method, end in (("fixed-point", ""), *(("ccp", f"_{statistic}") for statistic in STATISTICS))
        ],
    ),
    "Table 9 (appdx_tab:allQChi2.HHI)": (
        "sparsity",
        "mammographic spambase wdbc bupa banknote".split(),
        [("", "", "validation_size")]
        + [(1000, distance, each) for each in ("N(0.8)", "N(0.9)", "N(0.95)", "HHI") for distance in DISTANCES],
    ),
}


@pytest.mark.parametrize("label", LAYOUT)
def test_every_cell_of_a_printed_table_is_there_and_no_other(label):
    name, datasets, places = LAYOUT[label]
    cells = printed(name)
    found = cells[cells.label == label]
    found = found[found.quantity != "one_hot_features"]  # printed for Mushroom only, in brackets
    expected = [(dataset, *map(str, place)) for dataset in datasets for place in places]
    assert list(found[list(Place._fields)].itertuples(index=False, name=None)) == expected


@pytest.mark.parametrize("name", PRINTED_TABLES)
def test_each_cell_is_entered_once_and_never_empty(name):
    cells = printed(name)
    assert not cells.empty
    assert not cells.duplicated(list(Place._fields)).any()
    assert (cells[["label", "quantity", "value"]] != "").all(axis=None)
    assert (cells.value == cells.value.str.strip()).all()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("constants", "", 1028, "kl", "constant"), 0.0003580),
        (("constants", "over-1028", "", "kl", "constant"), 0.00037),
        (("bounds", "haberman", 1990, "squared", "bound"), 0.51731),
        (("bounds", "ionosphere", 1990, "linear", "test_error"), 0.20960),
        (("fp-vs-solver", "mushroom", 200, "fixed-point", "test_error"), 4.42e-06),
        (("fp-vs-solver", "wdbc", 50, "ipopt", "status"), "none"),
        (("fp-vs-solver", "wdbc", 50, "ipopt", "test_error_status"), "I"),
        (("fp-vs-ccp", "banknote", 50, "ccp", "bound_mean"), "NA"),
        (("fp-vs-ccp", "haberman", 50, "ccp", "test_error_max"), 0.30268),
        (("sparsity", "spambase", 1000, "squared", "N(0.95)"), 104),
        (("sparsity", "bupa", 1000, "kl", "HHI"), 0.0342),
        (("cross-validation", "bupa", 1990, "", "relative_test_error"), -156.29),
        (("cross-validation", "mushroom", 1990, "", "relative_test_error"), "NA"),
        (("cross-validation", "wdbc", 1990, "", "significantly_lower"), "pac-bayes"),
        (("data", "mushroom", "", "", "one_hot_features"), 116),
        (("divergences", "all", "", "", "tighter_bound"), "kl"),
        (("examples", "figure-5", "", "", "support_fp"), 1986),
    ],
)
def test_spot_values(place, value):
    assert printed_value(*place) == value


def test_letters_are_the_ones_the_captions_explain():
    cells = printed("fp-vs-solver")
    letters = cells[cells.quantity.str.endswith("status")]
    assert set(letters.value) == {"I", "R", "M", "E", "none", "v"}
    assert letters[letters.value == "v"].dataset.tolist() == ["banknote"]
    in_table = letters[letters.value != "none"].groupby("label").size()
    assert in_table["Table 6 (appdx_tab:Bnd.klChi2)"] == 33
    assert in_table["Table 7 (appdx_tab:TestErr.klChi2)"] == 34


def test_sizes_add_up():
    for name in DATA_SETS:
        of = {each: printed_value("data", name, quantity=each) for each in (*COUNTS, *SPLIT)}
        assert of["positive"] + of["negative"] == sum(of[each] for each in SPLIT) == of["examples"]
        for quantity in SPLIT[1:]:
            assert printed_value("fp-vs-solver", name, quantity=quantity) == of[quantity]


def test_cross_validation_columns_agree_with_each_other_and_with_the_bounds():
    for name in DATA_SETS:
        table_4 = partial(printed_value, "cross-validation", name, 1990)
        cv, pac, delta = table_4("cv", "test_error"), table_4("squared", "test_error"), table_4("", "delta_test_error")
        assert delta == pytest.approx(cv - pac, abs=1e-9)
        assert pac == printed_value("bounds", name, 1990, "squared", "test_error")
        assert table_4("squared", "bound") == printed_value("bounds", name, 1990, "squared", "bound")
        if cv > 0:  # one unit of the last printed digit: Bupa's -156.296 % is printed as -156.29 %
            assert table_4("", "relative_test_error") == pytest.approx(100 * delta / cv, abs=0.0101)


@pytest.mark.parametrize("quantity", ["bound", "test_error"])
@pytest.mark.parametrize(("table", "size", "method"), [("bounds", 1990, "kl"), ("fp-vs-ccp", 50, "fixed-point")])
def test_tables_printed_twice_differ_only_where_the_note_says_so(table, size, method, quantity):
    """The kl column of Table 3 is H = 1990 of Tables 6 and 7; the fixed points of Table 8 are H = 50."""
    other = printed("fp-vs-solver").set_index(list(Place._fields))
    for name in DATA_SETS:
        place = (name, str(size), "fixed-point", quantity)
        same = printed_value(table, name, size, method, quantity) == printed_value("fp-vs-solver", *place)
        assert same == (other.note[place] == ""), place


def test_the_swapped_cells_are_the_only_bounds_below_their_neighbours():
    """Bounds grow with H along each row; the two swapped Waveform cells break that, and they are marked."""
    cells = printed("fp-vs-solver")
    for name in DATA_SETS:
        bounds = [printed_value("fp-vs-solver", name, H, "fixed-point", "bound") for H in SIZES]
        assert (np.diff(bounds) >= 0).all() == (name != "waveform")
    marked = cells[cells.note.str.contains("swapped with the test error")]
    expected = {("waveform", "200", method, "bound") for method in ("fixed-point", "ipopt")}
    assert set(marked[list(Place._fields)].itertuples(index=False, name=None)) == expected


def test_nonconvexity_example_is_entered_right():
    """Both sides of the convexity condition, recomputed from the entered weights."""

    def example(quantity):
        return printed_value("examples", "nonconvexity", quantity=quantity)

    H, index = int(example("H")), int(example("degenerate_index"))
    other = np.array([example(f"q_prime_{i}") for i in range(1, H + 1)])
    assert other.sum() == pytest.approx(1, abs=1e-6)
    left = H ** (3 / 4) * (H * (other**2).sum()) ** (1 / 4)
    right = (H * other[index - 1] + H) / 2
    assert left == pytest.approx(example("left_side"), abs=1e-6)
    assert right == pytest.approx(example("right_side"), abs=1e-6)


def test_unknown_names_are_named():
    with pytest.raises(InputError, match="table is 'bound'; expected one of constants, bounds"):
        printed("bound")
    with pytest.raises(InputError, match=r"dataset is 'iris'; .* one of 'spambase', "):
        printed_value("bounds", "iris", 1990, "kl", "bound")
    with pytest.raises(InputError, match=r"method is 'pinsker'; .* one of 'linear', 'squared', 'kl'"):
        printed_value("bounds", "bupa", 1990, "pinsker", "bound")


# --- what the paper numbers -------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "reproduction.md"


def test_every_number_is_an_item():
    assert list(BY_NUMBER) == [*(f"table{n}" for n in range(2, 10)), *(f"figure{n}" for n in range(1, 7))]
    assert {*BY_NUMBER.values(), *OTHERS} == set(TITLES) == set(ITEMS)


@pytest.mark.parametrize("text", ["table3", "Table3", "Table 3", "tab. 3", "TABLE-3", "table03"])
def test_a_number_may_be_spelt_in_any_way(text):
    assert [item.name for item in chosen([text])] == ["headline", "bounds"]


def test_two_numbers_may_be_one_item():
    assert [item.name for item in chosen(["table6", "table7", "Figure 4"])] == ["fp-vs-solver", "linear-weights"]


def test_help_and_page_list_every_number(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    shown, page = capsys.readouterr().out, PAGE.read_text(encoding="utf-8")
    for number, name in BY_NUMBER.items():
        kind, digit = number[:-1].capitalize(), number[-1]
        assert re.search(rf"^ +{number} +{name} +{re.escape(TITLES[name])}$", shown, re.MULTILINE)
        assert f"| {kind} {digit} | {TITLES[name]} | `{name}` |" in page
    assert all(name in shown for name in ITEMS)
