"""Language of an article: from its tag, checked against the text."""

from __future__ import annotations

import logging
from collections import Counter
from functools import cache
from typing import Any

from isogloss.exceptions import ArticleError
from isogloss.text import identify, language

logger = logging.getLogger(__name__)

_MAX_IDENTIFIED_CHARS = 300
"""Characters that are used to identify the language."""

_MIN_CHECKED_CHARS = 120
"""Minimum length of a text that a tag is checked against."""

_MIN_CONFIDENCE = 0.9
_UNDETERMINED = frozenset({"", "und", "unknown", "none", "null", "xx", "mul", "zxx"})

_CONFUSABLE = (
    frozenset({"hr", "sr", "bs", "sh", "sl", "mk"}),
    frozenset({"nb", "nn", "no", "da", "sv"}),
    frozenset({"id", "ms", "jv", "su"}),
    frozenset({"cs", "sk"}),
    frozenset({"es", "gl", "pt", "ast", "ca", "an", "oc"}),
    frozenset({"ru", "uk", "be", "bg", "mk"}),
    frozenset({"nl", "af", "fy", "nds", "lb"}),
    frozenset({"zh", "yue", "wuu", "ja"}),
    frozenset({"hi", "mr", "ne", "sa"}),
    frozenset({"tr", "az", "tk", "crh"}),
)
"""Groups of languages that identification confuses: within a group the tag is trusted."""


def resolve_language(tag: Any, text: str, *, check: bool, notes: Counter[str]) -> str:
    """Return the ISO 639-1 code of the language of a text.

    A tag such as ``en``, ``en-US``, ``eng`` is trusted unless the text is long enough and clearly in another,
    not closely related language. A missing or unknown tag is replaced by what :func:`~isogloss.text.identify`
    finds. Without the extra ``isogloss[text]`` every known tag is trusted. Raises ArticleError if there is no
    tag, and the language of the text cannot be identified.

    Examples
    --------
    >>> notes = Counter()
    >>> resolve_language("en-US", "Storm", check=True, notes=notes)
    'en'
    >>> resolve_language("klingon", "Das Haus steht am Ufer des Flusses.", check=True, notes=notes)
    'de'
    >>> dict(notes)
    {'language tag unknown': 1, 'language identified': 1}
    """
    code = _parse_tag(tag, notes)
    if code and not (check and len(text) >= _MIN_CHECKED_CHARS):
        return code
    try:
        found, probability = identify(text[:_MAX_IDENTIFIED_CHARS])
    except ModuleNotFoundError as error:
        if code is None:
            message = f'field "lang" is missing; expected a code such as "en" ({error})'
            raise ArticleError("without language", message) from error
        _warn_unchecked(str(error))
        return code
    if code is None:
        if found is None:
            message = 'field "lang" is missing and the text is in no language; expected a code such as "en"'
            raise ArticleError("without language", message)
        notes["language identified"] += 1
        return found
    if (
        found in (None, code)
        or probability < _MIN_CONFIDENCE
        or any({found, code} <= group for group in _CONFUSABLE)
    ):
        return code
    notes["language tag wrong"] += 1
    return str(found)


@cache
def _warn_unchecked(why: str) -> None:
    """Warn once that tags are not checked against texts."""
    logger.warning("language tags of articles are not checked: %s", why)


def _parse_tag(tag: Any, notes: Counter[str]) -> str | None:
    """Return the language code of a tag; None for an empty or unknown tag."""
    if tag is None or (isinstance(tag, str) and tag.strip().lower() in _UNDETERMINED):
        return None
    try:
        return language(tag).code
    except (ValueError, TypeError):
        notes["language tag unknown"] += 1
        return None
