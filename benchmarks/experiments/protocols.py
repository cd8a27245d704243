"""Who is trained on what: the division of a table into training, validation and test parts."""

import numpy as np

from pacb_models.errors import InputError
from pacb_models.estimators.tables import Sizes
from pacb_models.validation import check_choice

PROTOCOLS = ("paper", "hold-out")


def paper_sizes(examples: int) -> Sizes:
    """Return the paper's 0.4 : 0.4 : 0.2, rounded as in its table of data sets: down, and the test part takes the rest.

    >>> paper_sizes(569)
    Sizes(training=227, validation=227, test=115)
    """
    if examples < 5:
        raise InputError(f"there are {examples} examples; at least 5 are needed to train, validate and test.")
    part = 2 * examples // 5
    return Sizes(part, part, examples - 2 * part)


def random_stream(seed: int, *key: int) -> np.random.RandomState:
    """Return the random numbers for one purpose, independent of those for any other key, and of the order they are
    asked in.

    NumPy promises never to change what ``RandomState`` draws; the committed risk tables rely on that.
    """
    return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed, spawn_key=key)))


class Protocol:
    """The division of a table, reproducible from the seed.

    With ``"paper"`` every classifier is trained on its own random half of the kept rows and validated on the rest. Half
    of one classifier's validation examples are another's training examples, but each classifier's own two halves are
    disjoint, which is all the bounds need. With ``"hold-out"`` one training and one validation part serve all.

    ``order`` permutes the examples so that those any SVM may learn from (the pool) come first and the test part last.
    """

    def __init__(self, name: str, sizes: Sizes, seed: int):
        self.name, self.sizes, self.seed = name, sizes, seed
        self.own_halves = check_choice("protocol", name, PROTOCOLS) == "paper"
        kept = sizes.total - sizes.test
        self.pool = kept if self.own_halves else sizes.training
        self.test_rows = np.arange(kept, sizes.total)
        permutation = random_stream(seed, 0).permutation(sizes.total)
        # Sorted, so that the training rows keep the order of the data, as a plain X[mask] would.
        parts = np.split(permutation, sorted({self.pool, kept}))
        self.order = np.concatenate([np.sort(part) for part in parts])

    @property
    def width_rows(self) -> np.ndarray:
        """The rows whose *features* may set the kernel's width, which all classifiers share: no validation example."""
        return self.test_rows if self.own_halves else np.arange(self.pool)

    def parts(self, classifier: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what a classifier sees, in that order: its training rows as a mask over the pool, and its validation
        rows."""
        if not self.own_halves:
            return np.ones(self.pool, dtype=bool), np.arange(self.pool, self.pool + self.sizes.validation)
        chosen = random_stream(self.seed, 1, classifier).permutation(self.pool)[: self.sizes.training]
        training = np.zeros(self.pool, dtype=bool)
        training[chosen] = True
        return training, np.flatnonzero(~training)
