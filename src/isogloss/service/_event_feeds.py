"""Atom and RSS feeds of events and of the articles of an event.

The ids of feeds and entries are UUIDs in the namespace of the store: they are the same whatever the name of
the host, and no other store has them. An entry is as old as the last stored change of its event or article.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

from starlette.requests import Request
from starlette.responses import Response

from isogloss.events import Article
from isogloss.store import Store, event_title, from_micros

Format = Literal["atom", "rss"]

MAX_ENTRIES = 50
"""Entries of a feed."""

MAX_SUMMARY_TITLES = 20
MEDIA_TYPES: Mapping[str, str] = {"atom": "application/atom+xml", "rss": "application/rss+xml"}

_ATOM = "http://www.w3.org/2005/Atom"
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

ElementTree.register_namespace("atom", _ATOM)


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An entry of a feed."""

    id: str
    title: str
    link: str
    published: datetime
    updated: datetime
    summary: str
    lang: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class EventFeed:
    """A feed: its id and title, the page that shows the same, and its entries."""

    id: str
    title: str
    link: str
    entries: Sequence[FeedEntry]

    @property
    def updated(self) -> datetime:
        """The time of the last change of an entry; 1970 for an empty feed."""
        return max((entry.updated for entry in self.entries), default=_BEGINNING)


def feed_of_events(
    store: Store, events: Sequence[Mapping[str, Any]], base: str, *, key: str, title: str, link: str
) -> EventFeed:
    """Return a feed with an entry for each event.

    ``base`` is the URL of the service without a slash at the end, ``link`` the path of the page that shows
    the same events; ``key`` identifies the feed, such as the parameters of its search.
    """
    instance = store.instance_id()
    changed = store.line_times([event["changed"] for event in events])
    entries = [
        FeedEntry(
            id=_urn(instance, f"event:{event['id']}"),
            title=event_title(event)[0],
            link=event_url(base, event["id"]),
            published=from_micros(event["first"]),
            updated=from_micros(changed.get(event["changed"], event["last"])),
            summary=_summary(event),
            lang=event_title(event)[1],
        )
        for event in events
    ]
    return EventFeed(_urn(instance, f"feed:{key}"), title, base + link, entries)


def feed_of_articles(
    store: Store, event: Mapping[str, Any], articles: Mapping[int, Article], base: str
) -> EventFeed:
    """Return a feed with an entry for each article of an event."""
    instance, link = store.instance_id(), event_url(base, event["id"])
    changed = store.article_change_times([*articles])
    entries = [
        FeedEntry(
            id=_urn(instance, f"article:{seq}"),
            title=article.title or article.body[:100],
            link=safe_url(article.url) or link,
            published=article.time,
            updated=from_micros(changed[seq]) if seq in changed else article.time,
            summary=f"{article.source} ({article.lang})" if article.source else article.lang,
            lang=article.lang,
            author=article.source,
        )
        for seq, article in articles.items()
    ]
    return EventFeed(_urn(instance, f"feed:event:{event['id']}"), event_title(event)[0], link, entries)


def feed_response(request: Request, feed: EventFeed, format: Format) -> Response:
    """Return a feed, or status 304 if the client has it already."""
    content = (_atom if format == "atom" else _rss)(feed, str(request.url))
    headers = {
        "ETag": f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"',
        "Last-Modified": format_datetime(feed.updated.astimezone(UTC).replace(microsecond=0), usegmt=True),
        "Cache-Control": "private, no-cache",
    }
    if _is_current(request, headers["ETag"], feed.updated):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=f"{MEDIA_TYPES[format]}; charset=utf-8", headers=headers)


def _is_current(request: Request, etag: str, updated: datetime) -> bool:
    """Return whether the validators of a request are current; a date counts only without an entity tag."""
    known = request.headers.get("if-none-match")
    if known is not None:
        return "*" in known.split(",") or etag in (
            each.strip().removeprefix("W/") for each in known.split(",")
        )
    try:
        since = parsedate_to_datetime(request.headers.get("if-modified-since", ""))
        return since.replace(tzinfo=since.tzinfo or UTC) >= updated.replace(microsecond=0)
    except (ValueError, TypeError, OverflowError):
        return False


def _urn(instance: uuid.UUID, name: str) -> str:
    return uuid.uuid5(instance, name).urn


def event_url(base_url: str, id: str) -> str:
    """Return the URL of the page of an event; only its path if the URL of the service is not known."""
    return f"{base_url.rstrip('/')}/event/{quote(id, safe='')}"


def safe_url(url: str) -> str:
    """Return a URL if it is one of HTTP or HTTPS, otherwise an empty string.

    Examples
    --------
    >>> safe_url("https://gull.example/7"), safe_url("javascript:alert(1)"), safe_url("//x")
    ('https://gull.example/7', '', '')
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return url.strip() if parts.scheme in ("http", "https") and parts.netloc else ""


def _summary(event: Mapping[str, Any]) -> str:
    """Describe an event: its size, its places, and its titles in all languages."""
    languages = [*event.get("languages", {})]
    noun = "article" if event["size"] == 1 else "articles"
    lines = [f"{event['size']:,} {noun} in {', '.join(languages) or 'one language'}"]
    if places := [place["name"] for place in event.get("places", ())[:5]]:
        lines.append(", ".join(places))
    titles: Mapping[str, str] = event.get("title", {})
    lines += [f"{lang}: {title}" for lang, title in [*titles.items()][:MAX_SUMMARY_TITLES]]
    return "\n".join(lines)


def _atom(feed: EventFeed, url: str) -> bytes:
    root = ElementTree.Element(f"{{{_ATOM}}}feed")
    _add(root, "id", feed.id)
    _add(root, "title", feed.title)
    _add(root, "updated", feed.updated.astimezone(UTC).isoformat())
    _add(root, "link", rel="self", type=MEDIA_TYPES["atom"], href=url)
    _add(root, "link", rel="alternate", type="text/html", href=feed.link)
    _add(_add(root, "author"), "name", "isogloss")
    for entry in feed.entries:
        item = _add(root, "entry")
        if entry.lang:
            item.set(_LANG, entry.lang)
        _add(item, "id", entry.id)
        _add(item, "title", entry.title)
        _add(item, "published", entry.published.astimezone(UTC).isoformat())
        _add(item, "updated", entry.updated.astimezone(UTC).isoformat())
        _add(item, "link", rel="alternate", href=entry.link)
        if entry.author:
            _add(_add(item, "author"), "name", entry.author)
        _add(item, "summary", entry.summary, type="text")
    return _serialize(root)


def _rss(feed: EventFeed, url: str) -> bytes:
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    _add_plain(channel, "title", feed.title)
    _add_plain(channel, "link", feed.link)
    _add_plain(channel, "description", feed.title)
    _add_plain(channel, "lastBuildDate", format_datetime(feed.updated))
    _add(channel, "link", rel="self", type=MEDIA_TYPES["rss"], href=url)
    for entry in feed.entries:
        item = ElementTree.SubElement(channel, "item")
        _add_plain(item, "title", entry.title)
        _add_plain(item, "link", entry.link)
        _add_plain(item, "guid", entry.id).set("isPermaLink", "false")
        _add_plain(item, "pubDate", format_datetime(entry.updated))
        _add_plain(item, "description", entry.summary)
    return _serialize(root)


def _add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> ElementTree.Element:
    """Add an element of Atom."""
    return _add_plain(parent, f"{{{_ATOM}}}{name}", text, **attributes)


def _add_plain(
    parent: ElementTree.Element, name: str, text: str = "", **attributes: str
) -> ElementTree.Element:
    element = ElementTree.SubElement(
        parent, name, {key: _NOT_XML.sub("", value) for key, value in attributes.items()}
    )
    element.text = _NOT_XML.sub("", text) or None
    return element


def _serialize(root: ElementTree.Element) -> bytes:
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content
