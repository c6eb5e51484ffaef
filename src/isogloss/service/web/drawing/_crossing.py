"""Two sentences as columns of words, with lines between the words that say the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from isogloss.service.web.drawing._svg import node, number, picture

__all__ = ["crossing"]

_ROW = 24.0
_LONGEST = 20
"""Letters of a word that are shown."""


def crossing(
    source: Sequence[str],
    target: Sequence[str],
    links: Iterable[tuple[int, int]],
    *,
    langs: tuple[str, str] = ("", ""),
) -> Markup:
    """Draw an alignment.

    Parameters
    ----------
    source, target : sequence of str
        Words of the two sentences.
    links : iterable of (source, target)
        Positions of words that say the same; others are left out.
    langs : pair of str
        Codes of the languages, for those who have the words read to them.

    Examples
    --------
    >>> drawn = crossing(["blue", "house"], ["maison", "bleue"], [(0, 1), (1, 0), (7, 7)])
    >>> drawn.count("<path"), drawn.count("<text")
    (2, 4)
    """
    kept = [(i, j) for i, j in links if 0 <= i < len(source) and 0 <= j < len(target)]
    rows = max(len(source), len(target), 1)
    said = f"{len(kept)} lines between {len(source)} words and {len(target)} words"
    return picture(
        480,
        _ROW * rows + 8,
        said,
        node("g", *(_line(i, j) for i, j in kept), class_="links"),
        _words(source, {i for i, _ in kept}, 175.0, "end", langs[0]),
        _words(target, {j for _, j in kept}, 305.0, "start", langs[1]),
        class_="crossing",
    )


def _line(i: int, j: int) -> Markup:
    a, b = number(_height(i) - 5), number(_height(j) - 5)
    return node("path", d=f"M183 {a}C240 {a} 240 {b} 297 {b}")


def _words(words: Sequence[str], linked: set[int], x: float, anchor: str, lang: str) -> Markup:
    drawn = (
        node(
            "text",
            word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…",
            x=x,
            y=_height(at),
            text_anchor=anchor,
            class_="word" if at in linked else "word alone",
        )
        for at, word in enumerate(words)
    )
    return node("g", *drawn, lang=lang) if lang else node("g", *drawn)


def _height(row: int) -> float:
    return _ROW * row + 20
