"""Compiled loops: contiguous arrays in, arrays out, the GIL released while they run.

They know nothing of estimators and check shapes only; each has a slow NumPy twin in ``tests/oracles``.
"""

from isogloss.kernels._kernels import (
    best_links,
    exchange_sweeps,
    expect_active,
    expect_fertility,
    expect_links,
    hmm_best_paths,
    hmm_expect,
    hmm_posteriors,
    link_posteriors,
    list_active,
    normalise_lexicon,
    normalise_log_joint,
    pack_queries,
    pack_targets,
    pair_slots,
    pair_table,
    quadratic_features,
    rank_candidates,
    select_both,
    select_rounded,
    select_rows,
    spelling_similarity,
)

__all__ = [
    "best_links",
    "exchange_sweeps",
    "expect_active",
    "expect_fertility",
    "expect_links",
    "hmm_best_paths",
    "hmm_expect",
    "hmm_posteriors",
    "link_posteriors",
    "list_active",
    "normalise_lexicon",
    "normalise_log_joint",
    "pack_queries",
    "pack_targets",
    "pair_slots",
    "pair_table",
    "quadratic_features",
    "rank_candidates",
    "select_both",
    "select_rounded",
    "select_rows",
    "spelling_similarity",
]
