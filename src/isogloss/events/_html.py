r"""HTML to plain text for fragments with any kind of broken markup.

Tags are removed one by one without building a tree, so hostile input costs time and memory in proportion to
its length. No XML parser is involved; entities that a document declares are never expanded.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_MARKUP = re.compile(
    r"<(?=[a-zA-Z/!?])"
    r"(?P<inside>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+|[^<>]*+)>"
)
_NAME = re.compile(r"\A/?\s*+([a-zA-Z][a-zA-Z0-9]*)")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,24}\d{0,2});")
_OVERLONG_REFERENCE = re.compile(r"&#[0-9]{1000,}+;?")
"""Character references whose number Python refuses to parse."""
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"(?<!\s)[^\S\n]*+\n\s*+")

_HIDDEN_ELEMENTS = frozenset(
    {
        "script",
        "style",
        "template",
        "svg",
        "math",
        "iframe",
        "object",
        "textarea",
        "select",
        "noscript",
        "head",
    }
)
"""Elements whose content is not displayed."""

_INLINE_ELEMENTS = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "dfn", "em", "font", "i", "ins", "kbd"}
    | {"mark", "q", "s", "samp", "small", "span", "strong", "strike", "sub", "sup", "time", "tt", "u", "var"}
    | {"wbr", "del", "label", "ruby", "rb", "rt", "rp", "nobr"}
)
"""Elements that may stand inside a word; all others break the line."""


def has_markup(text: str) -> bool:
    """Return whether a text has tags or entities.

    Examples
    --------
    >>> has_markup("a <b>bold</b> step"), has_markup("R&amp;D"), has_markup("1 < 2 & 3 > 2")
    (True, True, False)
    """
    return ("<" in text and _MARKUP.search(text) is not None) or ("&" in text and bool(_ENTITY.search(text)))


def html_to_text(text: str) -> str:
    r"""Return the displayed text, one line per block, with entities replaced by characters.

    Examples
    --------
    >>> html_to_text("<p>Two <b>dead</b> in R&eacute;union<script>alert(1)</script><br>after storm")
    'Two dead in Réunion\nafter storm'
    >>> html_to_text("an unclosed <div class='x' and 1 < 2")
    "an unclosed <div class='x' and 1 < 2"
    """
    plain = html.unescape(_OVERLONG_REFERENCE.sub("\ufffd", "".join(_pieces(text))))
    return _LINES.sub("\n", _BLANKS.sub(" ", plain)).strip()


def _pieces(text: str) -> Iterator[str]:
    """Yield the text between tags, and what replaces the tags."""
    at, hidden_by = 0, ""
    for start, end, name, closing in _tags(text):
        if not hidden_by:
            yield text[at:start]
            yield "" if name in _INLINE_ELEMENTS else "\n"
            hidden_by = name if name in _HIDDEN_ELEMENTS and not closing else ""
        elif closing and name == hidden_by:
            hidden_by = ""
        at = end
    if not hidden_by:
        yield text[at:]


def _tags(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield start, end and name of tags and comments, and whether they close an element."""
    at, has_comments = 0, True
    while found := _MARKUP.search(text, at):
        start, at = found.span()
        if has_comments and text.startswith("<!--", start):
            close = text.find("-->", start + 4)
            has_comments = close >= 0
            at = close + 3 if has_comments else at
        inside = found["inside"]
        name = _NAME.match(inside)
        yield start, at, name[1].lower() if name else "", inside.startswith("/")
