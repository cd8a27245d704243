"""Tables 6 and 7, Waveform: the cells of H = 200 are swapped between the tables."""

from pacb_models.benchmarks.paper.cells import printed_value

print("H                50      200      500")
for name, quantity in (("bound", "bound"), ("test error", "test_error")):
    values = [printed_value("fp-vs-solver", "waveform", H, "fixed-point", quantity) for H in (50, 200, 500)]
    print(f"{name:<10}  {values[0]:.5f}  {values[1]:.5f}  {values[2]:.5f}")
