"""Lists of feeds: OPML, which feed readers export, or text with one URL per line."""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from xml.parsers import expat

from isogloss.exceptions import FeedError
from isogloss.feeds._parsing import scan_xml
from isogloss.feeds._urls import CheckedUrl

MAX_LIST_BYTES = 10 << 20
MAX_ENTRIES = 100_000
MAX_PROBLEMS = 1_000
"""A file with more entries that are not URLs is not a list of feeds."""

MAX_FEED_TITLE_CHARS = 200
_ALL_PORTS = frozenset(range(1, 1 << 16))
_BOM = b"\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True, slots=True)
class ListedFeed:
    """A feed of a list: its URL, and its title if the list gives one."""

    url: str
    title: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class FeedList:
    """The feeds of a list, each once.

    Attributes
    ----------
    feeds : list of ListedFeed
        The feeds, in the order of the list.
    problems : list of str
        A message for each entry that is not a URL.
    """

    feeds: list[ListedFeed]
    problems: list[str]


def read_feed_list(path: str | os.PathLike[str], max_feeds: int = 10_000) -> FeedList:
    """Read the list of feeds in a file; see :func:`parse_feed_list`."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            content = file.read(MAX_LIST_BYTES + 1)
    except OSError as error:
        raise FeedError(
            f"cannot read {name} ({error.strerror}); expected OPML, or text with one URL per line"
        ) from error
    return parse_feed_list(content, name, max_feeds)


def parse_feed_list(content: bytes, name: str = "the list", max_feeds: int = 10_000) -> FeedList:
    r"""Parse OPML, or text with one URL per line.

    Parameters
    ----------
    content : bytes
        The list. In text, a title may follow the URL after a blank, and lines that begin with ``#`` are
        comments. In OPML, feeds are the outlines with ``xmlUrl``, however deep they are nested.
    name : str
        The name of the list in messages.
    max_feeds : int
        Maximum number of feeds.

    Raises
    ------
    FeedError
        It is too large, has no valid URL or too many, or is XML other than OPML, declares entities, nests
        deeply or is not well-formed.

    Examples
    --------
    >>> parse_feed_list(b"# World\nhttps://daily.example/feed  The Daily").feeds
    [ListedFeed(url='https://daily.example/feed', title='The Daily')]
    >>> outline = '<outline text="World"><outline xmlUrl="https://a.example/f"/></outline>'
    >>> parse_feed_list(f"<opml><body>{outline}</body></opml>".encode()).feeds
    [ListedFeed(url='https://a.example/f', title='')]
    """
    if len(content) > MAX_LIST_BYTES:
        raise FeedError(f"{name}: has more than {MAX_LIST_BYTES:,} bytes; expected a list of feeds")
    content = content.removeprefix(_BOM)
    is_xml = content.lstrip()[:1] == b"<" or content[:2] in (b"\xff\xfe", b"\xfe\xff")
    entries: Iterable[tuple[int, str, str]] = _parse_opml(content, name) if is_xml else _parse_text(content)
    feeds: dict[str, ListedFeed] = {}
    problems = []
    for line, url, title in entries:
        url = _without_feed_scheme(url.strip())
        try:
            CheckedUrl.parse(url, _ALL_PORTS)
        except FeedError as error:
            problems.append(f"{name}:{line}: {error}")
            if len(problems) > MAX_PROBLEMS:
                raise FeedError(
                    f"{name}: more than {MAX_PROBLEMS:,} entries are not URLs; the first: {problems[0]}"
                ) from error
        else:
            feeds.setdefault(url, ListedFeed(url, " ".join(title.split())[:MAX_FEED_TITLE_CHARS]))
    if len(feeds) > max_feeds:
        raise FeedError(
            f"{name}: has {len(feeds):,} feeds; at most {max_feeds:,} are watched, see feeds.max_feeds in "
            "the settings"
        )
    if not feeds:
        raise FeedError(
            problems[0]
            if problems
            else f"{name}: has no feeds; expected OPML whose outlines have xmlUrl, or one URL per line"
        )
    return FeedList([*feeds.values()], problems)


@cache
def starter_list() -> str:
    """Return a list of well-known public feeds in many languages, to be edited."""
    return (Path(__file__).parent / "starter.txt").read_text(encoding="utf-8")


def _without_feed_scheme(url: str) -> str:
    """Replace the scheme ``feed``, which some readers export.

    Examples
    --------
    >>> _without_feed_scheme("feed:https://a.example/f"), _without_feed_scheme("feed://a.example/f")
    ('https://a.example/f', 'http://a.example/f')
    """
    if not url.startswith("feed:"):
        return url
    rest = url.removeprefix("feed:")
    return f"http:{rest}" if rest.startswith("//") else rest


def _parse_text(content: bytes) -> Iterator[tuple[int, str, str]]:
    """Yield line number, URL and title of each line that is not empty or a comment."""
    for number, line in enumerate(io.TextIOWrapper(io.BytesIO(content), "utf-8", "replace"), 1):
        url, _, title = line.strip().partition(" ")
        if url and not url.startswith("#"):
            yield number, url, title


def _parse_opml(content: bytes, name: str) -> list[tuple[int, str, str]]:
    """Return line number, URL and title of each outline with a URL of a feed."""
    entries: list[tuple[int, str, str]] = []
    roots: list[str] = []
    parser = expat.ParserCreate()

    def start(element: str, attributes: dict[str, str]) -> None:
        if not roots:
            roots.append(element.lower())
        if element.lower() == "outline":
            given = {key.lower(): value for key, value in attributes.items()}
            if given.get("xmlurl", "").strip():
                title = given.get("title") or given.get("text", "")
                entries.append((parser.CurrentLineNumber, given["xmlurl"], title))
                if len(entries) > MAX_ENTRIES:
                    raise FeedError(f"has more than {MAX_ENTRIES:,} outlines with xmlUrl; split the list")

    parser.StartElementHandler = start
    try:
        scan_xml(content)
        parser.Parse(content, True)
    except FeedError as error:
        raise FeedError(f"{name}: {error}") from error
    except expat.ExpatError as error:
        raise FeedError(
            f"{name}:{error.lineno}: is not well-formed XML ({expat.ErrorString(error.code)}); expected "
            "OPML, in which & is written &amp;"
        ) from error
    except (LookupError, ValueError) as error:
        raise FeedError(
            f"{name}: is in an encoding that cannot be read ({error!s:.80}); expected UTF-8"
        ) from error
    if roots != ["opml"]:
        raise FeedError(
            f"{name}: the root is <{roots[0]:.60}>; expected <opml>, or text with one URL per line"
        )
    return entries
