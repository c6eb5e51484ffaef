"""
EM, step by step
================

A Gaussian mixture is fitted to rows whose component nobody recorded. Each step of EM guesses the
components from the current parameters (E), then the parameters from the guesses (M).
"""

# %%
# Rows from four components, and a start that knows nothing: four of the rows as means.

import numpy as np

from isogloss.em import Recorder
from isogloss.mixture import GaussianMixture
from isogloss.plotting import plot_free_energy, plot_mixture_steps

rng = np.random.default_rng(4)
centres = np.array([[0.0, 0.0], [5.0, 1.0], [1.0, 5.0], [6.0, 6.0]])
shapes = np.array([[[1.5, 0.0], [0.9, 0.4]], [[0.5, 0.0], [0.0, 1.2]], [[1.0, 0.0], [-0.8, 0.5]], np.eye(2)])
labels = rng.integers(4, size=3000)
X = centres[labels] + np.einsum("nij,nj->ni", shapes[labels], rng.normal(size=(3000, 2)))

# %%
# A :class:`~isogloss.em.Recorder` keeps the parameters of every step. Rows take the mixed colours of
# their posteriors; an ellipse is two standard deviations.

recorder = Recorder()
mixture = GaussianMixture(4, means_init=X[:4], tol=1e-6, max_iter=500, random_state=0)
mixture.fit(X, callbacks=[recorder])
plot_mixture_steps(X, recorder, "full")

# %%
# What climbs is a lower bound on the log-likelihood: expected complete log-likelihood plus the entropy of
# the guesses. After an exact E-step there is nothing between the bound and the log-likelihood: the gap,
# the Kullback-Leibler divergence of the guesses from the posterior, is zero.

plot_free_energy(recorder.lines)
energy = mixture.free_energy(X)
print(f"expected complete log-likelihood {energy.expected_log_joint:12.4f}")
print(f"+ entropy                        {energy.entropy:12.4f}")
print(f"= bound                          {energy.bound:12.4f}")
print(f"  log-likelihood                 {energy.log_likelihood:12.4f}")
print(f"  gap                            {abs(energy.kl):12.4f}")
