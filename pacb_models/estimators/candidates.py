"""What may be deployed: weighted votes of the members, and the members themselves, all fixed before they are judged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..certificates.predictions import VOTE_SHARE
from ..certificates.votes import Tally, vote_shares, vote_weights

#: Votes weigh a member by exp(-rate · its cross-validation errors): from the plain majority to almost the best alone.
RATES = (0.0, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A predictor that may be deployed: the vote of the members with these weights (a single one has all of it)."""

    name: str
    weights: np.ndarray

    @property
    def is_vote(self) -> bool:
        return self.voters.size > 1

    @property
    def voters(self) -> np.ndarray:
        """Indices of the members that have a say."""
        return np.flatnonzero(self.weights)


def all_candidates(names: Sequence[str], errors: np.ndarray, rates: Sequence[float]) -> list[Candidate]:
    """Return the votes with weights that fall with the members' errors, one for each rate, and each member alone."""
    kinds = ["equal weights" if rate == 0.0 else f"weights exp(-{rate:g} x cross-validation errors)" for rate in rates]
    of_votes = [f"vote of {len(names)}, {kind}" for kind in kinds]
    weights = [*(vote_weights(errors, rate) for rate in rates), *np.eye(len(names))]
    return [Candidate(name, own) for name, own in zip([*of_votes, *names], weights, strict=True)]


class Poll(NamedTuple):
    """What candidates say of some rows: their class indices (C × n), and the shares of the votes for these (C × n)."""

    choices: np.ndarray
    shares: np.ndarray


def poll(candidates: Sequence[Candidate], opinions: Iterable[np.ndarray], rows: int, classes: int) -> Poll:
    """Ask every candidate; ``opinions`` come from all members in turn and are not kept."""
    result = Poll(np.empty((len(candidates), rows), dtype=np.int32), np.empty((len(candidates), rows)))
    weights = np.array([candidate.weights for candidate in candidates])
    last = [candidate.voters[-1] for candidate in candidates]
    tallies: dict[int, Tally] = {}
    for member, opinion in enumerate(opinions):
        for index in np.flatnonzero(weights[:, member]).tolist():
            tallies.setdefault(index, Tally(rows, classes)).add(weights[index, member], opinion)
            if member == last[index]:
                shares = tallies.pop(index).shares
                result.choices[index], result.shares[index] = shares.argmax(axis=1), shares.max(axis=1)
    return result


def cross_validation_errors(
    opinions: Sequence[np.ndarray], y: np.ndarray, folds: Sequence[np.ndarray], classes: int, rates: Sequence[float]
) -> np.ndarray:
    """Return errors of the votes and of the members on examples that neither their fits nor their weights have seen.

    ``opinions`` are the members', out of fold, of examples with class indices ``y``; ``folds`` the indices of each
    fold's examples. A vote's weights come from the errors in the other folds, raised to the number of all examples:
    weights that had seen the errors they are judged by would make a large rate look better than it is.
    """
    wrong = np.array([(opinion if opinion.ndim == 1 else opinion.argmax(axis=1)) != y for opinion in opinions])
    errors = np.count_nonzero(wrong, axis=1)
    votes = np.zeros(len(rates), dtype=errors.dtype)
    for fold in folds:
        elsewhere = errors - np.count_nonzero(wrong[:, fold], axis=1)
        scale = len(y) / max(len(y) - len(fold), 1)
        for index, rate in enumerate(rates):
            of_fold = (opinion[fold] for opinion in opinions)
            shares = vote_shares(vote_weights(scale * elsewhere, rate), of_fold, len(fold), classes)
            votes[index] += np.count_nonzero(shares.argmax(axis=1) != y[fold])
    return np.concatenate([votes, errors])


def default_prior(votes: int, singles: int, errors: np.ndarray | None) -> np.ndarray:
    """0.8 on the votes and 0.2 on the single members, each with a preference by cross-validation; without it half and
    half, so that neither side pays more than a factor of two in delta.

    Among the votes nearly everything is on one: the smallest rate whose errors are within one standard error of the
    fewest, since equal weights are the safe choice where cross-validation cannot tell. Among the singles half is on the
    first with the fewest errors, which most people would have chosen; the weight of a quarter halves with every 1.4
    errors, and a quarter is even, so that no weight is so small that a single could never be deployed.
    """
    together, alone = (np.full(size, 1.0 / max(size, 1)) for size in (votes, singles))
    if errors is not None:
        best = np.arange(singles) == int(np.argmin(errors[votes:]))
        alone = 0.5 * best + 0.25 * vote_weights(errors[votes:], 0.5) + 0.25 * alone
    if votes == 0:
        return alone
    if errors is not None:
        fewest = errors[:votes].min()
        preferred = int(np.argmax(errors[:votes] <= fewest + np.sqrt(fewest)))
        together = 0.95 * (np.arange(votes) == preferred) + 0.05 * together
    share = VOTE_SHARE if errors is None else 0.8
    return np.concatenate([share * together, (1.0 - share) * alone])
