"""Paragraphs and sentences of raw text in any script.

Sentences end where ICU says so (the package ``icu4py``), or else at final punctuation. Then those are joined
that were cut after an abbreviation, which are learned from the text itself as in Kiss and Strunk (2006),
*Unsupervised multilingual sentence boundary detection*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from isogloss.extras import has_module
from isogloss.text._extras import need_extra
from isogloss.text._segment import ICU
from isogloss.text.raw._abbreviations import Abbreviations

Layout = Literal["auto", "paragraphs", "wrapped", "sentences"]

LAYOUTS: tuple[Layout, ...] = ("auto", "paragraphs", "wrapped", "sentences")

MAX_WIDTH = 100
"""Longest lines of text that is wrapped by hand."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_TERMINATORS = (
    ".!?\u2026\u203c\u2047-\u2049\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u1368\u104a\u104b\u17d4\u17d5"
)
_WIDE = "\u3002\uff01\uff1f\uff61\uff0e"
_CLOSERS = "\"'\u2019\u201d\u00bb\u203a)\\]\u300d\u300f\uff09\u3011\u300b"
_END = re.compile(rf"(?<![{_TERMINATORS}])[{_TERMINATORS}]++[{_CLOSERS}]*+(?=\s)|[{_WIDE}]++[{_CLOSERS}]*+")
_LETTER_OR_DIGIT = re.compile(r"\w")


@dataclass(frozen=True)
class SplitText:
    """The sentences of a text, and the paragraph that each is in.

    Examples
    --------
    >>> text = SplitText.of_lines(["A b.", "C d.", "", "E."])
    >>> text.sentences, text.paragraphs
    (('A b.', 'C d.', 'E.'), (0, 0, 1))
    """

    sentences: tuple[str, ...]
    paragraphs: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.sentences) != len(self.paragraphs):
            raise ValueError(
                f"{len(self.sentences)} sentences and {len(self.paragraphs)} paragraph numbers; "
                "expected a number for each sentence"
            )

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> SplitText:
        """Lines that are sentences already; blank lines separate paragraphs."""
        sentences, paragraphs, paragraph, blank = [], [], -1, True
        for line in lines:
            text = line.strip()
            if text:
                paragraph += blank
                sentences.append(text)
                paragraphs.append(paragraph)
            blank = not text
        return cls(tuple(sentences), tuple(paragraphs))

    def __len__(self) -> int:
        return len(self.sentences)


def split_text(text: str, lang: str = "", *, layout: Layout = "auto") -> SplitText:
    r"""Split a text into paragraphs and sentences.

    Parameters
    ----------
    text : str
        Raw text.
    lang : str
        The language's code, for the abbreviations that ICU knows; any language works without.
    layout : {'auto', 'paragraphs', 'wrapped', 'sentences'}
        Every line is a paragraph; blank lines separate paragraphs, whose lines were wrapped by hand; every
        line is a sentence; or whichever of the first two the text looks like.

    Examples
    --------
    >>> split_text("Mr. Smith ran. He fell!\n\nWhy?", "en").sentences
    ('Mr. Smith ran.', 'He fell!', 'Why?')
    """
    if layout == "sentences":
        return SplitText.of_lines(text.split("\n"))
    paragraphs = split_paragraphs(text, layout=layout)
    sentences, numbers = [], []
    for number, found in enumerate(_sentences(paragraphs, lang)):
        sentences += found
        numbers += [number] * len(found)
    return SplitText(tuple(sentences), tuple(numbers))


def split_sentences(text: str, lang: str = "") -> list[str]:
    """Split a paragraph into sentences.

    Examples
    --------
    >>> split_sentences("我爱你。他说：“你好！”然后走了。", "zh")
    ['我爱你。', '他说：“你好！”', '然后走了。']
    """
    return list(split_text(text, lang, layout="paragraphs").sentences)


def split_paragraphs(text: str, *, layout: Layout = "auto") -> list[str]:
    r"""Split a text into paragraphs, each on one line.

    Examples
    --------
    >>> split_paragraphs("A tale of two\ncities.\n\nThe end.", layout="wrapped")
    ['A tale of two cities.', 'The end.']
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout={layout!r:.40}; expected one of {', '.join(LAYOUTS)}")
    text = re.sub(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]", "\n", text)
    if layout == "auto":
        layout = "wrapped" if _is_wrapped(text) else "paragraphs"
    parts = _BLANK_LINE.split(text) if layout == "wrapped" else text.split("\n")
    return [line for part in parts if (line := " ".join(part.split()))]


def _is_wrapped(text: str) -> bool:
    """Return whether lines were broken by hand: none is long, and most have another one after them."""
    blocks = [block.strip("\n").split("\n") for block in _BLANK_LINE.split(text) if block.strip()]
    lines = [line for block in blocks for line in block]
    inner = [line for block in blocks for line in block[:-1]]
    if len(blocks) < 2 or not inner or max(map(len, lines)) > MAX_WIDTH:
        return False
    ended = sum(line.rstrip().endswith(tuple(_TERMINATORS[:4] + _WIDE[:3])) for line in inner)
    return len(inner) > len(lines) / 3 and ended < len(inner) / 2


def _sentences(paragraphs: Sequence[str], lang: str) -> list[list[str]]:
    cut = [_cut(paragraph) for paragraph in paragraphs]
    if has_module(ICU):
        cut = _cut_by_icu(paragraphs, lang)
    abbreviations = Abbreviations(paragraphs)
    return [[sentence.strip() for sentence in abbreviations.join(parts)] for parts in cut]


def _cut(paragraph: str) -> list[str]:
    parts, start = [], 0
    for end in _END.finditer(paragraph):
        parts.append(paragraph[start : end.end()])
        start = end.end()
    return [*parts, paragraph[start:]]


def _cut_by_icu(paragraphs: Sequence[str], lang: str) -> list[list[str]]:
    """All paragraphs in one call, which ends a sentence at the end of each."""
    out: list[list[str]] = [[]]
    locale = f"{lang or 'en'}@ss=standard"
    for part in need_extra(ICU).SentenceBreaker("\n".join(paragraphs), locale):
        out[-1].append(part)
        if part.endswith("\n"):
            out.append([])
    return out[: len(paragraphs)]
