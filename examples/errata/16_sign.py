"""(67c): where kl(L, r) = C the left side is zero, but not with the printed sign."""

from math import log

L, r = 0.1, 0.3
first, second = L * log(L / r), (1 - L) * log((1 - L) / (1 - r))
C = first + second

print(f"printed: {C - first + second:.4f}")
print(f"right:   {C - first - second:.4f}")
