"""Which addresses of the internet may be connected to.

A name can point anywhere: to this machine, to its neighbours behind the same firewall, or to another
address wrapped in an IPv6 one. :func:`is_public` therefore looks at the address itself, and inside wrapped
ones, where ``ipaddress.is_global`` does not.
"""

from __future__ import annotations

import ipaddress

__all__ = ["is_public"]

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST = ipaddress.IPv6Network("2000::/3")
_SPECIAL = tuple(
    ipaddress.IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: wraps an IPv4 address
        "3fff::/20",  # documentation
    )
)
_NOT_HOSTS = (
    ipaddress.IPv4Network("192.0.0.0/24"),  # protocol assignments
    ipaddress.IPv4Network("192.88.99.0/24"),  # 6to4 relays: packets to them go to whatever they wrap
)


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet.

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
        return _public_four(parsed)
    if parsed in _NAT64:
        return _public_four(ipaddress.IPv4Address(parsed.packed[-4:]))
    return parsed in _UNICAST and not any(parsed in block for block in _SPECIAL)


def _public_four(address: ipaddress.IPv4Address) -> bool:
    return (
        address.is_global and not address.is_multicast and not any(address in block for block in _NOT_HOSTS)
    )
