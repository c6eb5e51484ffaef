"""
Five ways to climb
==================

All variants of EM climb the same bound from the same start; they differ in how much of the data, of the
hidden values or of the M-step one step looks at. The loop checks, at every step of each of them, that
the bound does not fall.
"""

# %%
# Ten components, some of which touch.

import time

import numpy as np

from isogloss.mixture import GaussianMixture
from isogloss.plotting import plot_traces

rng = np.random.default_rng(0)
centres = rng.normal(scale=4.0, size=(10, 4))
X = centres[rng.integers(10, size=20_000)] + rng.normal(size=(20_000, 4))
start = X[rng.choice(len(X), 10, replace=False)]

variants = {
    "EM": {},
    "sparse": {"algorithm": "sparse"},
    "accelerated (SQUAREM)": {"accelerate": True},
    "generalised": {"algorithm": "generalised", "step": 0.7},
    "incremental": {"algorithm": "incremental", "batch_rows": 4000},
}
traces = {}
for name, options in variants.items():
    began = time.process_time()
    mixture = GaussianMixture(10, means_init=start, tol=1e-8, max_iter=2000, random_state=0, **options).fit(X)
    traces[name] = mixture.trace_
    print(
        f"{name:22s} {mixture.n_iter_:4d} steps  bound {mixture.lower_bound_:.6f} per row  "
        f"{time.process_time() - began:5.2f} s"
    )

# %%
# The distance to the best bound, on a logarithmic scale: a steeper line converges faster per step. A
# dot marks a step in which sparse EM refreshed its lists. A step of incremental EM looks at one fifth of
# the rows. Variants may end in different local maxima; restarts (``n_init``) are the cure.

plot_traces(traces, gap=True)
