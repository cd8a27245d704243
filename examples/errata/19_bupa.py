"""Table 2: Bupa's class is a threshold of one of its features. Needs the raw file, as 'pacb train bupa' does."""

from pacb_models.benchmarks.experiments.datasets import load_dataset

bupa = load_dataset("bupa")
drinks = bupa.X[:, 5]

print("examples of the two classes  ", *bupa.class_counts)
print("the class is drinks >= 3     ", ((drinks >= 3) == bupa.y).all())
