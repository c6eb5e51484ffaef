r"""
Moments from pieces equal moments of the whole
==============================================

Three laboratories measure the same things in three ways, and no laboratory has everything: rows come in
batches, views are missing in some rows, and the archives cannot be pooled. Each laboratory keeps the sums

.. math:: n_{ij}, \quad \bar x_i, \quad \sum_r (x_{ri} - \bar x_i)(x_{rj} - \bar x_j)^\top

for every pair of views, over the rows that have both. Adding the sums of the laboratories gives the
moments of all their rows, as if one of them had seen everything in one pass.
"""

# %%
# Three views of 3,000 things. They share four hidden causes; the first view has 12 features, the second
# 8, the third 6. A view is missing in a row with probability 0.3, and every row keeps at least one.

import matplotlib.pyplot as plt
import numpy as np

from isogloss.stats import ViewMoments
from isogloss.views import Views

rng = np.random.default_rng(0)
n_rows, dims = 3_000, (12, 8, 6)
causes = rng.standard_normal((n_rows, 4))
data = {
    name: causes @ rng.standard_normal((4, dim)) + rng.standard_normal((n_rows, dim))
    for name, dim in zip(("text", "image", "sound"), dims, strict=True)
}
present = rng.random((n_rows, 3)) > 0.3
present[np.arange(n_rows), rng.integers(0, 3, n_rows)] = True
views = Views(data, present=present)
views

# %%
# One pass over everything, which needs everything in one place.

whole = ViewMoments(dims).update(views)
whole.counts

# %%
# The same in pieces: each laboratory goes through its third of the rows in batches of 250, and the three
# summaries are merged. They are small, and they hold sums, not rows.


def moments_of(rows):
    """What one laboratory sends to the others."""
    moments = ViewMoments(dims)
    for start in range(0, len(rows), 250):
        moments.update(views[rows[start : start + 250]])
    return moments


laboratories = [moments_of(rows) for rows in np.array_split(rng.permutation(n_rows), 3)]
merged = laboratories[0].merge(laboratories[1]).merge(laboratories[2])

difference = np.abs(merged.joint_covariance() - whole.joint_covariance())
print(f"rows of each pair of views are the same: {np.array_equal(merged.counts, whole.counts)}")
print(f"largest difference of a covariance: {difference.max():.1e}")
assert difference.max() < 1e-12

# %%
# The joint covariance of the merged moments, block by block, and how far it is from that of one pass, in
# units of the rounding of one float64 operation.

edges = np.cumsum(dims)[:-1] - 0.5
middles = np.cumsum(dims) - np.array(dims) / 2 - 0.5
scale = np.abs(whole.joint_covariance()).max()
panels = {
    "joint covariance, merged": (merged.joint_covariance(), "RdBu_r", -scale, scale),
    "distance from one pass, in roundings": (difference / np.finfo(float).eps, "Greys", 0, None),
}

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for axis, (title, (matrix, colours, low, high)) in zip(axes, panels.items(), strict=True):
    picture = axis.imshow(matrix, cmap=colours, vmin=low, vmax=high)
    axis.set_title(title)
    axis.set_xticks(middles, views.names)
    axis.set_yticks(middles, views.names, rotation=90, va="center")
    axis.tick_params(length=0)
    for edge in edges:
        axis.axhline(edge, color="black", linewidth=0.8)
        axis.axvline(edge, color="black", linewidth=0.8)
    figure.colorbar(picture, ax=axis, shrink=0.8)
plt.show()
