"""Binomial tails in sixty digits, summed term by term."""

import mpmath as mp

_BITS = 260


def log_tail(k: int, m: int, l: mp.mpf, share: float = 1.0) -> mp.mpf:
    """ln(P(B < k) + share P(B = k)), B ~ Binomial(m, l), where the tail falls fast enough to be summed."""
    with mp.workdps(60):
        l = mp.mpf(l)
        c = 1 - l
        mass = mp.loggamma(m + 1) - mp.loggamma(k + 1) - mp.loggamma(m - k + 1) + k * mp.log(l) + (m - k) * mp.log(c)
        odds = int(mp.floor(c / l * mp.mpf(2) ** _BITS))
        term, total = 1 << _BITS, 0
        for j in range(k):
            term = (term * odds >> _BITS) * (k - j) // (m - k + j + 1)
            total += term
            if term < total >> 220:
                break
        return mass + mp.log(mp.mpf(total) / mp.mpf(1 << _BITS) + share)


def log_upper_tail(k: int, m: int, l: mp.mpf) -> mp.mpf:
    """ln P(B > k)."""
    return log_tail(m - k - 1, m, 1 - mp.mpf(l))
