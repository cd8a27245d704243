"""``pacb certificate``: the printed numbers, and what is refused."""

from __future__ import annotations

import json

import pytest

import pacb_models as pm
from pacb_models.cli import main

FIVE = "name,errors\nlogistic,25\nforest,23\nboosting,21\nnearest,35\ntree,50\n"


def run(capsys, tmp_path, text, *options):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    status = main(["certificate", str(path), *options])
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


def test_losses(tmp_path, capsys):
    _, printed = run(capsys, tmp_path, "losses\n20.5\n30\n", "--m", "549", "--losses")
    assert "has an expected loss of at most" in printed.out


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
        ("errors\n3\n", ("--losses",), "line 1: losses is 'errors'; it must be a number"),
        ("losses\n3\n", ("--losses", "--spread", "1"), "losses is given together with errors or spread"),
    ],
)
def test_bad_input_is_exit_two_and_one_line(text, options, words, tmp_path, capsys):
    status, printed = run(capsys, tmp_path, text, "--m", "549", *options)
    assert status == 2 and words in printed.err and printed.err.count("\n") == 1 and printed.out == ""
