"""The same quantity with different values: the kl bound of Ionosphere, H = 50."""

from pacb_models.benchmarks.paper.printed import printed_value

print("Table 6, fixed point ", printed_value("fp-vs-solver", "ionosphere", "bound_fp_H50"))
print("Table 6, solver      ", printed_value("fp-vs-solver", "ionosphere", "bound_solver_H50"))
print("Table 8              ", printed_value("fp-vs-ccp", "ionosphere", "bound_fp"))
