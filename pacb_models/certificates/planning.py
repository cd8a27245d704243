"""How many held-out examples a guarantee needs, before any are collected."""

from __future__ import annotations

from bisect import bisect_left

from ..constants import LARGEST_SAMPLE_SIZE
from ..errors import InputError
from ..validation import check_count, check_delta, check_fraction
from .limits import limit, uniform_level


def sample_size(
    target: float, expected_risk: float, candidates: int = 1, delta: float = 0.05, *, chance: float = 0.5
) -> int:
    r"""The number of held-out examples with which a classifier is guaranteed to err at most ``target`` of the time.

    Parameters
    ----------
    target : float
        The bound that is wanted.
    expected_risk : float
        The probability of an error that the best classifier probably has; below ``target``.
    candidates : int
        How many classifiers are certified at once (:func:`certify`); 1 for one that is fixed or chosen beforehand.
    delta : float
    chance : float
        The bound is at most ``target`` with this probability, if the risk is the expected one. 0.5 is about what the
        expected number of errors gives; take 0.8 or 0.9 to be safer.

    Examples
    --------
    >>> import pacb_models as pm
    >>> pm.sample_size(0.05, expected_risk=0.03, candidates=20)
    818
    >>> pm.sample_size(0.01, expected_risk=0.0)  # no errors: -ln(0.05)/0.01, about 300
    299
    """
    goal, risk, wanted = (
        check_fraction(name, value)
        for name, value in (("target", target), ("expected_risk", expected_risk), ("chance", chance))
    )
    if not 0.0 < goal < 1.0 or not 0.0 < wanted < 1.0:
        name, value = ("chance", chance) if 0.0 < goal < 1.0 else ("target", target)
        raise InputError(f"{name} is {value!r}; it must lie strictly between 0 and 1.")
    if risk >= goal:
        raise InputError(
            f"expected_risk is {expected_risk!r}, but target is {target!r}; no number of examples shows that."
        )
    level = uniform_level(check_delta(delta), check_count("candidates", candidates))
    # With k errors the target is reached from m(k) examples on, and m(k) is also where so few errors are likeliest.
    errors = bisect_left(range(LARGEST_SAMPLE_SIZE), True, key=lambda k: _likely(k, goal, risk, level, wanted))
    examples = _examples(errors, goal, level)
    if examples > LARGEST_SAMPLE_SIZE:
        raise InputError("target", target, f"it would take more than {LARGEST_SAMPLE_SIZE} examples")
    return examples


def _likely(errors: int, target: float, risk: float, level: float, chance: float) -> bool:
    """Whether there are at most so many errors among as many examples as they need, with the wanted probability; true
    where that would be too many examples."""
    from scipy.special import bdtr

    examples = _examples(errors, target, level)
    return examples > LARGEST_SAMPLE_SIZE or bool(bdtr(errors, examples, risk) >= chance)


def _examples(errors: int, target: float, level: float) -> int:
    """The smallest number of examples among which so many errors have a limit of at most the target."""
    sizes = range(LARGEST_SAMPLE_SIZE + 1)
    return bisect_left(sizes, True, lo=errors + 1, key=lambda m: limit(float(errors), float(m), level) <= target)
