"""Links between articles, on disk."""

import gzip
import json
import pickle

import pytest

from isogloss.corpora import Concepts, LinkedArticles
from isogloss.exceptions import CorpusError

ROWS = [
    (1, 7, "enwiki", "Bled"),
    (2, 7, "slwiki", "Bled"),
    (3, 8, "enwiki", "Lake_Bohinj"),
    (4, 9, "slwiki", "Kranj"),
    (5, 9, "dewiki", "Krainburg"),
    (6, 12, "dewiki", "Bohinjer See"),
    (7, 12, "enwiki", 'O\'Hare ("airport")'),
]


@pytest.fixture
def table(tmp_path):
    """wb_items_per_site."""
    columns = "\n".join(
        f"  `{name}` int," for name in ("ips_row_id", "ips_item_id", "ips_site_id", "ips_site_page")
    )
    quoted = ((*row[:3], row[3].replace("'", "\\'").replace('"', '\\"')) for row in ROWS)
    rows = ",".join(f"({a},{b},'{c}','{d}')" for a, b, c, d in quoted)
    path = tmp_path / "items.sql.gz"
    text = (
        f"CREATE TABLE `wb_items_per_site` (\n{columns}\n);\nINSERT INTO `wb_items_per_site` VALUES {rows};\n"
    )
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.mark.parametrize("codes", [("en", "sl"), ("en", "sl", "de")])
def test_they_say_what_concepts_say(table, tmp_path, codes):
    links = LinkedArticles.from_sitelinks(tmp_path / "links", table, codes)
    concepts = Concepts.from_sitelinks(table, codes)
    titles = {row[3].replace("_", " ") for row in ROWS} | {"Nothing", ""}
    for code in ("en", "sl", "de", "fr"):
        for title in titles:
            assert links(code, title) == concepts(code, title)
    assert len(links) == len(set(concepts.rows.values()))
    assert sum(links.articles.values()) == len(concepts.rows)
    again = LinkedArticles.from_concepts(tmp_path / "again", concepts, codes)
    assert all(again(*article) == row for article, row in concepts.rows.items())


def test_they_are_handed_on_by_their_path(table, tmp_path):
    links = LinkedArticles.from_sitelinks(tmp_path / "links", table, ["en", "sl"])
    pickled = pickle.dumps(links)
    assert len(pickled) < 1_000
    assert pickle.loads(pickled)("sl", "Bled") == "Q7"
    assert pickle.loads(pickled).fingerprint() == links.fingerprint()


def test_no_common_item(table, tmp_path):
    with pytest.raises(CorpusError, match="no item has articles in two of sl, fr"):
        LinkedArticles.from_sitelinks(tmp_path / "links", table, ["sl", "fr"])
    with pytest.raises(CorpusError, match="has no article in fr, it"):
        LinkedArticles.from_sitelinks(tmp_path / "links", table, ["fr", "it"])
    assert not (tmp_path / "links").exists()


def test_folders_that_hold_none(table, tmp_path):
    with pytest.raises(CorpusError, match=r"links\.json cannot be read"):
        LinkedArticles(tmp_path)
    LinkedArticles.from_sitelinks(tmp_path / "links", table, ["en", "sl"])
    header = tmp_path / "links" / "links.json"
    said = json.loads(header.read_text())
    header.write_text(json.dumps(said | {"version": 9}))
    with pytest.raises(CorpusError, match="another format or version"):
        LinkedArticles(tmp_path / "links")
    header.write_text("{")
    with pytest.raises(CorpusError, match="is damaged"):
        LinkedArticles(tmp_path / "links")
    header.write_text(json.dumps(said | {"articles": {"en": 99}}))
    with pytest.raises(CorpusError, match=r"keys\.npy: has shape"):
        LinkedArticles(tmp_path / "links")
