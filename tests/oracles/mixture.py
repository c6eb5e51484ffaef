"""Slow NumPy twins of the mixture kernels and of one EM step."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


def quadratic_features(x, kind):
    n, d = x.shape
    one = np.ones((n, 1))
    if kind == 0:
        square = np.stack([x[:, i] * x[:, j] for i in range(d) for j in range(i, d)], axis=1)
        return np.hstack([square, x, one])
    if kind == 1:
        return np.hstack([x**2, x, one])
    if kind == 2:
        return np.hstack([(x**2).sum(axis=1, keepdims=True), x, one])
    return np.hstack([x, one])


def normalise(log_joint, weights, threshold):
    log_norm = logsumexp(log_joint, axis=1)
    posterior = np.exp(log_joint - log_norm[:, None])
    safe = np.where(posterior > 0, posterior, 1.0)
    entropy = -(weights[:, None] * posterior * np.log(safe)).sum()
    here = (posterior > threshold).sum(axis=1)
    return posterior, log_norm, entropy, int(here[here > 1].sum())


def expect_active(x, weights, theta, lists, free, kind):
    """Sums and entropy when each row shares its free mass among the components of its list."""
    features = quadratic_features(x, kind)
    sums, entropy = np.zeros_like(theta), 0.0
    for f, w, members, mass in zip(features, weights, lists, free, strict=True):
        joint = theta[members] @ f
        q = mass * np.exp(joint - logsumexp(joint))
        entropy -= w * (q * np.log(q)).sum()
        sums[members] += w * q[:, None] * f
    return sums, entropy


def em_step(x, weights, means, covariances):
    """One textbook EM step for full covariances; gives new parameters and the log-likelihood."""
    joint = np.stack(
        [
            np.log(w) + multivariate_normal(m, c).logpdf(x)
            for w, m, c in zip(weights, means, covariances, strict=True)
        ],
        axis=1,
    )
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    total = posterior.sum(axis=0)
    new_means = posterior.T @ x / total[:, None]
    new_covariances = [
        (posterior[:, k, None] * (x - m)).T @ (x - m) / total[k] for k, m in enumerate(new_means)
    ]
    return total / len(x), new_means, np.stack(new_covariances), logsumexp(joint, axis=1).sum()
