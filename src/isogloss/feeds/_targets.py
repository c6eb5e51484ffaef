"""Addresses of pages: what may be asked for at all, before anything is looked up."""

from __future__ import annotations

import dataclasses
import re
from urllib.parse import quote, urljoin, urlsplit

from isogloss.exceptions import FeedError

__all__ = ["Target"]

PORTS = {"http": 80, "https": 443}
MAX_URL = 2048
_ODD = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A page to ask for: scheme, host, port and path of a checked URL.

    Examples
    --------
    >>> Target.of("https://news.example/feed?lang=de#top")
    Target(scheme='https', host='news.example', port=443, path='/feed?lang=de')
    >>> Target.of("file:///etc/passwd")
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: 'file:///etc/passwd': the scheme is 'file'; expected http or https
    """

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str, ports: frozenset[int] = frozenset(PORTS.values())) -> Target:
        """The target of a URL; FeedError says what is wrong with it.

        Parameters
        ----------
        url : str
            The URL as it came.
        ports : frozenset of int
            Ports that may be asked for.
        """
        if len(url) > MAX_URL or _ODD.search(url):
            raise FeedError(
                f"{url[:60]!r}: a URL has at most {MAX_URL:,} letters and no blanks, backslashes or "
                "control characters"
            )
        try:
            parts = urlsplit(url)
            port = parts.port or PORTS.get(parts.scheme, 0)
            host = _ascii(parts.hostname or "")
        except (ValueError, UnicodeError) as error:
            raise FeedError(f"{url[:200]!r}: is not a URL ({error}); expected http://host/path") from error
        if parts.scheme not in PORTS:
            raise FeedError(f"{url[:200]!r}: the scheme is {parts.scheme!r}; expected http or https")
        if not host or "@" in parts.netloc:
            raise FeedError(f"{url[:200]!r}: expected a host and no user name or password before it")
        if port not in ports:
            raise FeedError(f"{url[:200]!r}: port {port} is not among {sorted(ports)}; allow it in `ports`")
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
        return cls(parts.scheme, host, port, f"{path}?{query}" if query else path)

    @property
    def authority(self) -> str:
        """Host and, where it is not the usual one, port: the ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole URL, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def follow(self, location: str, ports: frozenset[int]) -> Target:
        """Where a redirect from here leads; a page asked for safely is not followed to a plain one."""
        try:
            joined = urljoin(self.url, location.strip())
        except ValueError as error:
            raise FeedError(
                f"{self.url}: redirects to {location[:60]!r}, which is no URL ({error})"
            ) from error
        target = Target.of(joined, ports)
        if self.scheme == "https" and target.scheme == "http":
            raise FeedError(f"{self.url}: redirects from https to {target.url!r}; expected https")
        return target


def _ascii(host: str) -> str:
    """The host in letters that name servers know; some letters come to blanks there."""
    name = host if host.isascii() else host.encode("idna").decode()
    if _ODD.search(name):
        raise ValueError(f"the host is {name!r}")
    return name
