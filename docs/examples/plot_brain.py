"""
Brain-like recordings with missing sessions
===========================================

Six people watch the same film. Each brain answers with voxels of its own and with noise, and some people
miss some sessions. The data are simulated, so that we know what the film was.
"""

# %%
# Three slow signals of the film reach 30 voxels of each person through a mixture of their own. Every brain
# also has stronger activity that has nothing to do with the film. The film has twenty sessions, and two of
# five recordings are missing.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

from isogloss.factor import MultiBatteryFA
from isogloss.plotting import plot_factor_knowledge
from isogloss.views import Views

rng = np.random.default_rng(0)
times, voxels, people = 2000, 30, 6
film = gaussian_filter1d(rng.normal(size=(times, 3)), 8, axis=0)
film /= film.std(axis=0)
brains, effects = {}, {}
for person in range(1, people + 1):
    own = gaussian_filter1d(rng.normal(size=(times, 4)), 8, axis=0)
    own *= 2 / own.std(axis=0)
    effects[f"person {person}"] = film @ rng.normal(size=(3, voxels))
    activity = effects[f"person {person}"] + own @ rng.normal(size=(4, voxels))
    brains[f"person {person}"] = activity + 3 * rng.normal(size=(times, voxels))
present = np.repeat(rng.random((20, people)) > 0.4, times // 20, axis=0)
views = Views(brains, present=present)
print(views)

figure, ax = plt.subplots(figsize=(7, 2), layout="constrained")
ax.imshow(present.T, aspect="auto", cmap="gray_r", interpolation="nearest")
ax.set(xlabel="time", yticks=range(people), yticklabels=views.names, title="recordings that there are")

# %%
# Factor analysis of the six views. Activity that one person has alone goes into the covariance of the noise
# of that view, so the factors are what people share, the film. No recording is thrown away or filled in
# beforehand.

model = MultiBatteryFA(3).fit(views)
shared = model.transform(views)
plot_factor_knowledge(model)


def accuracy(features):
    """Share of the variance of the film that features explain, learned and measured on different sessions."""
    learned = np.arange(times) < times // 2
    predicted = LinearRegression().fit(features[learned], film[learned]).predict(features[~learned])
    return 1 - ((predicted - film[~learned]) ** 2).sum() / film[~learned].var(axis=0).sum() / (times // 2)


recorded = zip(brains.values(), present.T, strict=True)
filled = np.hstack([np.where(here[:, None], x, x[here].mean(axis=0)) for x, here in recorded])
components = PCA(3).fit_transform(filled)
print(f"shared factors explain {accuracy(shared):.0%} of the film in other sessions")
print(f"three principal components of all voxels, gaps filled with means: {accuracy(components):.0%}")

# %%
# The film, turned to fit, and what six noisy brains with gaps tell of it.

fitted = LinearRegression().fit(shared, film).predict(shared)
figure, axes = plt.subplots(3, 1, figsize=(7, 4), sharex=True, layout="constrained")
for signal, ax in enumerate(axes):
    ax.plot(film[:400, signal], color="black", linewidth=1, label="film")
    ax.plot(fitted[:400, signal], linewidth=1, label="shared factors")
axes[0].legend(ncols=2, fontsize=8)
axes[-1].set_xlabel("time")

# %%
# Recordings that were never made: what the film would have done to the voxels of a person in missed sessions,
# from the recordings of the others.

gone = ~present[:, 0]
effect = effects["person 1"][gone]
predicted = np.asarray(model.impute(views)["person 1"])[gone] - model.parameters_.means[0]
print(
    f"correlation of predicted and true effects: {np.corrcoef(predicted.ravel(), effect.ravel())[0, 1]:.2f}"
)
