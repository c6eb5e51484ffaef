"""Translation memories (TMX): XML of any size, one translation unit at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from isogloss.corpora._languages import same_language
from isogloss.corpora.readers._checking import ParallelText, RawPair
from isogloss.exceptions import CorpusError
from isogloss.io import MAX_LINE_BYTES, PathLike, XmlReader, open_decompressed

CHUNK_BYTES = 1 << 16
_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
"""Elements inside a segment whose text is formatting, not language."""


class TmxPairs(ParallelText):
    """The units of a translation memory that have both languages.

    Parameters
    ----------
    path : path
        The file, packed or not.
    source, target : str
        Languages; ``en`` also finds ``en-GB``, and a variety asked for also finds the plain language. A
        unit without one of them is a bad pair.
    **options
        ``max_tokens`` and ``on_bad`` of :class:`ParallelText`.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("memory.tmx").write_text('''<tmx version="1.4"><header/><body>
    ... <tu><tuv xml:lang="en-GB"><seg>the <hi>house</hi></seg></tuv>
    ...     <tuv xml:lang="fr"><seg>la maison<ph>{1}</ph></seg></tuv></tu>
    ... </body></tmx>''')
    >>> list(TmxPairs("memory.tmx", "en", "fr"))
    [(['the', 'house'], ['la', 'maison'])]
    """

    def __init__(self, path: PathLike, source: str, target: str, **options: Any) -> None:
        super().__init__(**options)
        self.path, self.source, self.target = os.fspath(path), source, target
        self.absent = f"the unit does not have both {source!r} and {target!r}"

    def place(self, line: int) -> str:
        """The file and the line on which the unit begins."""
        return f"{self.path}:{line}"

    def raw(self) -> Iterator[RawPair]:
        """The two languages of every unit."""
        seen: set[str] = set()
        both = False
        for line, unit in _units(self.path):
            seen |= unit.keys()
            source, target = (_in_language(unit, code) for code in (self.source, self.target))
            both = both or (source is not None and target is not None)
            yield line, source, target
        if not both:
            raise CorpusError(
                f"{self.path}: no unit has both {self.source!r} and {self.target!r}; the file has "
                f"{', '.join(sorted(seen)) or 'no units'}"
            )


def _in_language(unit: dict[str, str], wanted: str) -> bytes | None:
    """The segment in a language, by its exact code if there is one."""
    exact = [code for code in unit if code.lower() == wanted.lower()]
    found = exact or [code for code in unit if same_language(wanted, code)]
    return unit[found[0]].encode() if found else None


def _units(path: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and segments by language of every unit."""
    with open_decompressed(path) as file:
        reader = _UnitReader(path)
        while chunk := file.read(CHUNK_BYTES):
            reader.feed(chunk)
            yield from reader.take()
        reader.feed(b"", final=True)
        yield from reader.take()


class _UnitReader(XmlReader):
    """Gathers one unit, and puts it on a list when it ends."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "a translation memory")
        self._units: list[tuple[int, dict[str, str]]] = []
        self._unit: dict[str, str] = {}
        self._line, self._language, self._length = 0, "", 0
        self._inside, self._codes = False, 0
        self._parts: list[str] = []

    def take(self) -> list[tuple[int, dict[str, str]]]:
        """Units that have ended since the last call."""
        units, self._units = self._units, []
        return units

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin a unit, a language or a segment."""
        if name == "tu":
            self._unit, self._line = {}, self.line
        elif name == "tuv":
            self._language = attributes.get("xml:lang", attributes.get("lang", ""))
        elif name == "seg":
            self._inside, self._codes, self._parts, self._length = True, 0, [], 0
        elif name in _CODES:
            self._codes += 1

    def end(self, name: str) -> None:
        """Keep a segment or a unit."""
        if name == "tu":
            self._units.append((self._line, self._unit))
        elif name == "seg":
            self._inside = False
            self._unit.setdefault(self._language, "".join(self._parts))
        elif name in _CODES:
            self._codes -= 1

    def text(self, text: str) -> None:
        """Keep what is language inside a segment."""
        if self._inside and not self._codes:
            self._length += len(text)
            if self._length > MAX_LINE_BYTES:
                raise self.refused(
                    f"a segment is longer than {MAX_LINE_BYTES:,} letters; expected a sentence"
                )
            self._parts.append(text)
