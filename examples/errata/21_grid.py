"""Sections 1, 7 and 8.2: the grid of λ in the text has too few values, and not those of Table 4."""

from pacb_models.estimators.grids import arithmetic_geometric_grid, lambda_grid

text, used = arithmetic_geometric_grid(), lambda_grid("paper")
for name, grid in (("in the text", text), ("0.10, 0.11, ...", used)):
    chosen = [value for value in (0.14, 2.31, 3.16, 9.02) if min(abs(grid - value)) < 1e-9]
    print(f"{name:<16} {len(grid):4} values up to {max(grid):g}; λ* of Table 4 on it: {chosen or 'none'}")
