"""What ``documents_retrieval`` says about its figures: tables, gains and their spread, verdicts, picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from experiments._report import Table, claim, save_figure
from experiments.documents_settings import ACROSS, Pairs

SETTINGS = {"strict": "whole pages", "halves": "halves of pages", "apart": "pairs without a common page"}
# What only some languages are compared with.
SOME = ("encoder", "CCA of each pair")
# Whose figures are set beside whose.
RIVALS = (("hub CCA", "CL-LSI, thesis"), ("hub CCA", "CL-LSI"), ("hub CCA, thesis", "CL-LSI, thesis"))
Results = dict[tuple[str, str, int], list[Pairs]]


def amrr(found: Sequence[Pairs], only: Sequence[tuple[str, str]] | None = None) -> float:
    """Mean over seeds and pairs; over those only that are asked for."""
    return float(np.mean([value for pairs in found for value in _chosen(pairs, only)]))


def _chosen(pairs: Pairs, only: Sequence[tuple[str, str]] | None) -> list[float]:
    return [value for pair, value in pairs.items() if only is None or pair in only]


def scope(setting: str) -> list[tuple[str, str]] | None:
    """Pairs that a setting is about."""
    return ACROSS if setting == "apart" else None


def size_table(results: Results, dimensions: Sequence[int], words: str) -> Table:
    """All methods, sizes and settings, but for those of some languages only."""
    names = [name for name in dict.fromkeys(name for _, name, _ in results) if name not in SOME]
    rows = [[name, *(_cell(results, s, name, dimensions) for s in SETTINGS)] for name in names]
    sizes = " / ".join(map(str, dimensions))
    return Table(f"AMRR at {sizes} dimensions, {words}", ["method", *SETTINGS.values()], rows)


def _cell(results: Results, setting: str, name: str, dimensions: Sequence[int]) -> str:
    sizes = [k for k in dimensions if (setting, name, k) in results]
    means = [amrr(results[setting, name, k], scope(setting)) for k in sizes]
    return f"{means[-1]:.3f}" if name == "names" else " / ".join(f"{mean:.3f}" for mean in means)


def covered_table(tables: Mapping[str, Results], k: int) -> Table:
    """What the encoder covers, by all methods of interest, at one size and of the first seed."""
    rows = []
    for words, results in tables.items():
        if ("strict", "encoder", k) not in results:
            continue
        for name in (*SOME, "names", "hub CCA", "hub CCA and names"):
            cells = []
            for setting in SETTINGS:
                if (setting, name, k) not in results:
                    cells.append("none")
                    continue
                covered = list(results[setting, "encoder", k][0])
                only = [pair for pair in covered if pair in ACROSS] if setting == "apart" else covered
                cells.append(f"{amrr(results[setting, name, k][:1], only):.3f}")
            if set(cells) != {"none"}:
                rows.append([f"{name}, {words}", *cells])
    return Table(
        f"AMRR of pairs that the encoder covers, {k} dimensions", ["method", *SETTINGS.values()], rows
    )


def gains(results: Results, setting: str, names: tuple[str, str], k: int) -> list[float]:
    """How much the first of two methods is above the other, seed by seed."""
    both = zip(*(results[setting, name, k] for name in names), strict=True)
    return [amrr([a], scope(setting)) / amrr([b], scope(setting)) - 1 for a, b in both]


def spread_table(results: Results, k: int) -> Table:
    """Gains of hub CCA over CL-LSI: their mean, and each seed."""
    rows = []
    for setting, said in SETTINGS.items():
        for names in RIVALS:
            found = gains(results, setting, names, k)
            each = ", ".join(f"{gain:+.1%}" for gain in found)
            rows.append([f"{said}: {' above '.join(names)}", f"{np.mean(found):+.1%}", each])
    return Table(f"Hub CCA above CL-LSI at {k} dimensions", ["", "mean", "seeds"], rows)


def margin(results: Results, setting: str, k: int) -> float:
    """How far the combination is above the better of its channels, in the seed where that is least."""
    names = ("hub CCA and names", "hub CCA", "names")
    seeds = zip(*(results[setting, name, k] for name in names), strict=True)
    means = [[amrr([pairs], scope(setting)) for pairs in found] for found in seeds]
    return min(both - max(single) for both, *single in means)


def claims(results: Results, dimensions: Sequence[int]) -> list[str]:
    """What the figures say about what was asked for, in the seed where it holds least."""
    lines = []
    for setting, said in SETTINGS.items():
        for names in RIVALS:
            found = [gains(results, setting, names, k) for k in dimensions]
            shown = ", ".join(f"{np.mean(gain):+.1%}" for gain in found)
            told = f"{said}: {' above '.join(names)} at every size in every seed (means {shown})"
            lines.append(claim(min(map(min, found)) > 0, told))
        worst = min(margin(results, setting, k) for k in dimensions)
        lines.append(claim(worst >= 0, f"{said}: the combination is no worse than either ({worst:+.4f})"))
    return [*lines, _reached(results, dimensions[-1])]


def _reached(results: Results, k: int) -> str:
    """Pairs without a common page beside the same pairs when no page is taken away."""
    both = zip(results["apart", "hub CCA", k], results["strict", "hub CCA", k], strict=True)
    shares = [amrr([apart], ACROSS) / amrr([whole], ACROSS) for apart, whole in both]
    shown = ", ".join(f"{share:.1%}" for share in shares)
    return claim(
        min(shares) >= 0.85, f"pairs without a common page reach {shown} of their AMRR with all pages"
    )


def draw(results: Results, dimensions: Sequence[int], path: Path) -> None:
    """Figure 8.3 again, for the three settings."""
    names = [name for name in dict.fromkeys(name for _, name, _ in results) if "CSLS" not in name]
    names.remove("CCA of each pair")
    fig, axes = plt.subplots(1, 3, figsize=(13, 4.6), sharey=True)
    for ax, (setting, said) in zip(axes, SETTINGS.items(), strict=True):
        for number, name in enumerate(names):
            sizes = [k for k in dimensions if (setting, name, k) in results]
            means = [amrr(results[setting, name, k], scope(setting)) for k in sizes]
            flat = name in ("names", "encoder")
            label = "encoder (its languages)" if name == "encoder" else name
            ax.plot(sizes, means, "--" if flat else "o-", color=f"C{number}", label=label)
        ax.set(xlabel="dimensions", title=said, xticks=dimensions)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("AMRR")
    axes[1].legend(loc="upper center", ncols=2, fontsize=8)
    save_figure(fig, path)


def with_language(results: Results, language: str, k: int) -> list[float]:
    """AMRR over the pairs of a language that was fitted with the others, seed by seed."""
    seeds = results["strict", "hub CCA", k]
    return [amrr([pairs], [pair for pair in pairs if language in pair]) for pairs in seeds]


def adding_claim(language: str, values: Sequence[float], together: Sequence[float]) -> str:
    """A language that was added beside the same language fitted with the others."""
    both = list(zip(values, together, strict=True))
    shown = ", ".join(f"{value:.4f} and {fitted:.4f}" for value, fitted in both)
    far = max(abs(value / fitted - 1) for value, fitted in both)
    return claim(far <= 0.01, f"{language} added later and fitted with the others: {shown}")


def as_data(results: Results) -> dict[str, list[float]]:
    """AMRR of each seed as JSON can hold it."""
    return {
        f"{setting} | {name} | {k}": [amrr([pairs], scope(setting)) for pairs in found]
        for (setting, name, k), found in results.items()
    }
