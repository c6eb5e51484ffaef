"""Articles, and the parser that validates and repairs incoming records."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from isogloss.events._html import has_markup, html_to_text
from isogloss.events._language_tags import resolve_language
from isogloss.exceptions import ArticleError, IsoglossError

__all__ = ["MAX_BODY_CHARS", "MAX_TITLE_CHARS", "TRUNCATION_NOTES", "Article", "article_key", "parse_article"]

logger = logging.getLogger(__name__)

MAX_BODY_CHARS = 1_000_000
"""Maximum length of a body; the rest is cut off."""

MAX_TITLE_CHARS = 1_000
"""Maximum length of a title; the rest is cut off."""

TRUNCATION_NOTES = {"title": "title cut", "body": "text cut"}
"""Name of the repair that truncates each field."""

_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

MAX_MARKUP_TAGS = 200_000
"""Maximum number of tags, and of entities, in a text; the rest is cut off. Long pages have some 20,000."""

_MAX_FIELD_CHARS = 2_000
"""Maximum length of an id, a source or a URL."""

_MAX_ID_BITS = 1_000
"""Maximum size of a numeric id."""

MAX_CLOCK_SKEW = timedelta(days=1)
"""Times this far in the future become now, because clocks and zones of sources are often wrong."""

_MIN_TIME = datetime(1900, 1, 1, tzinfo=UTC)
_MIN_MILLISECONDS = 1e11
"""Larger numbers are milliseconds: as seconds they would be after the year 5138."""

_FIELD_ALIASES = {
    "body": ("body", "text"),
    "lang": ("lang", "language"),
    "time": ("time", "published", "date"),
    "url": ("url", "link"),
}
"""Accepted names of each field; the first that is present counts."""


@dataclass(frozen=True, slots=True)
class Article:
    r"""A news article in one language.

    Attributes
    ----------
    id : str
        Identifier given by the source.
    lang : str
        ISO 639-1 code, see :func:`~isogloss.text.language`.
    title, body : str
        Plain text; one of them may be empty.
    time : datetime
        When it was published, in UTC.
    source, url : str
        Publisher, and address of the article.
    claimed : str or None
        The time that the source states, where it differs from ``time``: a time in the future, or an empty
        string if the source states none. It is ignored by ``==``.

    Examples
    --------
    >>> from datetime import UTC, datetime, timedelta
    >>> article = Article("7", "en", "Storm", "Roofs flew.", datetime(2031, 3, 5, tzinfo=UTC), "The Gull")
    >>> article.text, article.key
    ('Storm\nRoofs flew.', 'The Gull 7')
    """

    id: str
    lang: str
    title: str
    body: str
    time: datetime
    source: str = ""
    url: str = ""
    claimed: str | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """The title and the body, separated by a line break."""
        return f"{self.title}\n{self.body}"

    @property
    def key(self) -> str:
        """Unique key of the article; see :func:`article_key`."""
        return article_key(self.source, self.url or self.id)

    def as_record(self) -> dict[str, str]:
        """Return a JSON-compatible record; :func:`parse_article` restores the article from it."""
        return {
            "id": self.id,
            "lang": self.lang,
            "title": self.title,
            "body": self.body,
            "time": self.time.isoformat(),
            "source": self.source,
            "url": self.url,
        }


def article_key(source: str, name: str) -> str:
    r"""Join a source and a URL or id into a unique key.

    The separator is a blank, or a tab if the URL or id has blanks. Records have no tabs in either of them.

    Examples
    --------
    >>> article_key("Daily News", "7"), article_key("Daily", "News 7")
    ('Daily News 7', 'Daily\tNews 7')
    """
    return f"{source}\t{name}" if " " in name else f"{source} {name}"


def parse_article(
    record: Mapping[str, Any],
    *,
    now: datetime | None = None,
    newest: Callable[[], datetime | None] | None = None,
    max_text: int = MAX_BODY_CHARS,
    max_title: int = MAX_TITLE_CHARS,
    check_language: bool = True,
    notes: Counter[str] | None = None,
) -> Article:
    """Parse a record: validate it, repair what can be repaired, and return an article.

    Parameters
    ----------
    record : mapping
        ``time`` and one of ``title`` and ``body`` are required. The time is an ISO 8601 or RFC 2822 text, a
        ``datetime``, or a number of seconds or milliseconds since 1970. ``id``, ``lang``, ``source`` and
        ``url`` are optional; other fields are ignored. Accepted aliases are ``text`` for the body,
        ``language``, ``published`` or ``date`` for the time, and ``link``. ``fetched`` is the time of an
        article that states none.
    now : datetime, optional
        Later times become this one; by default the current time.
    newest : callable, optional
        Returns the time of the newest article so far. A record that claims to be from more than a day after
        ``now`` gets this time, so that it does not move a time window.
    max_text, max_title : int
        Maximum lengths in characters. A longer text is truncated and ends with an ellipsis.
    check_language : bool
        Whether a language tag is checked against the text, see
        :func:`~isogloss.events._language_tags.resolve_language`.
    notes : Counter, optional
        Repairs are counted here.

    Raises
    ------
    ArticleError
        There is no time or no text, or a field has the wrong type; ``reason`` names the problem.

    Notes
    -----
    Repairs are: a language that is missing, unknown or wrong is identified; a time without zone is UTC; a
    time in the future becomes ``now`` or the time of the newest article; markup is removed; long texts are
    truncated; invalid characters are replaced; a missing id becomes the URL, or else a digest of the record.

    Examples
    --------
    >>> notes = Counter()
    >>> article = parse_article(
    ...     {"title": "Sturm &uuml;ber der Küste", "body": "<p>Der Sturm hat zwei Dächer abgedeckt.</p>",
    ...      "time": "2021-07-01 08:01:00", "id": 7},
    ...     notes=notes,
    ... )
    >>> article.id, article.lang, article.title, article.body
    ('7', 'de', 'Sturm über der Küste', 'Der Sturm hat zwei Dächer abgedeckt.')
    >>> sorted(notes)
    ['language identified', 'markup removed', 'time without zone']
    >>> parse_article({"title": "Storm"})
    Traceback (most recent call last):
    isogloss.exceptions.ArticleError: field "time" is missing; expected a time such as ...
    """
    if not isinstance(record, Mapping):
        raise ArticleError("not an object", f"got a {type(record).__name__}; expected an object with fields")
    notes = Counter() if notes is None else notes
    try:
        return _parse(record, now or datetime.now(UTC), newest, (max_title, max_text), check_language, notes)
    except (IsoglossError, MemoryError):
        raise
    except Exception as error:  # a bug, and no reason to refuse the records before and after this one
        logger.exception("parsing a record failed")
        message = f"the record cannot be read ({type(error).__name__}); please report this as a bug"
        raise ArticleError("cannot be read", message) from error


def _parse(
    record: Mapping[str, Any],
    now: datetime,
    newest: Callable[[], datetime | None] | None,
    limits: tuple[int, int],
    check_language: bool,
    notes: Counter[str],
) -> Article:
    title, body = (
        _text(record, name, limit, notes) for name, limit in zip(("title", "body"), limits, strict=True)
    )
    if not (title or body):
        raise ArticleError(
            "without text", 'fields "title" and "body" are empty; expected text in one of them'
        )
    stated = _field(record, "time")
    claimed = _time(record.get("fetched") if stated is None else stated, notes)
    time = _clamp_future(claimed, now, newest, notes)
    source, url = (_name(record, name, notes) for name in ("source", "url"))
    tag = _field(record, "lang")
    lang = resolve_language(tag, f"{title}\n{body}", check=check_language, notes=notes)
    key = _name(record, "id", notes) or url or _digest(title, body, claimed, source)
    other = "" if stated is None else None if time == claimed else claimed.isoformat()
    return Article(key, lang, title, body, time, source, url, other)


def _field(record: Mapping[str, Any], name: str) -> Any:
    return next(
        (record[key] for key in _FIELD_ALIASES.get(name, (name,)) if record.get(key) is not None), None
    )


def _text(record: Mapping[str, Any], name: str, limit: int, notes: Counter[str]) -> str:
    """Return a field as plain text."""
    value = _field(record, name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong_field(name, value, "text")
    for sign in "<&":
        if value.count(sign) > MAX_MARKUP_TAGS:
            value = sign.join(value.split(sign, MAX_MARKUP_TAGS)[:MAX_MARKUP_TAGS])
            notes["text cut"] += 1
    if has_markup(value):
        value = html_to_text(value)
        notes["markup removed"] += 1
    value = value.strip()
    if len(value) > limit:
        value = value[: max(0, limit - 1)].rstrip() + _ELLIPSIS
        notes[TRUNCATION_NOTES[name]] += 1
    return _replace_bad_chars(value, notes).strip()


def _name(record: Mapping[str, Any], name: str, notes: Counter[str]) -> str:
    """Return a short field; an id may be a number."""
    value = _field(record, name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _wrong_field(name, value, "text")
    if isinstance(value, int) and value.bit_length() > _MAX_ID_BITS:
        raise ArticleError("field too long", f'field "{name}" is a number of hundreds of digits')
    value = str(value)
    if len(value) > _MAX_FIELD_CHARS:
        raise ArticleError(
            "field too long",
            f'field "{name}" has {len(value):,} characters; expected at most {_MAX_FIELD_CHARS:,}',
        )
    return " ".join(_replace_bad_chars(value, notes).split())


def _replace_bad_chars(text: str, notes: Counter[str]) -> str:
    """Replace lone surrogates and null characters, which files and databases refuse."""
    if text.isascii() and "\0" not in text:
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
        notes["characters replaced"] += 1
    return text.replace("\0", " ")


def _time(value: Any, notes: Counter[str]) -> datetime:
    """Return the time that a record claims, in UTC."""
    if value is None or value == "":
        message = 'field "time" is missing; expected a time such as 2031-03-05T08:40:00+01:00'
        raise ArticleError("without time", message)
    try:
        moment = _parse_time(value)
        if moment.tzinfo is None:
            notes["time without zone"] += 1
            moment = moment.replace(tzinfo=UTC)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError, TypeError) as reason:
        raise _wrong_field("time", value, "a time such as 2031-03-05T08:40:00+01:00") from reason
    if moment < _MIN_TIME:
        raise _wrong_field("time", value, "a time after 1900")
    return moment


def _clamp_future(
    claimed: datetime,
    now: datetime,
    newest: Callable[[], datetime | None] | None,
    notes: Counter[str],
) -> datetime:
    if claimed <= now:
        return claimed
    notes["time in the future"] += 1
    known = newest() if newest is not None and claimed - now > MAX_CLOCK_SKEW else None
    return (now if known is None else min(known, now)).astimezone(UTC)


def _parse_time(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value / 1000 if abs(value) > _MIN_MILLISECONDS else value, UTC)
    if not isinstance(value, str):
        raise TypeError(value)
    text = value.strip()
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parsedate_to_datetime(text)


def _wrong_field(name: str, value: Any, expected: str) -> ArticleError:
    reason = "bad time" if name == "time" else "field of the wrong kind"
    return ArticleError(reason, f'field "{name}" is {_shown(value)}; expected {expected}')


def _shown(value: Any) -> str:
    """Return the beginning of a value for a message, or its type if it cannot be printed."""
    try:
        return f"{value[:60] if isinstance(value, str) else value!r:.60}"
    except (ValueError, RecursionError):  # thousands of digits, or of lists inside each other
        return f"a {type(value).__name__} that is too long or nested too deeply to show"


def _digest(*parts: object) -> str:
    """Return an id for a record without one: the same for the same content."""
    joined = "\n".join(map(str, parts)).encode("utf-8", "replace")
    return hashlib.blake2b(joined, digest_size=12).hexdigest()
