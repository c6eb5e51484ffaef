"""A map of documents: all languages in one picture, so that one sees whether they mix.

Points of the common space are laid out in two dimensions. Where a model works, documents of one subject lie
together whatever their language, and colours are mixed; a language that lies apart is one that the model has
not tied to the others.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from isogloss.linalg import check_count
from isogloss.plotting._axes import new_axes

# Told apart by people who do not see all colours (Okabe and Ito).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#555555")
_SHAPES = ("o", "s", "^", "D")
_SIZE_PX = 720
_MARGIN_PX = 24
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
:root { color-scheme: light dark; }
svg { width: 100%; height: auto; background: white; border: 1px solid #ccc; }
svg g.points > * { opacity: 0.75; } svg g.points > *:hover { opacity: 1; stroke: black; stroke-width: 1.5; }
"""


@dataclass(frozen=True, eq=False)
class DocumentMap:
    """Documents on a plane.

    Attributes
    ----------
    points : array (documents x 2)
        Where each is.
    languages : tuple of str
        The languages, in the order of their colours.
    language : array of int (documents,)
        The language of each, by its number.
    lines : array of int (documents,)
        Which line of its language's array it was.
    """

    points: NDArray[np.float64]
    languages: tuple[str, ...]
    language: NDArray[np.int64]
    lines: NDArray[np.int64]


def map_documents(
    projected: Mapping[str, ArrayLike],
    *,
    method: str = "tsne",
    max_documents: int = 2000,
    random_state: Any = 0,
) -> DocumentMap:
    """Lay out projected documents on a plane.

    Parameters
    ----------
    projected : mapping of str to array (documents x components)
        For each language its documents as points of the common space; documents without a known word, rows
        of zeros, are left out.
    method : {'tsne', 'pca'}
        Neighbours together, or the two directions of most variance.
    max_documents : int
        Beyond it, documents are drawn at random, with the same share of every language.
    random_state : int, RandomState or None
        Seed of the draw and of the layout.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> about = rng.standard_normal((40, 5))
    >>> found = map_documents({"en": about, "de": about + 0.1}, method="pca", max_documents=60)
    >>> found.points.shape, found.languages
    ((60, 2), ('en', 'de'))
    """
    if method not in ("tsne", "pca"):
        raise ValueError(f"method={method!r}; expected 'tsne' or 'pca'")
    check_count(max_documents, "max_documents", 3, 10**6, "documents on the map")
    rng = check_random_state(random_state)
    arrays = {name: np.asarray(x, dtype=np.float64) for name, x in projected.items()}
    lines = {name: np.flatnonzero(x.any(axis=1)) for name, x in arrays.items()}
    total = sum(map(len, lines.values()))
    if total < 3:
        raise ValueError(f"{total} documents with a known word; expected at least 3 for a map")
    share = min(1.0, max_documents / total)
    lines = {name: _draw(some, share, rng) for name, some in lines.items()}
    points = np.concatenate([arrays[name][some] for name, some in lines.items()])
    language = np.repeat(np.arange(len(lines)), [len(some) for some in lines.values()])
    return DocumentMap(
        _layout(points, method, rng), tuple(lines), language, np.concatenate([*lines.values()])
    )


def plot_documents(found: DocumentMap, *, ax: Any = None) -> Any:
    """Draw a map: a colour for each language, and other shapes when there are more languages than colours."""
    ax = new_axes(ax)
    for number, name in enumerate(found.languages):
        x, y = found.points[found.language == number].T
        colour, shape = _look(number)
        ax.scatter(x, y, s=9, c=colour, marker=shape, linewidths=0, alpha=0.7, label=name)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal", adjustable="datalim")
    ax.legend(frameon=False, markerscale=2, loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def documents_svg(found: DocumentMap, titles: Mapping[str, Sequence[str]] | None = None) -> str:
    """The map as SVG; titles appear where the pointer rests.

    Parameters
    ----------
    found : DocumentMap
        The map.
    titles : mapping of str to sequence of str, optional
        For each language the titles of all of its documents, in the order of the array that was mapped.
    """
    low, high = found.points.min(axis=0), found.points.max(axis=0)
    scale = (_SIZE_PX - 2 * _MARGIN_PX) / max(float((high - low).max()), 1e-12)
    places = _MARGIN_PX + (found.points - low) * scale
    places[:, 1] = _SIZE_PX - places[:, 1]
    order = np.random.default_rng(0).permutation(len(places))  # no language lies on top of the others
    marks = "\n".join(
        _mark(found, titles, place, one) for one, place in zip(order, places[order], strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE_PX + 100} {_SIZE_PX}" role="img" '
        f'aria-label="{len(places)} documents in {len(found.languages)} languages">\n'
        f'<g class="points">\n{marks}\n</g>\n<g class="legend">\n{_legend(found)}\n</g>\n</svg>\n'
    )


def documents_html(
    found: DocumentMap, titles: Mapping[str, Sequence[str]] | None = None, *, heading: str = "Documents"
) -> str:
    """The map as a page that needs nothing else."""
    name = html.escape(heading)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{name}</h1>\n{documents_svg(found, titles)}</body></html>\n"
    )


def _draw(lines: NDArray[np.int64], share: float, rng: np.random.RandomState) -> NDArray[np.int64]:
    """A share of the lines, in their order."""
    return np.sort(rng.permutation(lines)[: round(share * len(lines))]) if share < 1 else lines


def _layout(points: NDArray[np.float64], method: str, rng: np.random.RandomState) -> NDArray[np.float64]:
    seed = int(rng.randint(2**31 - 1))
    if method == "pca" or len(points) < 8:
        layout = PCA(2, random_state=seed)
    else:
        near = min(30.0, (len(points) - 1) / 4)
        layout = TSNE(2, perplexity=near, init="pca", metric="cosine", random_state=seed)
    with threadpool_limits(1):  # the same picture on any number of cores
        return np.asarray(layout.fit_transform(points), dtype=np.float64)


def _look(number: int) -> tuple[str, str]:
    shape = number // len(_COLOURS)
    return _COLOURS[number % len(_COLOURS)], _SHAPES[shape % len(_SHAPES)]


def _mark(
    found: DocumentMap, titles: Mapping[str, Sequence[str]] | None, place: NDArray[np.float64], one: int
) -> str:
    number = int(found.language[one])
    name = found.languages[number]
    title = titles[name][int(found.lines[one])] if titles and name in titles else ""
    label = html.escape(f"{name}: {title}" if title else name)
    return _shape(number, float(place[0]), float(place[1]), f"<title>{label}</title>")


def _shape(number: int, x: float, y: float, inside: str) -> str:
    """A mark in the colour and the shape of a language."""
    colour, shape = _look(number)
    if shape == "o":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">{inside}</circle>'
    corners = {
        "s": [(-3, -3), (3, -3), (3, 3), (-3, 3)],
        "^": [(0, -4), (4, 3), (-4, 3)],
        "D": [(0, -4), (4, 0), (0, 4), (-4, 0)],
    }
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners[shape])
    return f'<polygon points="{points}" fill="{colour}">{inside}</polygon>'


def _legend(found: DocumentMap) -> str:
    lines = []
    for number, name in enumerate(found.languages):
        y = _MARGIN_PX + 20 * number
        mark = _shape(number, _SIZE_PX + 12, y, "")
        label = html.escape(name)
        lines.append(
            f'{mark}<text x="{_SIZE_PX + 24}" y="{y + 5}" font-size="14" fill="black">{label}</text>'
        )
    return "\n".join(lines)
