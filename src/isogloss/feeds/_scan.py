"""Look over XML before a parser sees it: entities and depth.

The scan reads tags as a lenient parser would, so that it also holds for files that are not well formed, and
refuses encodings in which they would hide from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from isogloss.exceptions import FeedError

__all__ = ["scan_xml"]

MAX_DEPTH = 100
_START = re.compile(rb"<(?:(!--)|(!\[CDATA\[)|(/?)[A-Za-z_][^<>]*+>)")
_ENTITY = re.compile(rb"<!\s*ENTITY", re.IGNORECASE)
_DECLARED = re.compile(rb"""encoding\s*=\s*['"]([^'"]{1,40})['"]""", re.IGNORECASE)
_HEAD = 1024
_EBCDIC = b"\x4c\x6f\xa7\x94"
"""``<?xm`` in EBCDIC."""
_WIDE = ("utf-16", "utf_16", "utf16", "utf-32", "utf_32", "utf32", "ucs-2", "iso-10646")
_PROBE = rb"<!ENTITY a='&;'>+ADw-\x3c\u003c]]>"


def scan_xml(body: bytes) -> None:
    """Refuse XML that declares entities or nests very deeply.

    Parameters
    ----------
    body : bytes
        The file, in any encoding whose letters of ASCII are those of ASCII, or UTF-16 or UTF-32; others are
        refused.

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
    _check_encoding(body)
    plain = body.replace(b"\0", b"") if b"\0" in body[:256] else body
    if _ENTITY.search(plain):
        raise FeedError("the XML declares an entity; a feed has no need of one")
    depth = 0
    for closing in _tags(plain):
        depth = max(depth - 1, 0) if closing else depth + 1
        if depth > MAX_DEPTH:
            raise FeedError(
                f"the XML is nested deeper than {MAX_DEPTH} elements; expected a feed or a sitemap"
            )


def _tags(body: bytes) -> Iterator[bool]:
    """Yield whether each tag closes its element, in one pass; skip comments, CDATA and empty elements.

    A comment or CDATA section that never ends hides nothing, as for a lenient parser.
    """
    at, unclosed = 0, set()
    while found := _START.search(body, at):
        at = found.end()
        if found.lastindex == 3:
            if not body.endswith(b"/>", found.start(), at):
                yield bool(found[3])
            continue
        end = b"-->" if found[1] else b"]]>"
        close = -1 if end in unclosed else body.find(end, at)
        if close < 0:
            unclosed.add(end)
        else:
            at = close + len(end)


def _check_encoding(body: bytes) -> None:
    """Refuse encodings in which a tag does not look like one, such as UTF-7 and EBCDIC."""
    head = body[:_HEAD].replace(b"\0", b"")
    declared = {found.decode("ascii", "replace").lower() for found in _DECLARED.findall(head)}
    odd = {name for name in declared if not name.startswith(_WIDE) and not _keeps_ascii(name)}
    if body.startswith(_EBCDIC) or odd:
        said = ", ".join(sorted(odd)) or "EBCDIC"
        raise FeedError(
            f"the XML says that its encoding is {said!r}; expected UTF-8 or another that has ASCII"
        )


def _keeps_ascii(encoding: str) -> bool:
    """Whether letters of ASCII are those of ASCII in an encoding; one that nobody knows changes nothing.

    Examples
    --------
    >>> names = ("utf-8", "koi8-r", "shift_jis", "utf-7", "unicode_escape", "cp037")
    >>> [name for name in names if _keeps_ascii(name)]
    ['utf-8', 'koi8-r', 'shift_jis']
    """
    try:
        return _PROBE.decode(encoding) == _PROBE.decode("ascii")
    except LookupError:
        return True
    except ValueError:
        return False
