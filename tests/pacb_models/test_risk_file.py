"""Risk files: what is read, and one sentence for what is not."""

import io

import pytest

from pacb_models.errors import InputError
from pacb_models.risk_file import parse_risks, read_risk_file


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("0.5\n"))
    assert read_risk_file("-").values == [0.5]


@pytest.mark.parametrize(
    ("text", "risks", "prior", "names"),
    [
        ("\ufeffrisk\n0.1\n", [0.1], None, ["0"]),
        ("# measured on 100 examples\n0.1\n\n 0.25 \n1e-3\n", [0.1, 0.25, 0.001], None, ["0", "1", "2"]),
        ('name,Prior,risk\n"a, b",0.25,0.1\nc,0.75,0.2\n', [0.1, 0.2], [0.25, 0.75], ["a, b", "c"]),
        ("\ufeff0.1\r\n\r\n 0.2 \r\n", [0.1, 0.2], None, ["0", "1"]),
        ("Name, Risk ,PRIOR\na,0.1,0.25\nb,0.2,0.75", [0.1, 0.2], [0.25, 0.75], ["a", "b"]),
        ('# of "today\nrisk,name\n0.1,"a, the ""first"""\n0.2,"two\nlines"\n', [0.1, 0.2], None, None),
        ("risk,note,note\n0.1,x,y\n", [0.1], None, ["0"]),
    ],
)
def test_what_is_read(text, risks, prior, names):
    found = parse_risks(text, "it")
    assert (found.values, found.prior) == (risks, prior)
    assert found.names == (names or ['a, the "first"', "two\nlines"])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# only this\n\n", "^it holds no risks; it must have one number per line or a CSV column 'risk'\\.$"),
        ("0.1,0.2\n", "it, line 1: a file with several columns needs a header with a column 'risk'."),
        ("risk,prior\n0.1\n", "it, line 2: 1 cells, but the header has 2."),
        ("risk\n", "it has a header but no risks below it."),
        ("# c\nrisk,prior\n\n0.1,?\n", "it, line 4: prior is '.'; it must be a number."),
        ("risk,risk\n0.1,0.9\n", "it has 2 columns 'risk'"),
        ("name,risk,Name\na,0.1,b\n", "it has 2 columns 'name'"),
        ("risk,prior,prior\n0.1,0.5,0.5\n", "it has 2 columns 'prior'"),
        ("0.1\n0.2,0.3\n", "it, line 2: a file with several columns needs a header"),
        ("# c\n\nrisk\nhigh\n", "it, line 4: risk is 'high'"),
        ("0_1\n", "it, line 1: risk is '0_1'"),
        ('name,risk\n"a,0.1\n', "it, line 2: unexpected end of data"),
        ("name,risk\n" + "a" * 200_000 + ",0.1\n", "it, line 2: field larger than field limit"),
        ("x" * 100_000, "it must be a number"),
    ],
)
def test_what_is_refused(text, complaint):
    with pytest.raises(InputError, match=complaint) as refusal:
        parse_risks(text, "it")
    assert len(str(refusal.value)) < 200


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.csv").write_bytes("name,risk\ngrün,0.1\n".encode("latin-1"))
    reasons = {"none": "No such file or directory\\.", "folder": "", "latin.csv": "it is not a text file"}
    for name, why in reasons.items():
        with pytest.raises(InputError, match=f"cannot read the risk file '.*': .*{why}"):
            read_risk_file(tmp_path / name)


FURTHER = "name,risk,Latency,Latency in ms,latency IN ms,note\na,0.1,40,1,1,x\nb,0.2,20,1,1,\n"


def test_further_columns_by_name():
    table = parse_risks(FURTHER, "x")
    assert table.column("latency") == table.column(" LATENCY ") == [40.0, 20.0]
    assert table.column("risk") == [0.1, 0.2]


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        (FURTHER, "memory", "x has no column 'memory'; its columns are 'name', 'risk', 'latency', 'latency in ms', 'n"),
        (FURTHER, "latency in ms", "x has 2 columns 'latency in ms'; its columns are 'name', 'risk', 'latency', "),
        (FURTHER, "note", "x, line 2: note is 'x'; it must be a number."),
        ("risk,a\n0.1,\n", "a", "x, line 2: a is ''; it must be a number."),
        ("# c\nrisk,a\n0.1,1\n\n0.2,nan\n", "a", "x, line 5: a is nan; it must be a finite number."),
        ("0.1\n0.2\n", "a", "x has no header, so no column 'a'; a CSV with a header has columns."),
    ],
)
def test_a_column_that_is_not_there_or_no_numbers(text, name, sentence):
    with pytest.raises(InputError) as caught:
        parse_risks(text, "x").column(name)
    assert str(caught.value).startswith(sentence)
