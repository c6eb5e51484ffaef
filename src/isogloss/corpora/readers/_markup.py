"""Text of wiki pages, without the markup.

The parser is mwparserfromhell. It is configured here with the links that point to pictures, categories and
other languages and are not part of a sentence.
"""

from __future__ import annotations

import atexit
import dataclasses
import re
from functools import cache
from typing import Any

from isogloss.corpora.readers._records import BadRecordError
from isogloss.extras import import_extra, require_extra
from isogloss.io import ParserFailure, ParserProcess

PAGE_TIMEOUT_S = 20.0
"""CPU time for one page. Parsing takes time that grows with the square of a page that opens elements and
never closes them; a page of Wikipedia with 2 MiB of links takes about ten seconds."""

PAGE_MEMORY_BYTES = 1 << 30
"""Bytes of memory for one page."""

_SWITCH = re.compile(r"__[A-Z]+__")
_NO_TEXT = frozenset(
    {"chem", "gallery", "graph", "hiero", "imagemap", "mapframe", "maplink", "math", "ref", "references"}
    | {"score", "source", "style", "syntaxhighlight", "templatedata", "timeline"}
)
_OTHER_WIKI = re.compile(r"[a-z]{2,3}(-[a-z]+)*|simple")


@dataclasses.dataclass(frozen=True)
class WikiMarkup:
    """Removes the markup of MediaWiki: call it with a text.

    What a reader of the page would read stays: paragraphs, headings, lists, tables, the words of links.
    Templates, references, formulas, code, comments, pictures with their captions, categories and links to
    the same page in other languages go.

    Examples
    --------
    >>> WikiMarkup()("'''Bled''' is a [[lake|small lake]]<ref>x</ref>.[[File:B.jpg|thumb|The lake]]{{stub}}")
    'Bled is a small lake.'
    """

    hidden: frozenset[str] = frozenset({"file", "image", "category"})
    """Names of namespaces, in lower case, links to which are not part of the text."""

    def __call__(self, text: str) -> str:
        """The text without markup."""
        parser = import_extra("mwparserfromhell", "wikipedia", "text of wiki pages")
        code = parser.parse(text)
        for link in code.ifilter_wikilinks():
            if self._is_hidden(link):
                link.title, link.text = "", None
        for tag in code.ifilter_tags():
            if str(tag.tag).strip().lower() in _NO_TEXT:
                tag.contents = ""
        return _SWITCH.sub("", code.strip_code()).strip()

    def _is_hidden(self, link: Any) -> bool:
        prefix, colon, _ = str(link.title).partition(":")
        if not colon:
            return False
        name = prefix.strip().replace("_", " ")
        return name.lower() in self.hidden or (link.text is None and bool(_OTHER_WIKI.fullmatch(name)))


@dataclasses.dataclass(frozen=True)
class BoundedWikiMarkup:
    """:class:`WikiMarkup` in a child process with bounded time and memory for each text.

    Raises BadRecordError for a text that takes too long or too much memory, or cannot be parsed.

    Examples
    --------
    >>> BoundedWikiMarkup()("a [[lake]]")
    'a lake'
    """

    hidden: frozenset[str] = WikiMarkup.hidden

    def __call__(self, text: str) -> str:
        """The text without markup."""
        require_extra("wikipedia", "text of wiki pages")
        try:
            return str(_parser()(sorted(self.hidden), text))
        except ParserFailure as failure:
            raise BadRecordError(f"markup {failure.reason}", f"the markup {failure}") from failure


@cache
def _parser() -> ParserProcess:
    """The parser of this process; started when it is first needed."""
    parser = ParserProcess(_without_markup, seconds=PAGE_TIMEOUT_S, memory=PAGE_MEMORY_BYTES)
    atexit.register(parser.close)
    return parser


def _without_markup(hidden: list[str], text: str) -> str:
    return WikiMarkup(frozenset(hidden))(text)
