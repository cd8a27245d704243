"""The evidence that the risk after deployment is above the guaranteed one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..certificates import RiskMonitor
from ..errors import InputError
from .display import Display
from .style import BLUE, GREY, VERMILION, new_axes, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class MonitorDisplay(Display):
    """The evidence of a :class:`~pacb_models.RiskMonitor` after each update, and where the alarm is.

    Parameters
    ----------
    monitor : RiskMonitor
    """

    monitor: RiskMonitor

    def plot(self, ax: Axes | None = None) -> MonitorDisplay:
        """Draw on ``ax``, or on a new figure."""
        of = self.monitor
        if not of.history:
            raise InputError("the monitor has seen no examples; there is nothing to draw.")
        self.ax_ = ax = new_axes(ax)
        examples, _, wealth = zip((0, 0.0, 1.0), *of.history, strict=True)
        with styled():
            ax.plot(examples, wealth, color=BLUE, marker=".")
            ax.axhline(1.0 / of.delta, color=VERMILION, ls="--", lw=1.2)
            ax.annotate("alarm", (0.0, 1.0 / of.delta), xytext=(2, 3), textcoords="offset points", color=VERMILION)
            if of.alarm is not None:
                ax.axvline(of.alarm, color=GREY, lw=0.8)
            ax.set(yscale="log", xlabel="examples since deployment", ylabel="evidence of a larger risk")
            ax.set_title(self.title())
        return self

    def title(self) -> str:
        """What is seen, in one sentence."""
        of = self.monitor
        if of.alarm is None:
            return f"No alarm in {of.examples} examples"
        return f"Alarm after {of.alarm} examples: the risk is above {of.bound:.3g}"
