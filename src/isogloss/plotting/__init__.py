"""Pictures, with matplotlib (install ``isogloss[plot]``). Each function draws on axes and returns them."""

from isogloss.plotting.em import plot_free_energy, plot_traces
from isogloss.plotting.mixture import plot_mixture, plot_mixture_steps

__all__ = ["plot_free_energy", "plot_mixture", "plot_mixture_steps", "plot_traces"]
