"""The paper's tables and figures are asked for by their numbers."""

import re
from pathlib import Path

import pytest

from pacb_models.benchmarks.paper.catalogue import ITEMS, chosen
from pacb_models.benchmarks.paper.numbers import BY_NUMBER, OTHERS, TITLES
from pacb_models.commands.program import main

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
