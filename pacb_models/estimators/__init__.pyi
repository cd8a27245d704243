from .certified import CertifiedClassifier as CertifiedClassifier
from .fitted import certify_models as certify_models
from .stochastic import StochasticClassifier as StochasticClassifier
from .stochastic import StochasticSVC as StochasticSVC
