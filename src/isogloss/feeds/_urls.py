"""The SSRF guard: which URLs may be requested and which addresses may be connected to.

A host name can point anywhere: to this machine, to its neighbours behind the same firewall, or to another
address wrapped in an IPv6 one. :func:`is_public` therefore checks the address itself, and also looks inside
wrapped ones, where ``ipaddress.is_global`` does not.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from urllib.parse import quote, urljoin, urlsplit

from isogloss.exceptions import FeedError

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_URL_CHARS = 2048
_FORBIDDEN_CHARS = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_RESERVED_IPV6 = tuple(
    ipaddress.IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: wraps an IPv4 address
        "3fff::/20",  # documentation
    )
)
_RESERVED_IPV4 = (
    ipaddress.IPv4Network("192.0.0.0/24"),  # protocol assignments
    ipaddress.IPv4Network("192.88.99.0/24"),  # 6to4 relays: packets to them go to whatever they wrap
)


def is_public(address: str) -> bool:
    """Return whether an address belongs to the public internet.

    Parameters
    ----------
    address : str
        An IPv4 or IPv6 address in the form the operating system reports for a connection.

    Examples
    --------
    >>> is_public("93.184.216.34"), is_public("127.0.0.1"), is_public("100.64.0.1")
    (True, False, False)

    Loopback wrapped for NAT64 and 6to4, which the standard library calls global:

    >>> is_public("64:ff9b::7f00:1"), is_public("2002:7f00:1::")
    (False, False)
    """
    try:
        parsed = ipaddress.ip_address(address.split("%", 1)[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return _is_public_ipv4(parsed)
    if parsed in _NAT64:
        return _is_public_ipv4(ipaddress.IPv4Address(parsed.packed[-4:]))
    return parsed in _GLOBAL_UNICAST and not any(parsed in block for block in _RESERVED_IPV6)


def _is_public_ipv4(address: ipaddress.IPv4Address) -> bool:
    reserved = any(address in block for block in _RESERVED_IPV4)
    return address.is_global and not address.is_multicast and not reserved


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedUrl:
    """A URL that may be requested, split into scheme, host, port and path.

    Examples
    --------
    >>> CheckedUrl.parse("https://news.example/feed?lang=de#top")
    CheckedUrl(scheme='https', host='news.example', port=443, path='/feed?lang=de')
    >>> CheckedUrl.parse("file:///etc/passwd")
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: 'file:///etc/passwd': the scheme is 'file'; expected http or https
    """

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def parse(
        cls,
        url: str,
        ports: frozenset[int] = frozenset(DEFAULT_PORTS.values()),
        *,
        setting: str = "`ports`, or on the command line with --private",
    ) -> CheckedUrl:
        """Parse and check a URL.

        Parameters
        ----------
        url : str
            The URL.
        ports : frozenset of int
            Allowed ports.
        setting : str
            Where more ports can be allowed, for the message.

        Raises
        ------
        FeedError
            The URL is malformed or not allowed.
        """
        if len(url) > MAX_URL_CHARS or _FORBIDDEN_CHARS.search(url):
            raise FeedError(
                f"{url[:60]!r}: a URL has at most {MAX_URL_CHARS:,} characters and no blanks, backslashes or "
                "control characters"
            )
        try:
            parts = urlsplit(url)
            port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
            host = _ascii_host(parts.hostname or "")
        except (ValueError, UnicodeError) as error:
            raise FeedError(f"{url[:200]!r}: is not a URL ({error}); expected http://host/path") from error
        if parts.scheme not in DEFAULT_PORTS:
            raise FeedError(f"{url[:200]!r}: the scheme is {parts.scheme!r}; expected http or https")
        if not host or "@" in parts.netloc:
            raise FeedError(f"{url[:200]!r}: expected a host and no user name or password before it")
        if port not in ports:
            raise FeedError(f"{url[:200]!r}: port {port} is not among {sorted(ports)}; allow it in {setting}")
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
        return cls(parts.scheme, host, port, f"{path}?{query}" if query else path)

    @property
    def authority(self) -> str:
        """The value of the ``Host`` header: the host, and the port unless it is the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole URL, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def redirect(self, location: str, ports: frozenset[int]) -> CheckedUrl:
        """Resolve and check a ``Location`` header; a redirect from https to http is refused."""
        try:
            joined = urljoin(self.url, location.strip())
        except ValueError as error:
            raise FeedError(
                f"{self.url}: redirects to {location[:60]!r}, which is not a URL ({error})"
            ) from error
        target = CheckedUrl.parse(joined, ports)
        if self.scheme == "https" and target.scheme == "http":
            raise FeedError(f"{self.url}: redirects from https to {target.url!r}; expected https")
        return target


def _ascii_host(host: str) -> str:
    """Encode a host name for DNS; IDNA maps some characters to blanks, which are refused."""
    name = host if host.isascii() else host.encode("idna").decode()
    if _FORBIDDEN_CHARS.search(name):
        raise ValueError(f"the host is {name!r}")
    return name
