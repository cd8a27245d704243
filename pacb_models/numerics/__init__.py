"""Sums, roots, maxima and rounding that bounds and certificates are computed with."""
