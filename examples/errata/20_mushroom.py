"""Table 2: Mushroom lost a row. Needs the raw file, as 'pacb train mushroom' does."""

from pacb_models.benchmarks.experiments.datasets import load_dataset

mushroom = load_dataset("mushroom")
print("rows and columns          ", *mushroom.X.shape)
print("edible, poisonous         ", *mushroom.class_counts)
print("columns that are not zero ", (mushroom.X.max(axis=0) > 0).sum())
