"""Glossed text for the programs of field linguists: FLEx (``.flextext``) and ELAN (``.eaf``).

Every word has as its gloss the words that it is linked to; the target sentence is the free translation. ELAN
wants times: without a recording, each word takes half a second, so that annotations have a width to look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, NamedTuple
from uuid import NAMESPACE_OID, uuid5
from xml.sax.saxutils import escape, quoteattr

from isogloss.alignment.decoding import Links
from isogloss.corpora import PairWords
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write

WORD_MS = 500
"""Milliseconds of a word in a file without a recording."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELAN = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
_CONSTRAINTS = {
    "Symbolic_Subdivision": "Symbolic subdivision of a parent annotation, in order",
    "Symbolic_Association": "1-1 association with a parent annotation",
}


class _Glossed(NamedTuple):
    """A sentence: its number, its text, its words with their glosses and offsets, and its translation."""

    number: int
    text: str
    words: list[str]
    glosses: list[str]
    offsets: list[tuple[int, int]]
    translation: str


def write_interlinear(
    pairs: Iterable[PairWords],
    links: Links,
    path: PathLike,
    *,
    languages: tuple[str, str] = ("und", "und"),
    title: str = "",
) -> None:
    """Write the source sentences with a gloss for each word and a free translation.

    Parameters
    ----------
    pairs : iterable of PairWords
        The sentence pairs; those without words are left out.
    links : Links
        A gloss is made of the target words that are linked to a word, in their order.
    path : path
        A name that ends in ``.flextext`` (FLEx) or ``.eaf`` (ELAN).
    languages : (str, str)
        Codes of both languages, as FLEx calls its writing systems; ``und`` is an undetermined one.
    title : str
        Title of the text; by default the name of the file.

    Raises
    ------
    CorpusError
        The name has another ending, or the links are of another text.
    """
    writers = {".flextext": _flextext, ".eaf": _eaf}
    ending = Path(path).suffix.lower()
    if ending not in writers:
        raise CorpusError(
            f"{path}: expected a name that ends in {' or '.join(writers)}, which decides the format"
        )
    lines = writers[ending](_glossed(pairs, links), languages, title or Path(path).stem)
    with atomic_write(path) as file:
        for line in lines:
            file.write(line.encode() + b"\n")


def _glossed(pairs: Iterable[PairWords], links: Links) -> Iterator[_Glossed]:
    row = -1
    for row, pair in enumerate(pairs):
        if row >= len(links):
            break
        (text, translation), (words, others) = pair.texts, pair.words
        found = slice(int(links.offsets[row]), int(links.offsets[row + 1]))
        source, target = links.source[found].tolist(), links.target[found].tolist()
        if any(i >= len(words) for i in source) or any(j >= len(others) for j in target):
            raise CorpusError(
                f"pair {row + 1}: a link goes beyond the {len(words)} and {len(others)} words; {_SAME}"
            )
        if words and others:
            glosses = [
                " ".join(others[j] for i, j in sorted(zip(source, target, strict=True)) if i == k)
                for k in range(len(words))
            ]
            yield _Glossed(row + 1, text, words, glosses, pair.offsets[0], translation)
    if row + 1 != len(links):
        raise CorpusError(f"{len(links)} lines of links, but another number of sentence pairs; {_SAME}")


_SAME = "use the links of this text, split into words in the same way"


def _flextext(sentences: Iterable[_Glossed], languages: tuple[str, str], title: str) -> Iterator[str]:
    source, target = (quoteattr(language) for language in languages)

    def item(kind: str, language: str, value: str) -> str:
        return f'<item type="{kind}" lang={language}>{_text(value)}</item>'

    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield f'<document version="2"><interlinear-text guid="{uuid5(NAMESPACE_OID, title)}">'
    yield item("title", target, title)
    yield "<paragraphs>"
    for one in sentences:
        yield f"<paragraph><phrases><phrase>{item('segnum', target, str(one.number))}<words>"
        at = 0
        for word, gloss, (start, end) in zip(one.words, one.glosses, one.offsets, strict=True):
            yield from _punctuation(one.text[at:start], source)
            glossed = item("gls", target, gloss) if gloss else ""
            yield f"<word>{item('txt', source, word)}{glossed}</word>"
            at = end
        yield from _punctuation(one.text[at:], source)
        yield f"</words>{item('gls', target, one.translation)}</phrase></phrases></paragraph>"
    yield f'</paragraphs><languages><language lang={source} vernacular="true"/><language lang={target}/>'
    yield "</languages></interlinear-text></document>"


def _punctuation(between: str, language: str) -> Iterator[str]:
    for mark in between.split():
        yield f'<word><item type="punct" lang={language}>{_text(mark)}</item></word>'


class _Tiers:
    """Annotations of an ELAN file: sentences with times, and below them words, glosses and translations."""

    PARENTS: ClassVar = {"words": "text", "gloss": "words", "translation": "text"}
    CONSTRAINTS: ClassVar = {
        "words": "Symbolic_Subdivision",
        "gloss": "Symbolic_Association",
        "translation": "Symbolic_Association",
    }

    def __init__(self, sentences: Iterable[_Glossed]) -> None:
        self.annotations: dict[str, list[str]] = {"text": [], "words": [], "gloss": [], "translation": []}
        self.times: list[int] = []
        self.made = 0
        for one in sentences:
            begin = self.times[-1] if self.times else 0
            self.times += [begin, begin + WORD_MS * len(one.words)]
            slots = f'TIME_SLOT_REF1="ts{len(self.times) - 1}" TIME_SLOT_REF2="ts{len(self.times)}"'
            sentence, previous = self._add("text", one.text, slots), ""
            self._add("translation", one.translation, f'ANNOTATION_REF="{sentence}"')
            for word, gloss in zip(one.words, one.glosses, strict=True):
                after = f' PREVIOUS_ANNOTATION="{previous}"' if previous else ""
                previous = self._add("words", word, f'ANNOTATION_REF="{sentence}"{after}')
                if gloss:
                    self._add("gloss", gloss, f'ANNOTATION_REF="{previous}"')

    def _add(self, tier: str, value: str, where: str) -> str:
        """Add an annotation and return its id."""
        self.made += 1
        kind = "REF" if tier in self.PARENTS else "ALIGNABLE"
        self.annotations[tier].append(
            f'<ANNOTATION><{kind}_ANNOTATION ANNOTATION_ID="a{self.made}" {where}>'
            f"<ANNOTATION_VALUE>{_text(value)}</ANNOTATION_VALUE></{kind}_ANNOTATION></ANNOTATION>"
        )
        return f"a{self.made}"

    def types(self) -> Iterator[str]:
        """Yield the linguistic type of each tier, of the same name."""
        for tier in self.annotations:
            constraint = f'CONSTRAINTS="{self.CONSTRAINTS[tier]}" ' if tier in self.CONSTRAINTS else ""
            yield (
                f'<LINGUISTIC_TYPE {constraint}GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="{tier}" '
                f'TIME_ALIGNABLE="{str(tier not in self.PARENTS).lower()}"/>'
            )


def _eaf(sentences: Iterable[_Glossed], languages: tuple[str, str], title: str) -> Iterator[str]:
    tiers = _Tiers(sentences)
    source, target = languages
    names = {"text": source, "words": source, "gloss": target, "translation": target}
    ids = {tier: quoteattr(f"{tier}@{language}") for tier, language in names.items()}
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        f'<ANNOTATION_DOCUMENT AUTHOR="" DATE="{datetime.now(UTC).isoformat(timespec="seconds")}" '
        'FORMAT="3.0" VERSION="3.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:noNamespaceSchemaLocation="{_ELAN}">'
    )
    yield '<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">'
    yield f'<PROPERTY NAME="title">{_text(title)}</PROPERTY>'
    yield f'<PROPERTY NAME="lastUsedAnnotationId">{tiers.made}</PROPERTY></HEADER>'
    yield "<TIME_ORDER>"
    yield from (f'<TIME_SLOT TIME_SLOT_ID="ts{n}" TIME_VALUE="{ms}"/>' for n, ms in enumerate(tiers.times, 1))
    yield "</TIME_ORDER>"
    for tier, lines in tiers.annotations.items():
        parent = f" PARENT_REF={ids[tiers.PARENTS[tier]]}" if tier in tiers.PARENTS else ""
        yield f'<TIER LINGUISTIC_TYPE_REF="{tier}"{parent} TIER_ID={ids[tier]}>'
        yield from lines
        yield "</TIER>"
    yield from tiers.types()
    yield from (
        f'<CONSTRAINT DESCRIPTION="{text}" STEREOTYPE="{kind}"/>' for kind, text in _CONSTRAINTS.items()
    )
    yield "</ANNOTATION_DOCUMENT>"


def _text(value: str) -> str:
    """Text that can stand in an XML element: without control characters."""
    return escape(_NOT_XML.sub("", value))
