"""What a command cannot do is one line that names the reason, exit code two, and nothing written."""

from pathlib import Path

import pytest

from pacb_models.commands.program import main

KL, CHI2 = "one-good-17-H20-chi2-kl", "one-good-10-H20-chi2-squared"

REFUSED = {
    "bench": [
        (("--suite", "nonsense"), "'nonsense'"),
        (("--solvers", "magic"), "'magic'"),
        (("--problems", "no such problem"), "no cell"),
        (("--jobs", "0"), "--jobs is 0"),
        (("--time-limit", "-1"), "--time-limit is -1"),
        (("--time-limit", "inf"), "--time-limit is inf"),
        (("--time-limit", "nan"), "--time-limit is nan"),
        (("--memory-limit", "lots"), "--memory-limit is 'lots'"),
        (("--memory-limit", "5"), "--memory-limit is '5'"),
        (("--memory-limit", "99999999999999T"), "--memory-limit is '99999999999999T'"),
        (("--memory-limit", 400 * "9"), "--memory-limit is '999"),
        (("--starts", "0"), "--starts is 0"),
        (("--starts", "2", "--seed", "-1"), "--seed is -1"),
        (("--starts", "2", "--seed", "99999999999"), "--seed is 99999999999"),
        (("--seed", "3"), "--seed needs --starts"),
        (("--repeat", "0"), "--repeat is 0"),
        (("--resume",), "--out"),
        (("--retry-failed",), "--resume"),
        (("--risks", "x.csv"), "--m"),
        (("--compare", "a", "b"), "holds no results"),
        (("--compare", "a", "b", "--suite", "hard"), "--suite cannot be used with --compare"),
        (("--report", "a", "--suite", "hard"), "--suite cannot be used with --report"),
        # With the value that it would have anyway, too.
        (("--report", "a", "--suite", "quick"), "--suite cannot be used with --report"),
        (("--suite", "hard", "--delta", "0.05"), "--delta describes risk files; it needs --risks"),
        (("--report", "a", "--no-report"), "--no-report cannot be used with --report"),
        (("--report", ""), "--report is empty"),
        (("--merge", "a", "--out", "b", "--jobs", "2"), "--jobs cannot be used with --merge"),
        (("--suite", "hard", "--at-most", "a=1"), "--at-most describes risk files; it needs --risks"),
        (("--risks", "x.json", "--m", "9"), "--m needs files of risks; a problem as JSON has its own"),
        (("--suite", "hard", "--m", "3"), "--m describes risk files; it needs --risks"),
        (("--suite", "hard", "--delta", "7"), "--delta describes risk files"),
        (("--suite", "hard", "--distance", "bogus"), "--distance describes risk files"),
        (("--risks", "x.csv", "--m", "9", "--suite", "hard"), "--suite cannot be used with --risks"),
        (("--suite", "hard", "--solvers", "frontier,scip"), "--solvers is 'scip'; the suite 'hard' gives it"),
        (("--suite", "hard", "--constant", "paper"), "--constant describes risk files"),
        (("--risks", "x.csv", "--m", "9", "--order", "3"), "--order needs --divergence renyi"),
        (("--option", "starts"), "--option is 'starts'"),
        (("--solvers", "frontier,ipopt", "--option", "haste=1"), "--option is 'haste'; none of frontier, ipopt has it"),
        (("--report", "a", "--option", "starts=2"), "--option cannot be used with --report"),
        (("--report", "a", "--page", "x.txt"), "--page is 'x.txt'"),
        (("--merge", "a", "b", "--out", "c", "--page", "x.md", "--no-report"), "forms of the report"),
        (("--page", "page.html"), "it must end in '.md'"),
        (("--page", "page.md", "--no-report"), "--no-report"),
        (("--page", "mine.md"), "--page is 'mine.md'; it is no page of ours"),
    ],
    "export": [
        (("nothing-of-that-name",), "'nothing-of-that-name' is neither a suite"),
        (("",), "no problem's name"),
        (("risks.csv",), "a risk file needs --m"),
        (("one-good-01", "--delta", "9"), "--delta describes risk files, and none is given"),
        (("one-good-01", "--at-most", "latency=25"), "--at-most describes risk files, and none is given"),
        (("hard", "--m", "3"), "--m describes risk files"),
        (("one-good-01", "--distance", "bogus"), "--distance describes risk files"),
        ((KL, "--format", "lp"), "has no .lp file, for linear and quadratic rows: its kl is neither"),
        ((KL, "--format", "clarabel"), "its bound is not convex"),
        ((KL, "--format", "clarabel", "--formulation", "lifted"), "the formulation of clarabel is 'lifted'"),
        ((KL, "--format", "mps", "--formulation", "lifted"), "must be one of 'squares', 'touching'"),
        ((KL, "--format", "nl", "--formulation", "touching", "--floors"), "with floors, the formulation is 'touching'"),
        ((KL, "--formulation", "direct"), "--formulation is 'direct'; it must be one of"),
        (("one-good-57-H2000-kl-kl", "--format", "lp", "--formulation", "touching"), "has no quadratic program"),
        *(
            (("wdbc-H50-kl-exact", "--archive", name), "it must end in '.tar.xz'")
            for name in ("wdbc-H50-kl-exact.json", "wdbc-H50-kl-exact.nl", "archive.tar", "wdbc.csv")
        ),
        (("a/x.csv", "b/x.csv", "--m", "50"), "would both be written as 'x-chi2-kl'"),
        (("a/x.csv", "--m", "50", "--archive", "a/x.csv"), "--archive is"),
    ],
    "reproduce": [
        (("tables",), "NAME is 'tables'; it must be 'all', a number such as 'table3', or one of headline"),
        (("table1",), "Table 1 lists formulas; there is nothing to compute"),
        (("table12",), "NAME is 'table12'; the paper has Tables 1 to 9 and Figures 1 to 6."),
        (("figure0",), "NAME is 'figure0'; the paper has"),
        (("table5", "--data", "a"), "--data needs --from-data or --with-cv"),
        (("table5", "--with-cv"), "--with-cv is for the table 'cross-validation', which is not asked for"),
        (("data", "--starts", "0"), "--starts is 0; it must be a whole number of at least 1"),
        (("data", "--seed", "-1"), "--seed is -1"),
        (("data", "--jobs", "0"), "--jobs is 0"),
        (("data", "--out", "mine.md"), "which is a file"),
    ],
}


@pytest.mark.parametrize(
    ("command", "arguments", "named"), [(name, *each) for name, refused in REFUSED.items() for each in refused]
)
def test_bad_input_is_exit_two_and_one_line(command, arguments, named, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, text in (("a/x.csv", "0.1\n0.2\n"), ("b/x.csv", "0.3\n0.4\n"), ("mine.md", "# Mine\n")):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    before = {path: path.read_text() for path in tmp_path.rglob("*.*")}
    if command != "bench" and "--out" not in arguments:
        arguments = (*arguments, "--out", "out")
    assert main([command, *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and named in said.err and not said.out
    assert {path: path.read_text() for path in tmp_path.rglob("*.*")} == before and not Path("out").exists()
