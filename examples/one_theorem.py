"""Draw the proof of a global minimum: the frontier, its supporting lines, and the vertices of the polygon they cut out.

    python examples/one_theorem.py

writes one-theorem.svg, the picture of docs/story.md. NumPy makes the lines; the checker of the package takes them.
"""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import pacb_models as pm
from pacb_models.plots.style import BLACK, BLUE, GREY, VERMILION

matplotlib.rcParams["svg.hashsalt"] = "pacb"


PROBLEM = pm.BoundProblem.from_counts([0] + 10 * [13] + 200 * [22], m=50, delta=0.1, distance="kl")
RISKS, PRIOR = PROBLEM.risks, PROBLEM.prior


def frontier(mu: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (L, T) of the frontier and the slopes of the lines T + gamma L = gamma mu that touch it there."""
    above = np.maximum(mu[:, None] - RISKS, 0.0)
    first, second = above @ PRIOR, above**2 @ PRIOR
    return mu - second / first, np.sqrt(second) / first, second**-0.5


def vertices(mu: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where neighbouring lines meet; the last line ends at the smallest risk, the first at the size of the prior."""
    L = (gamma[:-1] * mu[:-1] - gamma[1:] * mu[1:]) / (gamma[:-1] - gamma[1:])
    T = gamma[1:] * (mu[1:] - L)
    ends = mu[-1] - 1.0 / gamma[-1], RISKS.min()
    return np.r_[ends[1], L, ends[0]], np.r_[gamma[0] * (mu[0] - ends[1]), T, 1.0]


def refined(mu: np.ndarray, level: float) -> np.ndarray:
    """More lines, until the bound of every vertex is at the level."""
    while True:
        low = np.flatnonzero(PROBLEM.bound_at(*vertices(mu, frontier(mu)[2])) < level)
        if not low.size:
            return mu
        padded = np.r_[mu[0] / 2.0, mu, 2.0 * mu[-1]]
        mu = np.unique(np.r_[mu, np.sqrt(padded[low] * padded[low + 1])])


def main() -> None:
    """Print what the lines prove, and draw it."""
    best = pm.solve(PROBLEM)
    level = best.bound - 1e-3
    few = np.geomspace(0.05, 3.0, 5)
    many = refined(few, level)
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    curve_L, curve_T, _ = frontier(np.geomspace(1e-3, 1e3, 4000))
    across, up = np.meshgrid(np.linspace(0.0, 0.46, 300), np.linspace(0.9, 8.0, 300))
    for ax, mu in zip(figure.subplots(1, 2, sharey=True), (few, many), strict=True):
        _, _, gamma = frontier(mu)
        L, T = vertices(mu, gamma)
        low = PROBLEM.bound_at(L, T) < level
        proven = min(PROBLEM.bound_at(L, T).min(), best.bound)
        print(f"{mu.size} lines prove that no bound is below {proven:.4f}")
        x = np.array([0.0, 0.5])
        for slope, offset in zip(gamma, mu, strict=True):
            ax.plot(x, slope * (offset - x), color=GREY, lw=0.6)
        ax.contour(across, up, PROBLEM.bound_at(across, up), [best.bound], colors=BLUE, linewidths=1.2)
        ax.plot(curve_L, curve_T, color=BLACK, lw=1.8)
        ax.fill_between(np.r_[curve_L, 0.5], np.r_[curve_T, 1.0], 20.0, color="#eeeeee", lw=0)
        ax.plot(L[~low], T[~low], "o", color=GREY, ms=3.5)
        ax.plot(L[low], T[low], "o", color=VERMILION, ms=6)
        ax.plot(best.empirical_risk, PROBLEM.divergence_size(best.posterior), "*", color=VERMILION, ms=13)
        ax.set(xlim=(0.0, 0.46), ylim=(0.9, 8.0), xlabel="empirical risk L")
        ax.set_title(f"{mu.size} lines: no bound is below {proven:.3f}", fontsize=10)
    left, right = figure.axes
    left.set_ylabel("size T of the divergence")
    left.text(0.27, 5.0, "posteriors", color=GREY)
    left.text(0.305, 3.35, "frontier", color=BLACK)
    left.text(0.195, 2.3, f"bound = {best.bound:.3f}", color=BLUE, ha="right")
    left.annotate("", (0.315, 2.3), (0.2, 2.37), arrowprops={"arrowstyle": "-", "color": BLUE, "lw": 0.7})
    left.text(0.1, 1.75, "a vertex below this level:\nthe proof is open", color=VERMILION, va="center", fontsize=9)
    left.annotate("", (0.338, 1.15), (0.265, 1.7), arrowprops={"arrowstyle": "->", "color": VERMILION, "lw": 0.9})
    right.text(0.215, 5.1, "the best posterior", color=VERMILION)
    right.text(0.03, 1.95, "supporting lines", color=GREY)
    figure.savefig("one-theorem.svg", metadata={"Date": None})
    print(f"a posterior has the bound {best.bound:.4f}")


if __name__ == "__main__":
    main()
