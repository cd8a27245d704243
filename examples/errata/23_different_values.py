"""The same quantity with different values in several tables."""

from pacb_models.benchmarks.paper.cells import printed_value

FP, BOUND, ERROR = "fixed-point", "bound", "test_error"


def show(said: str, data: str, *cells: tuple) -> None:
    """Print the values of a quantity side by side."""
    print(f"{said:<40}", *(f"{printed_value(table, data, *cell):.5f}" for table, *cell in cells))


ionosphere = [("fp-vs-solver", 50, FP, BOUND), ("fp-vs-solver", 50, "ipopt", BOUND), ("fp-vs-ccp", 50, FP, BOUND)]
show("Ionosphere, kl, H = 50, bound", "ionosphere", *ionosphere)
for data, quantity in (
    ("ionosphere", BOUND),
    ("haberman", BOUND),
    ("banknote", ERROR),
    ("mushroom", ERROR),
    ("ionosphere", ERROR),
    ("waveform", ERROR),
):
    said = f"{data.capitalize()}, kl, H = 1990, {quantity.replace('_', ' ')}"
    show(said, data, ("bounds", 1990, "kl", quantity), ("fp-vs-solver", 1990, FP, quantity))
wdbc = [("fp-vs-solver", 50, "ipopt", BOUND), ("fp-vs-solver", 50, FP, BOUND)]
show("Wdbc, kl, H = 50, Ipopt and fixed point", "wdbc", *wdbc)
