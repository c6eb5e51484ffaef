"""The alignment matrix of a sentence pair as plain text, SVG or HTML, without other libraries.

Source words are rows, target words columns. A cell is shaded by its posterior, a link has a dot, a sure
link of people a frame and a possible one a dashed frame.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Pair: TypeAlias = tuple[int, int]

SHADES = "·░▒▓█"
"""Cells of the plain text, from improbable to certain."""
COLOUR = "#2f6fb0"
GOLD = "#d9730d"
_FRAMES = {"sure": "[{}]", "possible": "({})", "": " {} "}
SIZE = 24
"""Side of a cell of the SVG, in pixels."""
STYLE = """body{font:15px/1.4 system-ui,sans-serif;margin:2em;color:#222}
table{border-collapse:collapse;margin:1em 0 2em}
th{font-weight:normal;padding:2px 6px}
thead th{writing-mode:vertical-rl;text-align:right}
tbody th{text-align:right}
td{width:22px;height:22px;border:1px solid #ddd;text-align:center;padding:0}
td.sure{outline:2px solid #d9730d;outline-offset:-3px}
td.possible{outline:2px dashed #d9730d;outline-offset:-3px}
p.key{color:#666}"""
KEY = "Shade: posterior. Dot: link. Frame: sure link of people, dashed: possible link."


class WordPairCell(NamedTuple):
    """A word pair: its shade from 0 to 1, whether it is linked, and what people said."""

    source: int
    target: int
    shade: float
    linked: bool
    gold: str


class AlignmentPicture:
    """A sentence pair with its links, ready to be drawn.

    Parameters
    ----------
    source, target : sequence of str
        The words.
    links : iterable of (source, target)
        Links, a row of :class:`~isogloss.alignment.Links` for example.
    posterior : array, shape (n_source, n_target), optional
        Probabilities of the cells; without them links are dark and other cells empty.
    sure, possible : iterable of (source, target)
        Links of people.

    Examples
    --------
    >>> picture = AlignmentPicture(["the", "house"], ["la", "maison"], [(0, 0), (1, 1)], sure=[(0, 0)])
    >>> print(picture.text())
              m
              a
              i
              s
           l  o
           a  n
      the [█] ·
    house  ·  █

    In a notebook a picture draws itself.
    """

    def __init__(
        self,
        source: Sequence[str],
        target: Sequence[str],
        links: Iterable[Sequence[int]] = (),
        *,
        posterior: ArrayLike | None = None,
        sure: Iterable[Sequence[int]] = (),
        possible: Iterable[Sequence[int]] = (),
    ) -> None:
        self.source = [_printable(word) for word in source]
        self.target = [_printable(word) for word in target]
        self.links, self.sure, self.possible = (self._inside(pairs) for pairs in (links, sure, possible))
        self.shade = self._shade(posterior)

    def _inside(self, pairs: Iterable[Sequence[int]]) -> set[Pair]:
        found = {(int(i), int(j)) for i, j in pairs}
        n, m = len(self.source), len(self.target)
        for i, j in found:
            if not (0 <= i < n and 0 <= j < m):
                raise ValueError(
                    f"link {i}-{j} in a pair of {n} and {m} words; expected links of these words"
                )
        return found

    def _shade(self, posterior: ArrayLike | None) -> NDArray[np.float64]:
        shape = len(self.source), len(self.target)
        if posterior is None:
            shade = np.zeros(shape)
            shade[tuple(np.array(sorted(self.links), dtype=int).reshape(-1, 2).T)] = 1.0
            return shade
        shade = np.asarray(posterior, dtype=np.float64)
        if shade.shape != shape:
            raise ValueError(f"posteriors of shape {shade.shape}; expected {shape}, the numbers of words")
        return np.clip(np.nan_to_num(shade), 0.0, 1.0)

    def cells(self) -> Iterator[WordPairCell]:
        """All word pairs, row by row."""
        for (i, j), shade in np.ndenumerate(self.shade):
            gold = "sure" if (i, j) in self.sure else "possible" if (i, j) in self.possible else ""
            yield WordPairCell(int(i), int(j), float(shade), (i, j) in self.links, gold)

    def text(self) -> str:
        """The matrix for a terminal: ``[ ]`` is a sure link of people and ``( )`` a possible one.

        With posteriors, a cell that is not linked is at most ``▒``.
        """
        widest = max((_width(word) for word in self.source), default=0)
        rows = [_padded(word, widest) + " " for word in self.source]
        for cell in self.cells():
            level = round(cell.shade * (len(SHADES) - 1))
            level = max(level, 3) if cell.linked else min(level, 2)
            rows[cell.source] += _FRAMES[cell.gold].format(SHADES[level])
        return "\n".join(line.rstrip() for line in [*self._heads(" " * (widest + 1)), *rows])

    def _heads(self, margin: str) -> list[str]:
        """Target words from top to bottom, one letter per line."""
        words = [_letters(word) for word in self.target]
        height = max(map(len, words), default=0)
        columns = [[""] * (height - len(word)) + word for word in words]
        return [margin + "".join(" " + _padded(c[k], 2, left=True) for c in columns) for k in range(height)]

    def svg(self) -> str:
        """The matrix as an SVG file."""
        left = 12 + 8 * max((_width(word) for word in self.source), default=0)
        top = 12 + 7 * max((_width(word) for word in self.target), default=0)
        width = left + SIZE * len(self.target) + max(60, top // 2)
        height = top + SIZE * len(self.source) + 12
        body = [*self._labels(left, top), *(self._drawn(cell, left, top) for cell in self.cells())]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13" role="img" '
            f'aria-label="word alignment">\n' + "\n".join(body) + "\n</svg>\n"
        )

    def _labels(self, left: int, top: int) -> Iterator[str]:
        for i, word in enumerate(self.source):
            y = top + SIZE * i + SIZE // 2 + 4
            yield f'<text x="{left - 6}" y="{y}" text-anchor="end">{html.escape(word)}</text>'
        for j, word in enumerate(self.target):
            x = left + SIZE * j + SIZE // 2 + 4
            turn = f'transform="rotate(-60 {x} {top - 6})"'
            yield f'<text x="{x}" y="{top - 6}" {turn}>{html.escape(word)}</text>'

    def _drawn(self, cell: WordPairCell, left: int, top: int) -> str:
        x, y, half = left + SIZE * cell.target, top + SIZE * cell.source, SIZE // 2
        parts = [f'<rect x="{x}" y="{y}" width="{SIZE}" height="{SIZE}" fill="{COLOUR}" stroke="#ccc"']
        parts[0] += f' fill-opacity="{0.85 * cell.shade:.3g}"><title>{self._said(cell)}</title></rect>'
        if cell.gold:
            dashes = ' stroke-dasharray="4 3"' if cell.gold == "possible" else ""
            parts.append(
                f'<rect x="{x + 3}" y="{y + 3}" width="{SIZE - 6}" height="{SIZE - 6}" fill="none" '
                f'stroke="{GOLD}" stroke-width="2"{dashes}/>'
            )
        if cell.linked:
            parts.append(f'<circle cx="{x + half}" cy="{y + half}" r="4" fill="#fff" stroke="#123"/>')
        return "".join(parts)

    def _said(self, cell: WordPairCell) -> str:
        pair = f"{self.source[cell.source]} | {self.target[cell.target]}"
        gold = f", {cell.gold}" if cell.gold else ""
        return html.escape(f"{pair}: {cell.shade:.2f}{', linked' if cell.linked else ''}{gold}")

    def html(self) -> str:
        """The matrix as an HTML page of its own."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Word alignment</title>'
            f'<style>{STYLE}</style></head><body>\n{self.table()}\n<p class="key">{KEY}</p></body></html>\n'
        )

    def table(self) -> str:
        """The matrix as an HTML table, for a page with the styles of :meth:`html`."""
        heads = "".join(f'<th scope="col">{html.escape(word)}</th>' for word in self.target)
        rows = [f'<tr><th scope="row">{html.escape(word)}</th>' for word in self.source]
        for cell in self.cells():
            colour = f"background:rgba(47,111,176,{0.85 * cell.shade:.3g})"
            dot = "●" if cell.linked else ""
            kind = f' class="{cell.gold}"' if cell.gold else ""
            rows[cell.source] += f'<td{kind} style="{colour}" title="{self._said(cell)}">{dot}</td>'
        body = "</tr>\n".join([*rows, ""])
        return f"<table><thead><tr><td></td>{heads}</tr></thead>\n<tbody>{body}</tbody></table>"

    def _repr_svg_(self) -> str:
        return self.svg()


def _printable(word: str) -> str:
    """A word without letters that steer terminals or that XML does not allow."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in word)


def _letters(word: str) -> list[str]:
    """Letters, each with the marks that combine with it."""
    letters: list[str] = []
    for letter in word:
        if letters and unicodedata.combining(letter):
            letters[-1] += letter
        else:
            letters.append(letter)
    return letters


def _width(text: str) -> int:
    """Columns that a text takes in a terminal."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _padded(text: str, width: int, *, left: bool = False) -> str:
    blanks = " " * (width - _width(text))
    return text + blanks if left else blanks + text
