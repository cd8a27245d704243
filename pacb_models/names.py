"""Which distances, divergences and constants exist. Nothing is imported for it, so that help can be printed at once."""

#: The distances that have a bound, for each divergence.
DISTANCES = {
    "chi2": ("linear", "squared", "kl"),
    "renyi": ("linear", "squared", "kl"),
    "kl": ("linear", "squared", "kl", "pinsker", "ch", "relative"),
}
#: The true supremum, that of the one-sided distance, or the figure the paper (for KL its companion) uses.
CONSTANTS = ("exact", "one-sided", "paper")
