"""Proofs of random problems of every kind are accepted; with one number changed they are refused, or still true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .attack import BOUNDS, KINDS, attack


@pytest.mark.long
@given(st.sampled_from(BOUNDS), st.sampled_from(KINDS), st.integers(0, 10**9))
def test_proofs_are_accepted_and_changed_ones_claim_no_more_than_the_truth(tmp_path_factory, bound, kind, seed):
    attack(bound, kind, seed, tmp_path_factory.getbasetemp())
