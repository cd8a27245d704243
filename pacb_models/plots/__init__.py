"""Pictures in scikit-learn's style: ``SomethingDisplay.from_…(…)`` computes, ``plot(ax=None)`` draws, both return it.

They need matplotlib, which is imported when something is drawn. ``display.save("file.svg")`` writes the picture.
"""

from .certificate import CertificateDisplay as CertificateDisplay
from .certificate import ChoiceDisplay as ChoiceDisplay
from .certificate import MonitorDisplay as MonitorDisplay
from .palette import PaletteDisplay as PaletteDisplay
from .parameters import DivergenceDisplay as DivergenceDisplay
from .parameters import SolutionPathDisplay as SolutionPathDisplay
from .path import PathDisplay as PathDisplay
from .solutions import ConvergenceDisplay as ConvergenceDisplay
from .solutions import PosteriorDisplay as PosteriorDisplay
