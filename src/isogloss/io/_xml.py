"""A parser base class for untrusted XML.

It loads no external resources, refuses entity declarations (with which a small file can expand to a huge one)
and reports errors with the file and the line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any
from xml.parsers import expat

from isogloss.exceptions import CorpusError, IsoglossError

MAX_ELEMENT_DEPTH = 100

MAX_TAG_BYTES = 1 << 20
"""Longer tags and comments are refused, because the parser holds them in memory."""


class XmlReader(ABC):
    """Base class of XML readers; subclasses implement the handlers of elements and text.

    Parameters
    ----------
    path : str
        The file name, for error messages.
    expected : str
        What the file should be, as in ``a translation memory``.
    error : type of IsoglossError
        The class of errors to raise.

    Examples
    --------
    >>> class Names(XmlReader):
    ...     found = ()
    ...     def start(self, name, attributes):
    ...         self.found = (*self.found, name)
    ...     def end(self, name):
    ...         pass
    ...     def text(self, text):
    ...         pass
    >>> names = Names("a.xml", "a page")
    >>> names.feed(b"<page><title>")
    >>> names.found
    ('page', 'title')
    >>> names.feed(b"</page>")
    Traceback (most recent call last):
        ...
    isogloss.exceptions.CorpusError: a.xml:1: is not well-formed XML (mismatched tag); expected a page
    """

    def __init__(self, path: str, expected: str, error: type[IsoglossError] = CorpusError) -> None:
        self.path, self.expected, self.error = path, expected, error
        self._fed = self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.XmlDeclHandler = self._declaration
        self._parser.EntityDeclHandler = self._entity
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self.text

    @abstractmethod
    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handle the end of an element."""

    @abstractmethod
    def text(self, text: str) -> None:
        """Handle a piece of text."""

    @property
    def line(self) -> int:
        """The current line."""
        return self._parser.CurrentLineNumber

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        """Parse the next chunk of the file; set ``final`` for the last."""
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as reason:
            raise self.malformed(expat.ErrorString(reason.code)) from reason
        self._fed += len(chunk)
        if self._fed - max(self._parser.CurrentByteIndex, 0) > MAX_TAG_BYTES + len(chunk):
            raise self.refused(
                f"has a tag or comment of more than {MAX_TAG_BYTES:,} bytes; expected {self.expected}"
            )

    def malformed(self, reason: str) -> Exception:
        """Return the error for a file that is not well-formed."""
        return self.refused(f"is not well-formed XML ({reason}); expected {self.expected}")

    def refused(self, what: str) -> IsoglossError:
        """Return an error that names the file and the line."""
        return self.error(f"{self.path}:{self.line}: {what}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_ELEMENT_DEPTH:
            raise self.refused(
                f"is nested deeper than {MAX_ELEMENT_DEPTH} elements; expected {self.expected}"
            )
        self.start(name, attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self.end(name)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        """Refuse an encoding that the parser does not support, with a clear message."""
        try:
            expat.ParserCreate(encoding).Parse(b"<x/>", True)
        except expat.ExpatError:
            return
        except (LookupError, ValueError) as reason:
            raise self.refused(f"is in the encoding {encoding!r}; convert the file to UTF-8") from reason

    def _entity(self, *declaration: Any) -> None:
        raise self.refused(
            f"declares the entity {declaration[0]!r}; expected {self.expected} without entities"
        )
