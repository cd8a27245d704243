"""What is printed as a guarantee must be implied by the number that was computed."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pacb_models.wording import at_least, at_most, confidence_text, delta_text

digits = st.integers(2, 12)


def number(text: str) -> Fraction:
    """The number that a reader sees."""
    whole, _, lacking = text.partition(" - ")
    return Fraction(whole) - Fraction(lacking or 0)


@given(st.floats(0.0, 1e12), digits)
@example(1.7366e-9, 4)
@example(0.99996, 4)
@example(5e-324, 4)
def test_bounds_are_rounded_outward_and_hardly(bound, digits):
    exact, hardly = Fraction(bound), Fraction(bound) * Fraction(10) ** (1 - digits)
    assert exact <= number(at_most(bound, digits)) <= exact + hardly
    assert exact - hardly <= number(at_least(bound, digits)) <= exact


@given(st.floats(0.0, 1.0, exclude_min=True, exclude_max=True), digits)
@example(4e-7, 4)
@example(1e-17, 4)
@example(5e-324, 4)
@example(math.nextafter(1.0, 0.0), 4)
def test_confidence_is_rounded_down_and_hardly(delta, digits):
    meant = Fraction(repr(delta))
    shown = number(confidence_text(delta, digits))
    assert shown <= 1 - meant
    assert shown < 1
    assert 1 - meant - shown <= Fraction(10) ** (1 - digits) * min(meant, 1 - meant)
    assert meant <= Fraction(delta_text(delta, digits)) <= meant * (1 + Fraction(10) ** (1 - digits))


@pytest.mark.parametrize(
    ("delta", "text"),
    [(0.05, "0.95"), (0.1, "0.9"), (0.01, "0.99"), (0.5, "0.5"), (4e-7, "0.9999996"), (0.0123456, "0.98765")],
)
def test_confidence_reads_as_typed(delta, text):
    assert confidence_text(delta) == text


@pytest.mark.parametrize(("bound", "text"), [(0.0, "0"), (math.inf, "inf"), (1.3, "1.301"), (0.25, "0.25")])
def test_bounds_read_well(bound, text):
    assert at_most(bound) == text
