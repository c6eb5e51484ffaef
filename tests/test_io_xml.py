"""XML from anybody: what is refused, and where the message points."""

import pytest

from isogloss.exceptions import CorpusError, FeedError
from isogloss.io import XmlReader


class Reader(XmlReader):
    def __init__(self, error=CorpusError):
        super().__init__("a.xml", "a page", error)
        self.said, self.words = [], ""

    def start(self, name, attributes):
        self.said.append((name, attributes, self.line))

    def end(self, name):
        self.said.append(name)

    def text(self, text):
        self.words += text


def test_elements_and_text_come_in_their_order_however_the_file_is_cut():
    data = b'<a x="1">\n<b>cat</b></a>'
    for size in (1, 2, 7, len(data)):
        reader = Reader()
        for first in range(0, len(data), size):
            reader.feed(data[first : first + size])
        reader.feed(b"", final=True)
        assert reader.said == [("a", {"x": "1"}, 1), ("b", {}, 2), "b", "a"]
        assert reader.words == "\ncat"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.xml:1: is not well-formed XML .no element found.; expected a page"),
        (b"<a>\n</b>", "a.xml:2: is not well-formed XML .mismatched tag."),
        (b"<a>", "no element found"),
        (b"\xff\x00\x01", "a.xml:1: is not well-formed XML"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;</a>', "a.xml:1: declares the entity 'b'; expected a page"),
        (b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>', "declares the entity 'b'"),
        (b'<!DOCTYPE a [<!ENTITY % b "c">]><a/>', "declares the entity 'b'"),
        (
            b'<?xml version="1.0" encoding="shift_jis"?><a/>',
            "'shift_jis'; convert the file to UTF-8",
        ),
        (b'<?xml version="1.0" encoding="nonsense"?><a/>', "encoding 'nonsense'; convert the file to UTF-8"),
        (b'<?xml version="1.0" encoding="hex"?><a/>', "encoding 'hex'; convert the file to UTF-8"),
    ],
)
def test_what_is_refused(data, message):
    with pytest.raises(FeedError, match=message):
        Reader(FeedError).feed(data, final=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-2", "windows-1251", "ascii"])
def test_encodings_that_the_parser_knows_are_read(encoding):
    reader = Reader()
    reader.feed(f'<?xml version="1.0" encoding="{encoding}"?><a/>'.encode(encoding), final=True)
    assert reader.said == [("a", {}, 1), "a"]


def test_an_error_of_the_reader_itself_is_not_taken_for_one_of_the_file():
    reader = Reader()
    reader._parser.StartElementHandler = lambda name, attributes: [][0]
    with pytest.raises(IndexError):
        reader.feed(b'<?xml version="1.0"?><a/>')
