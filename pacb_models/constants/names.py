"""What is said to who asks for a distance, divergence, constant or sample size that does not exist."""

from __future__ import annotations

import numbers

from ..errors import InputError
from ..names import CONSTANTS, DISTANCES
from ..validation import check_choice

LARGEST_SAMPLE_SIZE = 10**9


def check_names(distance: str, divergence: str, constant: str) -> None:
    """Raise InputError unless the three names exist and go together."""
    check_choice("divergence", divergence, tuple(DISTANCES))
    check_choice("distance", distance, DISTANCES["kl"])  # the divergence that has them all
    check_choice("constant", constant, CONSTANTS)
    if distance not in DISTANCES[divergence]:
        combinations = "; ".join(f"{name}: {', '.join(distances)}" for name, distances in DISTANCES.items())
        raise InputError(
            f"distance is {distance!r}, which divergence {divergence!r} does not have; "
            f"the combinations are {combinations}."
        )
    if constant == "paper" and divergence == "renyi":
        raise InputError("constant is 'paper', which exists only for the divergences 'chi2' and 'kl', not for 'renyi'.")


def check_sample_size(m: object, name: str = "m") -> int:
    """A sample size: a whole number from 1 to 10^9."""
    if isinstance(m, bool) or not isinstance(m, numbers.Integral) or not 1 <= int(m) <= LARGEST_SAMPLE_SIZE:
        raise InputError(f"{name} is {m!r}; a sample size must be a whole number from 1 to 1000000000.")
    return int(m)
