"""Pictures, with matplotlib (install ``isogloss[plot]``). Each function draws and returns what it drew on."""

from isogloss.plotting.alignment import plot_alignment
from isogloss.plotting.documents import (
    DocumentMap,
    documents_html,
    documents_svg,
    map_documents,
    plot_documents,
)
from isogloss.plotting.em import plot_free_energy, plot_traces
from isogloss.plotting.factor import plot_component_choice, plot_factor_knowledge
from isogloss.plotting.lexicon import plot_neighbourhood, plot_precision, save_picture
from isogloss.plotting.mixture import plot_mixture, plot_mixture_steps
from isogloss.plotting.multiview import (
    plot_canonical_correlations,
    plot_loadings,
    plot_starts,
    plot_variates,
    plot_view_correlations,
)

__all__ = [
    "DocumentMap",
    "documents_html",
    "documents_svg",
    "map_documents",
    "plot_alignment",
    "plot_canonical_correlations",
    "plot_component_choice",
    "plot_documents",
    "plot_factor_knowledge",
    "plot_free_energy",
    "plot_loadings",
    "plot_mixture",
    "plot_mixture_steps",
    "plot_neighbourhood",
    "plot_precision",
    "plot_starts",
    "plot_traces",
    "plot_variates",
    "plot_view_correlations",
    "save_picture",
]
