"""Lists of feeds: OPML as it is found in the wild, text, and what is neither."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.exceptions import FeedError
from isogloss.feeds import parse_feed_list, read_feed_list, starter_list


def urls(content, **limits):
    return [feed.url for feed in parse_feed_list(content, **limits).feeds]


def opml(inside):
    return f'<?xml version="1.0"?><opml version="2.0"><head/><body>{inside}</body></opml>'.encode()


def test_outlines_however_nested_and_named():
    found = parse_feed_list(
        opml(
            '<outline text="World"><outline text="Daily" title="The Daily" type="rss" '
            'xmlUrl="https://a.example/f?a=1&amp;b=2" htmlUrl="https://a.example"/>'
            '<outline text="Deep"><outline XMLURL=" feed://b.example/f "/></outline></outline>'
            '<outline text="Link" htmlUrl="https://c.example"/><outline xmlUrl=""/>'
            '<outline text="Again" xmlUrl="https://a.example/f?a=1&amp;b=2"/>'
        )
    )
    assert [(feed.url, feed.title) for feed in found.feeds] == [
        ("https://a.example/f?a=1&b=2", "The Daily"),
        ("http://b.example/f", ""),
    ]
    assert found.problems == []


def test_text_with_comments_titles_and_a_byte_order_mark():
    found = parse_feed_list(
        "\ufeff# Mine\r\n\r\nhttps://a.example/f  Die  Möwe\nhttps://b.example/\n".encode()
    )
    assert [(feed.url, feed.title) for feed in found.feeds] == [
        ("https://a.example/f", "Die Möwe"),
        ("https://b.example/", ""),
    ]


def test_entries_that_are_not_urls_are_left_out_with_their_line():
    found = parse_feed_list(b"https://a.example/f\nftp://b.example/\nnews\n", "mine.txt")
    assert [feed.url for feed in found.feeds] == ["https://a.example/f"]
    assert found.problems[0].startswith("mine.txt:2: 'ftp://b.example/': the scheme is 'ftp'")
    assert found.problems[1].startswith("mine.txt:3: 'news'")
    listed = parse_feed_list(opml("\n<outline xmlUrl='javascript:alert(1)'/><outline xmlUrl='http://a/'/>"))
    assert listed.problems[0].startswith("the list:2: 'javascript:alert(1)'")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no feeds"),
        (b"# nothing\n", "has no feeds"),
        (b"\x00\x01\x02 PK", "the list:1"),
        (opml(""), "has no feeds"),
        (opml("<outline text='a'/>" * 1000), "has no feeds"),
        (b"<html><body>no</body></html>", "the root is <html>; expected <opml>"),
        (b"<rss version='2.0'/>", "the root is <rss>"),
        (b'<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><opml>&c;</opml>', "declares an entity"),
        (opml("<outline>" * 500), "nested deeper than 100"),
        (opml('<outline xmlUrl="http://a.example/?a&b"/>'), "in which & is written &amp;"),
        (b"<opml><body>", "the list:1: is not well-formed"),
        (b'<?xml version="1.0" encoding="utf-7"?><opml/>', "'utf-7'"),
        (b"<" + b"a" * (11 << 20), "more than 10,485,760 bytes"),
    ],
)
def test_what_is_no_list(content, said):
    with pytest.raises(FeedError) as refused:
        parse_feed_list(content)
    assert said in str(refused.value)


def test_ten_thousand_feeds_are_read_and_more_are_refused():
    many = "".join(
        f'<outline text="F"><outline xmlUrl="http://a{n}.example/f"/></outline>' for n in range(10_000)
    )
    assert len(urls(opml(many))) == 10_000
    with pytest.raises(FeedError, match=r"has 10,000 feeds; at most 9,999 are watched, see feeds\.max_feeds"):
        parse_feed_list(opml(many), max_feeds=9_999)


_PIECES = (b"<opml>", b"<outline xmlUrl='http://a.example/'/>", b"<!ENTITY", b"&a;", b"\n", b"<![CDATA[")


@given(st.lists(st.one_of(st.binary(max_size=6), st.sampled_from(_PIECES)), max_size=10).map(b"".join))
def test_any_bytes_are_a_list_or_refused(content):
    try:
        found = parse_feed_list(content)
    except FeedError:
        return
    assert found.feeds


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FeedError, match=r"cannot read .*none\.opml"):
        read_feed_list(tmp_path / "none.opml")


def test_the_starter_list_is_a_list():
    found = parse_feed_list(starter_list().encode(), "starter")
    assert found.problems == []
    assert len(found.feeds) >= 40
    assert all(feed.title for feed in found.feeds)
    assert len({feed.title for feed in found.feeds}) == len(found.feeds)
