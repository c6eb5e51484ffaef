"""Compiled loops: contiguous arrays in, arrays out, the GIL released while they run.

They know nothing of estimators and check shapes only; each has a slow NumPy twin in ``tests/oracles``.
"""

from isogloss.kernels._kernels import (
    best_links,
    exchange_sweeps,
    expect_active,
    expect_fertility,
    expect_links,
    link_posteriors,
    list_active,
    normalise_log_joint,
    pair_slots,
    pair_table,
    quadratic_features,
    rank_candidates,
    select_both,
    select_rows,
    spelling_similarity,
)

__all__ = [
    "best_links",
    "exchange_sweeps",
    "expect_active",
    "expect_fertility",
    "expect_links",
    "link_posteriors",
    "list_active",
    "normalise_log_joint",
    "pair_slots",
    "pair_table",
    "quadratic_features",
    "rank_candidates",
    "select_both",
    "select_rows",
    "spelling_similarity",
]
