"""Global methods that know nothing of the bounds' structure: an independent proof of the minimum."""
