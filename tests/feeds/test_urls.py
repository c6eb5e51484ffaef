"""RELIABILITY 24: addresses that must never be connected to."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.exceptions import FeedError
from isogloss.feeds import is_public
from isogloss.feeds._urls import CheckedUrl

REFUSED = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "203.0.113.5",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "3fff::1",
    "fc00::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
    "",
]


@pytest.mark.parametrize("address", REFUSED)
def test_refused(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"])
def test_public(address):
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_wrapping_never_opens_what_is_closed(address):
    wrapped = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) + int(address))
    six_to_four = ipaddress.IPv6Address((0x2002 << 112) | (int(address) << 80))
    assert is_public(str(wrapped)) == is_public(str(address))
    assert not is_public(str(six_to_four))
    assert not is_public(f"::ffff:{address}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://a.example/", "scheme is 'ftp'"),
        ("//a.example/", "scheme is ''"),
        ("http:///path", "expected a host"),
        ("http://user:secret@a.example/", "no user name"),
        ("http://a.example:22/", "port 22"),
        ("http://a.example:99999/", "is not a URL"),
        ("http://a.example/\r\nX: y", "no blanks"),
        ("http://a.example\\@b.example/", "backslashes"),
        ("http://[::1/", "is not a URL"),
        ("http://a.example/\udcff", "no blanks"),
        ("http://\u00a8/", "is not a URL"),
        ("http://a.example/" + "a" * 3000, "at most 2,048"),
    ],
)
def test_urls_refused(url, said):
    with pytest.raises(FeedError, match=said):
        CheckedUrl.parse(url)


_PIECES = (
    "http://",
    "//",
    "[",
    "]",
    "@",
    ":",
    "%",
    "..",
    "/",
    "?",
    "#",
    "a.example",
    "::1",
    "\udcff",
    "\\",
    "ß",
)


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=3)), max_size=8).map("".join))
def test_any_redirect_leads_to_a_target_or_is_refused(location):
    try:
        target = CheckedUrl.parse("https://a.example/x").redirect(location, frozenset({443}))
    except FeedError:
        return
    assert target.scheme == "https"
    assert target.url.isascii()


@given(st.text(max_size=60))
def test_any_text_is_a_checked_url_or_refused(text):
    try:
        target = CheckedUrl.parse("http://" + text)
    except FeedError:
        return
    assert target.host.isascii()
    assert "\r" not in target.url
    assert "\n" not in target.url
    assert target.port in (80, 443)


def test_international_hosts():
    assert (
        CheckedUrl.parse("https://münchen.example/ä?q=ö").url
        == "https://xn--mnchen-3ya.example/%C3%A4?q=%C3%B6"
    )


def test_redirects_stay_safe():
    start = CheckedUrl.parse("https://a.example/x/y")
    assert start.redirect("../z", frozenset({443})).url == "https://a.example/z"
    with pytest.raises(FeedError, match="from https to"):
        start.redirect("http://a.example/", frozenset({80, 443}))
