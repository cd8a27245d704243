"""Names that were retired work for one more version, and say what to use instead."""

import warnings

import pytest

import pacb_models as pm


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [("validation_examples", "m", 549), ("classifiers", "errors.size", 3), ("support", "support_size", 2)],
)
def test_the_certificate_of_the_first_version(old, new, value):
    certificate = pm.certify([4, 4, 9], 549)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert getattr(certificate, old) == value
    [warning] = caught
    assert issubclass(warning.category, FutureWarning)
    assert str(warning.message) == (
        f"Certificate.{old} is deprecated and will be removed in version 0.3; use Certificate.{new}."
    )
    assert warning.filename == __file__, "it points to the line that uses the name"
