"""Excerpts of real dumps that come with gensim, where it is installed: no page is lost."""

import bz2
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from isogloss.corpora import WikipediaDump

NAMES = (
    "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
    "bgwiki-latest-pages-articles-shortened.xml.bz2",
    "enwiki-table-markup.xml.bz2",
)


@pytest.mark.parametrize("name", NAMES)
def test_every_page_is_read(name):
    """Counted in the text of the file, which is UTF-16 in Bulgarian."""
    found = find_spec("gensim")
    path = Path(found.origin).parent / "test" / "test_data" / name if found else Path("absent")
    if not path.is_file():
        pytest.skip("gensim, which has the excerpt among its tests, is not installed")
    content = bz2.decompress(path.read_bytes())
    text = content.decode("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8")
    pages = re.findall("<page>.*?</page>", text, re.DOTALL)
    articles = [page for page in pages if "<ns>0</ns>" in page and "<redirect " not in page]
    dump = WikipediaDump(path)
    assert [page.title for page in dump.pages()] == [
        re.search("<title>(.*?)</title>", page)[1].replace("&amp;", "&").replace("&quot;", '"')
        for page in pages
    ]
    assert sum(1 for _ in dump.raw()) == len(articles) > 0
