"""Battery factor analysis row by row, with dense covariances and no algebra."""

import numpy as np
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal


def pick(dims, present):
    """Positions of the features of the views that are present."""
    return np.flatnonzero(np.repeat(present, dims))


def dense_rows(views):
    """Rows with NaN where a view is missing."""
    out = np.full((len(views), sum(views.dims)), np.nan)
    ends = np.cumsum(views.dims)
    for v, x in enumerate(views.arrays):
        out[views.present[:, v], ends[v] - views.dims[v] : ends[v]] = x
    return out


def log_density(views, mean, W, noises):
    """Log density of every row over what it has."""
    Sigma, X = W @ W.T + block_diag(*noises), dense_rows(views)
    out = np.zeros(len(views))
    for r, present in enumerate(views.present):
        seen = pick(views.dims, present)
        if len(seen):
            density = multivariate_normal(mean[seen], Sigma[np.ix_(seen, seen)])
            out[r] = density.logpdf(X[r, seen])
    return out


def condition(mean, Sigma, x):
    """Mean and covariance of the whole vector given the entries of ``x`` that are not NaN."""
    seen = np.isfinite(x)
    gain = Sigma[:, seen] @ np.linalg.inv(Sigma[np.ix_(seen, seen)])
    return mean + gain @ (x[seen] - mean[seen]), Sigma - gain @ Sigma[seen]


def em_step(views, mean, W, noises, kind):
    """One step of EM: every view regressed on the factors and a constant, row by row."""
    D, k = W.shape
    Sigma = W @ W.T + block_diag(*noises)
    joint = np.block([[Sigma, W], [W.T, np.eye(k)]])
    new_mean, new_W, new_noises = np.empty(D), np.empty((D, k)), []
    X, ends = dense_rows(views), np.cumsum(views.dims)
    factors = []
    for x in X:
        m, C = condition(np.r_[mean, np.zeros(k)], joint, np.r_[x, np.full(k, np.nan)])
        factors.append((m[D:], C[D:, D:]))
    for v, d in enumerate(views.dims):
        cut = slice(ends[v] - d, ends[v])
        xz, zz, xx = np.zeros((d, k + 1)), np.zeros((k + 1, k + 1)), np.zeros((d, d))
        rows = np.flatnonzero(views.present[:, v])
        for r in rows:
            z, C = np.r_[factors[r][0], 1.0], np.zeros((k + 1, k + 1))
            C[:k, :k] = factors[r][1]
            xz += np.outer(X[r, cut], z)
            zz += np.outer(z, z) + C
            xx += np.outer(X[r, cut], X[r, cut])
        B = np.linalg.solve(zz, xz.T).T
        R = (xx - B @ xz.T) / len(rows)
        if kind == "diag":
            R = np.diag(np.diag(R))
        elif kind == "isotropic":
            R = np.eye(d) * np.trace(R) / d
        new_W[cut], new_mean[cut] = B[:, :k], B[:, k]
        new_noises.append(R)
    return new_mean, new_W, new_noises


def gradient(views, mean, W, noises):
    """Derivatives of the log-likelihood per row in means, loadings and noise matrices."""
    Sigma, X = W @ W.T + block_diag(*noises), dense_rows(views)
    in_mean, in_Sigma = np.zeros(len(mean)), np.zeros_like(Sigma)
    for r, present in enumerate(views.present):
        seen = pick(views.dims, present)
        inverse = np.linalg.inv(Sigma[np.ix_(seen, seen)])
        pull = inverse @ (X[r, seen] - mean[seen])
        in_mean[seen] += pull
        in_Sigma[np.ix_(seen, seen)] += 0.5 * (np.outer(pull, pull) - inverse)
    in_mean, in_Sigma = in_mean / len(views), in_Sigma / len(views)
    ends = np.cumsum(views.dims)
    in_noises = [in_Sigma[e - d : e, e - d : e] for d, e in zip(views.dims, ends, strict=True)]
    return in_mean, 2.0 * in_Sigma @ W, in_noises
