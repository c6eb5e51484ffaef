"""Text of wiki pages, without the markup.

The parser is mwparserfromhell, which knows the language of MediaWiki pages; here it is told which links
point to pictures, categories and other languages, and are not part of a sentence.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from typing import Any

from isogloss.extras import import_extra

__all__ = ["WikiMarkup"]

logger = logging.getLogger(__name__)

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

    Parameters
    ----------
    hidden : frozenset of str
        Names of namespaces, in lower case, links to which are not part of the text.

    Examples
    --------
    >>> WikiMarkup()("'''Bled''' is a [[lake|small lake]]<ref>x</ref>.[[File:B.jpg|thumb|The lake]]{{stub}}")
    'Bled is a small lake.'
    """

    hidden: frozenset[str] = frozenset({"file", "image", "category"})

    def __call__(self, text: str) -> str:
        """The text without markup."""
        parser = import_extra("mwparserfromhell", "wikipedia", "text of wiki pages")
        try:
            code = parser.parse(text)
        except parser.parser.ParserError as error:
            logger.warning("a page was left out, its markup cannot be parsed: %s", error)
            return ""
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
