import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacb_models.benchmarks.experiments.protocols import Sizes, make_protocol, paper_sizes
from pacb_models.errors import InputError

#: Examples, training, validation and test size of the paper's table of data sets.
PAPER_TABLE = [
    (4601, 1840, 1840, 921),
    (345, 138, 138, 69),
    (830, 332, 332, 166),
    (569, 227, 227, 115),
    (5643, 2257, 2257, 1129),
    (351, 140, 140, 71),
    (3308, 1323, 1323, 662),
    (306, 122, 122, 62),
]


@pytest.mark.parametrize(("examples", "training", "validation", "test"), PAPER_TABLE)
def test_sizes_of_the_paper(examples, training, validation, test):
    assert paper_sizes(examples) == Sizes(training, validation, test)


@given(st.integers(5, 200), st.integers(0, 2**32), st.integers(0, 5000), st.sampled_from(["paper", "hold-out"]))
def test_parts_are_disjoint_and_have_their_sizes(examples, seed, classifier, name):
    sizes = paper_sizes(examples)
    protocol = make_protocol(name, sizes, seed)
    training, validation = protocol.parts(classifier)
    learnt = np.flatnonzero(training)
    parts = [set(learnt), set(validation), set(protocol.test_rows)]
    assert [len(part) for part in parts] == [sizes.training, sizes.validation, sizes.test]
    assert set.union(*parts) == set(range(examples))
    assert sorted(protocol.order) == list(range(examples))
    # The kernel's width must not depend on any validation example.
    assert not parts[1] & set(protocol.width_rows)


def test_halves_are_each_classifiers_own_and_reproducible():
    protocol = make_protocol("paper", paper_sizes(200), 7)
    halves = [protocol.parts(classifier)[0] for classifier in range(50)]
    assert len({half.tobytes() for half in halves}) == 50
    again = make_protocol("paper", paper_sizes(200), 7)
    assert np.array_equal(again.parts(31)[0], halves[31])
    assert not np.array_equal(make_protocol("paper", paper_sizes(200), 8).parts(31)[0], halves[31])


@pytest.mark.long
def test_every_example_is_trained_on_as_often_as_any_other():
    protocol = make_protocol("paper", paper_sizes(50), 0)
    counts = sum(protocol.parts(classifier)[0].astype(int) for classifier in range(4000))
    # Binomial(4000, 1/2) has standard deviation 31.6; 40 examples, five deviations.
    assert np.all(np.abs(counts - 2000) < 5 * 31.7)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: paper_sizes(4), "there are 4 examples; at least 5"),
        (lambda: Sizes(10, 0, 5), "each part needs at least one example"),
        (lambda: make_protocol("loo", paper_sizes(10), 0), "protocol is 'loo'; it must be one of 'paper', 'hold-out'"),
    ],
)
def test_bad_input(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
