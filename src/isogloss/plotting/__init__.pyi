from .alignment import plot_alignment as plot_alignment
from .documents import (
    DocumentMap as DocumentMap,
)
from .documents import (
    documents_html as documents_html,
)
from .documents import (
    documents_svg as documents_svg,
)
from .documents import (
    map_documents as map_documents,
)
from .documents import (
    plot_documents as plot_documents,
)
from .em import plot_free_energy as plot_free_energy
from .em import plot_traces as plot_traces
from .factor import (
    plot_component_choice as plot_component_choice,
)
from .factor import (
    plot_factor_knowledge as plot_factor_knowledge,
)
from .lexicon import (
    plot_neighbourhood as plot_neighbourhood,
)
from .lexicon import (
    plot_precision as plot_precision,
)
from .lexicon import (
    save_picture as save_picture,
)
from .mixture import plot_mixture as plot_mixture
from .mixture import plot_mixture_steps as plot_mixture_steps
from .multiview import (
    plot_canonical_correlations as plot_canonical_correlations,
)
from .multiview import (
    plot_loadings as plot_loadings,
)
from .multiview import (
    plot_starts as plot_starts,
)
from .multiview import (
    plot_variates as plot_variates,
)
from .multiview import (
    plot_view_correlations as plot_view_correlations,
)
