"""
What three views share, and how sure we are
===========================================

Three noisy views of the same rows: how much two of them agree, against chance; the common component in
all of them; and a proof that no better one exists.
"""

# %%
# Views of three shared signals.

import numpy as np

from isogloss.multiview import CCA, SumCor
from isogloss.plotting import (
    plot_canonical_correlations,
    plot_loadings,
    plot_starts,
    plot_variates,
    plot_view_correlations,
)
from isogloss.views import Views

rng = np.random.default_rng(0)
shared = rng.normal(size=(400, 3))
views = Views(
    {
        name: shared @ rng.normal(size=(3, width)) + rng.normal(size=(400, width))
        for name, width in (("en", 6), ("de", 5), ("sl", 7))
    }
)

# %%
# Canonical correlations of two views. What lies in the band could be chance.

pair = [views["en"], views["de"]]
cca = CCA(n_components=5).fit(pair)
null = cca.permutation_test(pair, n_permutations=200, random_state=0)
plot_canonical_correlations(cca, null)

# %%
# All three views at once, and what the features have to do with the first component.

model = SumCor(n_components=3, random_state=0).fit(views)
plot_variates(model, views)
plot_view_correlations(model.correlations_, views.names)
plot_loadings(model.loadings_[2])

# %%
# A dozen very small views are a hard problem: different starts end in different maxima. The line is a
# proven upper bound; where a start touches it, that start is the global maximum.

many = Views([rng.normal(size=(60, 2)) for _ in range(12)])
hard = SumCor(n_components=1, n_init=40, random_state=0).fit(many)
plot_starts(hard, hard.certificate_)
print(hard.certificate_)
