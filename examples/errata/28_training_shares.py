"""Section 8.2 (i): cross-validation trains on more of the data than the PAC-Bayesian scheme, not on less."""

from pacb_models.benchmarks.experiments.protocols import paper_sizes

examples = 4601
sizes = paper_sizes(examples)
kept = examples - sizes.test
print(f"five folds of what is kept  {0.8 * kept / examples:.2f} of the data  (said: 0.20)")
print(f"the PAC-Bayesian scheme     {sizes.training / examples:.2f} of the data  (said: 0.60)")
