"""Pictures: the numbers they show against other computations, the files, and what is refused."""

import subprocess
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import pacb_models as pm
from pacb_models.benchmarks.problems.risks import load_risk_table
from pacb_models.plots import (
    CertificateDisplay,
    ConvergenceDisplay,
    DivergenceDisplay,
    PathDisplay,
    PosteriorDisplay,
    SolutionPathDisplay,
)
from pacb_models.plots.palette import SOLVERS, Palette
from pacb_models.plots.path import frontier_curve, place_of
from pacb_models.solving.registry import solver_names

TWO_MINIMA = pm.BoundProblem([0.0] + [0.5] * 60, m=30, delta=0.05, distance="squared")
KINDS = [("chi2", "linear"), ("chi2", "squared"), ("chi2", "kl"), ("renyi", "kl"), ("kl", "kl"), ("kl", "squared")]


@pytest.mark.parametrize(("divergence", "distance"), KINDS)
def test_no_posterior_is_below_the_curve(divergence, distance):
    """At the empirical risk of any posterior the curve is no higher than its bound."""
    random = np.random.default_rng(3)
    prior = random.dirichlet(np.ones(12))
    problem = pm.BoundProblem(random.random(12), 60, 0.05, distance, divergence, prior, order=3.0)
    curve = frontier_curve(problem)
    assert curve.risk[0] == pytest.approx(problem.empirical_risk(problem.prior), rel=1e-14)
    assert curve.risk[-1] == pytest.approx(problem.risks.min(), abs=1e-12)
    assert np.all(np.diff(curve.risk) <= 1e-15)
    for concentration in (0.05, 0.3, 1.0, 5.0):
        for q in random.dirichlet(concentration * np.ones(12), 40):
            risk = problem.empirical_risk(q)
            if curve.risk[-1] <= risk <= curve.risk[0]:
                on_curve = np.interp(risk, curve.risk[::-1], curve.bound[::-1])
                assert problem.bound(q) >= on_curve - 2e-4 * np.ptp(curve.bound)


def test_the_path_shows_every_minimum_and_every_solver():
    solutions = [pm.solve(TWO_MINIMA, name) for name in ("fixed-point", "subset-search")]
    display = PathDisplay.from_problem(TWO_MINIMA, solutions).plot()
    assert [round(minimum.bound, 4) for minimum in display.minima] == [0.7061, 0.7264]
    curve = display.curve
    lowest = [k for k in range(1, len(curve.bound) - 1) if curve.bound[k] < min(curve.bound[k - 1], curve.bound[k + 1])]
    assert len(lowest) == 1  # the other minimum is the end of the path
    assert curve.bound[lowest[0]] == pytest.approx(display.minima[1].bound, abs=1e-4)
    assert curve.bound[-1] == pytest.approx(display.minima[0].bound, abs=1e-12)
    assert display.title() == "The bound has 2 local minima; 1 of 2 solvers did not find the best"
    labels = [text.get_text() for text in display.ax_.texts]
    assert labels == ["prior", "fixed-point:\nlocal minimum 2 of 2, 0.02 above", "subset-search:\nthe minimum 0.7061"]
    assert np.diff(curve.risk).min() >= -np.ptp(curve.risk) / 100


def test_solvers_in_one_point_share_a_mark_that_nothing_hides():
    """Two in the local minimum, two in the best, one at neither, and one that returned nothing."""
    local, best = pm.solve(TWO_MINIMA, "fixed-point"), pm.solve(TWO_MINIMA)
    prior = TWO_MINIMA.prior
    elsewhere = replace(local, bound=TWO_MINIMA.bound(prior) + 0.01, empirical_risk=TWO_MINIMA.empirical_risk(prior))
    nothing = replace(local, posterior=None, bound=np.nan, empirical_risk=np.nan)
    found = {"a": local, "b": best, "c": local, "d": best, "e": elsewhere, "f$x": nothing}
    display = PathDisplay.from_problem(TWO_MINIMA, found).plot()
    assert [(end.names, end.place) for end in display.ends] == [
        (["a", "c"], "local minimum 2 of 2"),
        (["b", "d"], "the minimum"),
        (["e"], "no minimum"),
        (["f$x"], "no posterior"),
    ]
    assert display.title() == "The bound has 2 local minima; 4 of 6 solvers did not find the best"
    marks = [line for line in display.ax_.get_lines() if line.get_markerfacecolor() == "none"]
    assert len(marks) == 4
    display.figure_.draw_without_rendering()
    [left, bottom, right, top] = display.figure_.bbox.extents
    words = [text.get_window_extent() for text in display.ax_.texts]
    assert all(left <= box.x0 and bottom <= box.y0 and box.x1 <= right and box.y1 <= top for box in words)
    assert not any(one.overlaps(other) for k, one in enumerate(words) for other in words[:k])
    assert "f\\$x:\nno posterior" in [text.get_text() for text in display.ax_.texts]


def test_points_of_the_path_that_are_no_minima():
    problem = pm.BoundProblem([0.1, 0.2, 0.3, 0.1], m=50, distance="linear")
    optimum = pm.solve(problem)
    assert optimum.support_size == 4 and not optimum.local_minima
    path = PathDisplay.from_problem(problem)

    def place(bound, risk):
        return place_of(path.minima, path.curve, bound, risk)

    for q, words in ((problem.prior, "the prior"), ([0.5, 0.0, 0.0, 0.5], "all weight on the smallest risk")):
        assert place(problem.bound(q), problem.empirical_risk(q)) == words
    assert place(optimum.bound + 5e-7, optimum.empirical_risk) == "next to the minimum"
    assert place(optimum.bound + 5e-7, np.nan) == "next to the minimum"
    # The same bound at another risk is another point.
    assert place(optimum.bound, optimum.empirical_risk + 0.2) == "no minimum"
    one_risk = PathDisplay.from_problem(pm.BoundProblem([0.2, 0.2, 0.2], m=40)).plot()
    assert len(one_risk.curve.risk) == 1 and one_risk.title() == "The bound has one minimum"


@pytest.mark.parametrize("cumulative", [False, True])
def test_posteriors_are_drawn_in_the_order_of_their_risks(cumulative):
    table = load_risk_table("wdbc")
    problem = pm.BoundProblem(table.risks(80), m=table.m)
    found = {"one": pm.solve(problem), "two": pm.solve(problem.replace(divergence="kl"))}
    display = PosteriorDisplay.from_solutions(problem, found, cumulative).plot()
    order = np.argsort(problem.risks, kind="stable")
    drawn = {line.get_label(): line for line in display.ax_.get_lines()}
    for name, solution in found.items():
        weights = solution.posterior[order]
        # The mass rises from zero.
        start = [0.0] if cumulative else []
        expected = np.cumsum(weights) if cumulative else weights * problem.size
        np.testing.assert_allclose(drawn[name].get_ydata(), [*start, *expected], rtol=1e-12)
        np.testing.assert_array_equal(drawn[name].get_xdata()[len(start) :], problem.risks[order])
    with pytest.raises(pm.InputError, match="has no posterior over the problem's 3 classifiers"):
        PosteriorDisplay.from_solutions(pm.BoundProblem([0.1, 0.2, 0.3], m=9), found)


def test_certificates_show_the_best_candidates():
    errors = np.random.default_rng(0).integers(20, 90, 60)
    certificate = pm.certify(errors, m=500, names=[f"candidate {k}" for k in range(60)])
    display = CertificateDisplay.from_certificate(certificate, most=7).plot()
    assert len(display.shown) == 7 and display.shown[0] == certificate.single
    assert np.all(np.diff(certificate.single_bounds[display.shown]) >= 0.0)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [f"candidate {k}" for k in display.shown]
    assert display.title().startswith("With probability at least 0.95 over the examples,\ncandidate ")
    assert "errs with probability at most" in display.title()
    of_losses = CertificateDisplay.from_certificate(pm.certify(losses=[3.5, 4.2], m=10)).plot()
    assert "has an expected loss of at most" in of_losses.title() and of_losses.ax_.get_xlabel() == "expected loss"


def test_names_are_shown_as_they_are_and_cut_where_they_are_long(tmp_path):
    certificate = pm.certify([3, 4, 5], m=10, names=["a$b_c$\n", "x" * 200, "$\\nonsense{$"])
    display = CertificateDisplay.from_certificate(certificate)
    display.save(tmp_path / "names.png")
    figure = display.figure_
    assert figure.get_suptitle() == display.title()
    figure.draw_without_rendering()
    seen = figure.get_tightbbox()
    assert seen.xmin >= 0.0 and seen.xmax <= figure.get_figwidth(), "something is cut off"
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [r"a\$b_c\$\n", "x" * 31 + "…", r"\$\nonsense{\$"]


def test_what_cannot_be_drawn_is_one_sentence():
    problem = pm.BoundProblem([0.1, 0.2], m=50)
    attempts = {
        "solutions is empty": lambda: PosteriorDisplay.from_solutions(problem, []),
        "solutions holds 3": lambda: PathDisplay.from_problem(problem, {"a": 3}),
        "solutions holds 4": lambda: PosteriorDisplay.from_solutions(problem, [4]),
        "there is nothing to draw": lambda: ConvergenceDisplay.from_solvers(problem, []),
        "option 'trace' is unknown": lambda: ConvergenceDisplay.from_solvers(problem, ["frontier"]),
        "values must be a list of numbers": lambda: DivergenceDisplay.from_problem(problem, "delta", []),
        "bounds name at least one": lambda: DivergenceDisplay.from_problem(problem, "delta", 0.05),
        "it must be what pm.certify returned": lambda: CertificateDisplay.from_certificate("x"),
        "it must be what pm.path returned": lambda: SolutionPathDisplay.from_path("x"),
        "problem is .x.; it must be a problem": lambda: DivergenceDisplay.from_problem("x"),
    }
    for words, attempt in attempts.items():
        with pytest.raises(pm.InputError, match=words):
            attempt()


@pytest.mark.outside
def test_without_matplotlib_the_error_says_what_to_install(tmp_path):
    """In a process of its own, where the module cannot be imported."""
    script = """
import sys
sys.modules["matplotlib"] = None
import pacb_models as pm
from pacb_models.commands.program import main
try:
    pm.certify([3], 10).plot()
except pm.InputError as reason:
    print(reason)
open("counts.csv", "w").write("errors\\n3\\n")
sys.exit(main(["certify", "counts.csv", "--m", "10", "--plot", "x.svg"]))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    wanted = "pictures need matplotlib, which is not installed: pip install matplotlib.\n"
    assert done.stdout == wanted and done.stderr == f"pacb certify: {wanted}"


@pytest.mark.parametrize("against", ["iterations", "seconds"])
def test_traces_end_at_the_minimum(against):
    table = load_risk_table("ionosphere")
    problem = pm.BoundProblem(table.risks(50), m=table.m)
    display = ConvergenceDisplay.from_solvers(problem, ["fixed-point", "ccp", "cyipopt", "ipopt"], against).plot()
    for name, trace in display.traces.items():
        iterations, seconds, gaps = trace.T
        assert len(trace) == display.solutions[name].iterations + 1, name
        assert np.all(np.diff(seconds) >= 0.0) and gaps[0] > 1e-5 and gaps[-1] < 1e-9, name
        np.testing.assert_array_equal(iterations, np.arange(len(trace)))
    assert display.title() == "Every method comes within 1e-9 of the minimum"
    assert display.ax_.get_xlabel() == against
    with pytest.raises(pm.InputError, match="solution 'frontier' has no trace; solve with trace=True"):
        ConvergenceDisplay.from_solutions(problem, pm.solve(problem))


@pytest.mark.parametrize(("parameter", "values"), [("delta", [0.2, 0.01]), ("m", [50, 500]), ("order", [1.5, 2.0])])
def test_bounds_against_a_parameter(parameter, values):
    problem = pm.BoundProblem([0.1, 0.12, 0.3], m=100)
    display = DivergenceDisplay.from_problem(problem, parameter, values).plot()
    for name, bounds in display.minima.items():
        changes = {"Rényi, kl": {"divergence": "renyi"}, "χ², kl": {}, "KL, kl": {"divergence": "kl"}}.get(name)
        if changes is not None:
            expected = [pm.solve(problem.replace(**changes, **{parameter: value})).bound for value in values]
            np.testing.assert_array_equal(bounds, expected)


def test_a_solver_looks_the_same_in_every_picture():
    """Each of ours has a look of its own, whoever else is in the picture; other names have one by their name."""
    looks = list(SOLVERS.values())
    assert set(solver_names()) <= set(SOLVERS) and len(set(looks)) == len(looks)
    pictured = [Palette(names) for names in (["mine", "ccp"], ["ccp", "ipopt starts=5", "mine", "ipopt"], ["ccp"])]
    assert len({str(palette["ccp"]) for palette in pictured}) == 1
    assert pictured[0]["mine"] == pictured[1]["mine"]
    assert pictured[1]["ipopt"]["color"] == pictured[1]["ipopt starts=5"]["color"] != pictured[1]["mine"]["color"]
    assert pictured[1]["ipopt"] != pictured[1]["ipopt starts=5"]
    crowd = Palette([f"curve {number}" for number in range(40)])
    assert len({str(crowd[f"curve {number}"]) for number in range(40)}) == 40


def test_axes_of_the_caller_are_used_and_nothing_global_changes():
    before = dict(matplotlib.rcParams)
    ax = Figure().add_subplot()
    assert PathDisplay.from_problem(TWO_MINIMA).plot(ax).ax_ is ax
    assert dict(matplotlib.rcParams) == before


@pytest.mark.long
@pytest.mark.parametrize(("ending", "head"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_files(tmp_path, ending, head):
    path = tmp_path / f"picture.{ending}"
    written = []
    for _ in range(2):
        PathDisplay.from_problem(TWO_MINIMA).save(path)
        written.append(path.read_bytes())
    assert written[0].startswith(head) and written[0] == written[1]


def test_the_command_line_draws(tmp_path, monkeypatch, pacb, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "risks.csv").write_text("risk\n0.0\n" + "0.5\n" * 60)
    problem = "risks.csv --m 30 --distance squared"
    pacb(f"solve {problem} --plot path.svg")
    pacb(f"check {problem} --solvers frontier,fixed-point --plot check.png", code=1)
    assert (tmp_path / "path.svg").is_file() and (tmp_path / "check.png").is_file()
    refused("'path.docx'", f"solve {problem} --plot path.docx")
    (tmp_path / "counts.csv").write_text("name,errors\na,3\nb,5\n")
    refused("cannot be written", "certify counts.csv --m 40 --plot counts.csv/x.svg")


@pytest.mark.outside
def test_a_matplotlibrc_in_the_current_directory_changes_no_picture(tmp_path):
    """Neither one that matplotlib could not read, nor one that asks for another look."""
    (tmp_path / "risks.csv").write_text("0.1\n0.2\n0.3\n")
    pictures = []
    for content in (None, b"font.size: 40\ntext.usetex: True\naxes.facecolor: red\n", b"\xff\xfe broken"):
        if content is not None:
            (tmp_path / "matplotlibrc").write_bytes(content)
        words = ["-m", "pacb_models", "solve", "risks.csv", "--m", "50", "--plot", "path.svg"]
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        pictures.append((tmp_path / "path.svg").read_bytes())
    assert pictures[0] == pictures[1] == pictures[2]
