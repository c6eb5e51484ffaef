"""Look over XML before a parser sees it: entities and depth.

The scan reads tags as a lenient parser would, so that it also holds for files that are not well formed.
"""

from __future__ import annotations

import re

from isogloss.exceptions import FeedError

__all__ = ["scan_xml"]

MAX_DEPTH = 100
_TAG = re.compile(rb"<(?:(!--.*?--)|(!\[CDATA\[.*?\]\])|(/)?[A-Za-z_][^<>]*?(/)?)>", re.DOTALL)
_ENTITY = re.compile(rb"<!\s*ENTITY", re.IGNORECASE)


def scan_xml(body: bytes) -> None:
    """Refuse XML that declares entities or nests very deeply.

    Parameters
    ----------
    body : bytes
        The file, in any encoding whose letters of ASCII are those of ASCII, or UTF-16 or UTF-32.

    Examples
    --------
    >>> scan_xml(b"<rss><channel><item/></channel></rss>")
    >>> scan_xml(b'<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>')
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: the XML declares an entity; a feed has no need of one
    >>> scan_xml(b"<a>" * 200)
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: the XML is nested deeper than 100 elements; expected a feed or a sitemap
    """
    plain = body.replace(b"\0", b"") if b"\0" in body[:256] else body
    if _ENTITY.search(plain):
        raise FeedError("the XML declares an entity; a feed has no need of one")
    depth = 0
    for tag in _TAG.finditer(plain):
        comment, data, closing, empty = tag.groups()
        if comment or data or empty:
            continue
        depth = max(depth - 1, 0) if closing else depth + 1
        if depth > MAX_DEPTH:
            raise FeedError(
                f"the XML is nested deeper than {MAX_DEPTH} elements; expected a feed or a sitemap"
            )
