"""Articles of a Wikipedia dump as words: ours and gensim's WikiCorpus.

The dump is the excerpt of the English Wikipedia that gensim has among its tests (206 pages, 6 MB of XML), or
the one that ISOGLOSS_DUMP names. Both remove the markup and count the words of each article, in one process
(ours has the parser in a child process, gensim in a worker); accuracy is the number of articles. gensim
leaves out articles with fewer than 50 words, which is switched off. Details: megabytes of XML, pages and
articles in a CPU second of ours and of gensim, of ours without the parser of markup, and of links for concept
dictionaries; and rows per CPU second of the table wb_items_per_site, made for the purpose.
"""

from __future__ import annotations

import bz2
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import Result, compare, measure_seconds, need
from isogloss.corpora import LinkedArticles, WikipediaDump
from isogloss.events.annotate import LinkCounts
from isogloss.text import Tokeniser

EXCERPT = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
ITEMS = 300_000


def main() -> Result:
    """Compare them."""
    gensim = need("gensim.corpora.wikicorpus", package="gensim")
    given = os.environ.get("ISOGLOSS_DUMP")
    path = Path(given) if given else Path(gensim.__file__).parents[1] / "test" / "test_data" / EXCERPT
    with bz2.open(path) as content:
        xml = content.read()
    size, pages = len(xml) / 1e6, xml.count(b"<page>")
    articles = sum(1 for _ in WikipediaDump(path).raw())
    details: dict[str, Any] = {"mb": round(size, 2), "pages": pages, "articles": articles}
    for name, run in (
        ("ours", lambda: count(path)),
        ("gensim", lambda: count_gensim(gensim, path)),
        ("reading_alone", lambda: sum(1 for _ in WikipediaDump(path).raw())),
        ("links", lambda: count_links(path)),
    ):
        seconds = least(run)
        details |= {
            f"{name}_mb_per_s": round(size / seconds, 2),
            f"{name}_pages_per_s": round(pages / seconds),
        }
        details[f"{name}_articles_per_s"] = round(articles / seconds)
    details["items_per_s"] = round(ITEMS / seconds_of_items())
    return compare(
        "wikipedia",
        ours=lambda: count(path),
        peer=lambda: count_gensim(gensim, path),
        peer_name="gensim WikiCorpus",
        accuracy=float,
        repeats=3,
        details=details,
    )


def count(path: Path) -> int:
    """Count the words of every article; return the number of articles."""
    tokenise = Tokeniser("en")
    return sum(1 for document in WikipediaDump(path) if Counter(tokenise(document.text)) is not None)


def count_gensim(gensim: Any, path: Path) -> int:
    """Do the same with gensim."""
    corpus = gensim.WikiCorpus(str(path), processes=1, dictionary={}, article_min_tokens=0)
    return sum(1 for words in corpus.get_texts() if Counter(words) is not None)


def count_links(path: Path) -> int:
    """Count links and words of all pages, for a concept dictionary."""
    counts = LinkCounts("en")
    for page in WikipediaDump(path).pages():
        if page.namespace == "0":
            counts.add(page)
    return len(counts.titles)


def seconds_of_items() -> float:
    """CPU seconds that a table of Wikidata takes, with three languages of ten."""
    codes = ("en", "de", "sl", "fr", "it", "es", "ru", "ja", "nl", "sv")
    columns = ",\n".join(
        f"  `{name}` int" for name in ("ips_row_id", "ips_item_id", "ips_site_id", "ips_site_page")
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "items.sql")
        lines = [f"CREATE TABLE `wb_items_per_site` (\n{columns}\n);\n"]
        for first in range(0, ITEMS, 10_000):
            rows = (
                f"({n},{n // 10 + 1},'{codes[n % 10]}wiki','Some title {n}')"
                for n in range(first, first + 10_000)
            )
            lines.append(f"INSERT INTO `wb_items_per_site` VALUES {','.join(rows)};\n")
        path.write_text("".join(lines))
        return measure_seconds(lambda: LinkedArticles.from_sitelinks(Path(folder, "links"), path, codes[:3]))[
            0
        ]


def least(run: Callable[[], object], repeats: int = 2) -> float:
    """CPU seconds of the quickest of some runs, children included."""
    return min(measure_seconds(run)[0] for _ in range(repeats))
