"""Pictures of factor analyses: how many factors, and how much each view tells about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from isogloss.factor import ComponentChoice, FactorDensity
from isogloss.plotting._axes import new_axes


def plot_component_choice(choice: ComponentChoice, *, ax: Any = None) -> Any:
    """Held-out log-likelihood per row of every candidate, with standard errors, and where BIC is least."""
    ax = new_axes(ax)
    means = choice.held_out.mean(axis=1)
    ax.errorbar(choice.candidates, means, yerr=choice.standard_errors, fmt="o-", color="C0", capsize=3)
    ax.axvline(choice.best, color="C0", linestyle=":", label=f"best held-out likelihood: {choice.best}")
    ax.axvline(choice.best_bic, color="C1", linestyle="--", label=f"least BIC: {choice.best_bic}")
    ax.set_xlabel("number of factors")
    ax.set_ylabel("held-out log-likelihood per row")
    ax.legend(frameon=False)
    return ax


def plot_factor_knowledge(model: FactorDensity, *, ax: Any = None) -> Any:
    """Share of the factors' variance that each view alone removes, and all of them together."""
    ax = new_axes(ax)
    sets = [[name] for name in model.view_names_] + [list(model.view_names_)]
    k = model.parameters_.n_components
    known = [1.0 - np.trace(model.posterior_covariance(views)) / k for views in sets]
    labels = [*model.view_names_, "all"]
    ax.bar(range(len(known)), known, color=["C0"] * (len(known) - 1) + ["C1"])
    ax.set_xticks(range(len(known)), labels)
    ax.set_ylim(0, 1)
    ax.set_ylabel("variance of the factors explained")
    return ax
