"""scikit-learn estimators with a certificate of their risk, and what they are made of."""

import lazy_loader

# The estimators import scikit-learn; grids must not have to wait for it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
