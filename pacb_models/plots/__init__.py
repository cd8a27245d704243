"""Pictures in scikit-learn's style: ``SomethingDisplay.from_…(…)`` computes, ``plot(ax=None)`` draws, both return it.

They need matplotlib, which is imported when something is drawn. ``display.save("file.svg")`` writes the picture.
"""

from __future__ import annotations

from .certificate import CertificateDisplay, ChoiceDisplay, MonitorDisplay
from .convergence import ConvergenceDisplay
from .divergence import DivergenceDisplay
from .palette import PaletteDisplay
from .path import PathDisplay
from .posterior import PosteriorDisplay
from .solution_path import SolutionPathDisplay

__all__ = [
    "CertificateDisplay",
    "ChoiceDisplay",
    "ConvergenceDisplay",
    "DivergenceDisplay",
    "MonitorDisplay",
    "PaletteDisplay",
    "PathDisplay",
    "PosteriorDisplay",
    "SolutionPathDisplay",
]
