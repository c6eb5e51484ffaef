"""Pages of events that are very large or very small, and filters, reports and models at their edges."""

import re
from datetime import UTC, datetime

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from isogloss.events import Article
from isogloss.service.app import create_app
from isogloss.service.models import Models
from isogloss.service.settings import Settings
from isogloss.service.web.presentation._event_list import Filters
from isogloss.service.web.presentation._reports import report_sections
from isogloss.similarity import TopicSimilarity
from isogloss.store import ClusterRow, EventRow, Store, Update, to_micros
from tests.browser import extremes, newsroom
from tests.similarity.data import comparable_corpus


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    models = newsroom.models()
    held = Models(
        similarity=models.similarity, name="/folder/of/somebody/model.isogloss", report=models.report
    )
    with Store(tmp_path_factory.mktemp("extremes") / "news.db") as store:
        newsroom.fill(store)
        extremes.fill(store)
        app = create_app(Settings(), store, models=held)
        app.state.access.reads.per_second = app.state.access.reads.size = 1e9
        with TestClient(app, base_url="http://127.0.0.1:8470") as client:
            client.store = store
            yield client


def _columns(text):
    """Languages of the columns of articles, with how many are said to be there, shown and left out."""
    for column in re.findall(r'<section class="column".*?</section>', text, re.DOTALL):
        size = int(re.search(r'<span class="meta">(\d+)</span></h3>', column)[1])
        more = re.search(r"and (\d+) earlier", column)
        yield size, column.count("<li>"), int(more[1]) if more else 0


def test_a_large_event_says_how_many_articles_it_does_not_show(client):
    text = client.get(f"/event/{extremes.LARGE}").text
    columns = list(_columns(text))
    assert len(list(_columns(text.partition(f"Articles in {len(columns) - 8} more languages")[0]))) == 8
    assert len(columns) == len(extremes.LANGUAGES)
    assert sum(size for size, _, _ in columns) == extremes.ARTICLES
    for size, shown, more in columns:
        assert 0 < shown == size - more
    assert [size for size, _, _ in columns] == sorted((size for size, _, _ in columns), reverse=True)


def test_reprints_are_counted_and_listed_separately(tmp_path):
    noon = datetime(2025, 3, 5, 12, tzinfo=UTC)
    with Store(tmp_path / "news.db") as store:
        store.add([Article(str(i), "en", f"Storm {i}", "Roofs flew.", noon) for i in range(3)])
        told = {"title": {"en": "Storm 0"}, "languages": {"en": 2}}
        row = ClusterRow(1, "en", "e1", to_micros(noon), to_micros(noon), [1, 2, 3], {"reprints": [3]})
        event = EventRow("e1", to_micros(noon), to_micros(noon), 2, ["en"], data=told)
        store.apply(Update(before=0, after=3, events=[event], clusters=[row]))
        with TestClient(create_app(Settings(), store), base_url="http://127.0.0.1:8470") as client:
            text = client.get("/event/e1").text
    articles, details = text.split("and 1 reprint<")
    assert "Storm 2" not in articles
    assert "Storm 2" in details
    assert list(_columns(text)) == [(2, 3, 0)]


def _cells(text):
    """Names of the links in the matrix with their probabilities in percent."""
    return dict(re.findall(r"\?link=(\d+-\d+)#[^>]*><span[^>]*>[^<]*</span>(?:&gt; )?(\d+) %</a>", text))


def test_a_matrix_shows_the_links_of_the_largest_clusters(client):
    text = client.get(f"/event/{extremes.LARGE}").text
    assert len(_cells(text)) == 15
    assert text.count("not linked") == 16 * 15 / 2 - 15
    assert "Links of 484 smaller groups" in text
    assert "and 4 stronger links" in text
    assert "&gt; 99 %" in text


def test_every_cell_leads_to_the_reasons_of_its_link(client):
    text = client.get("/event/e22").text
    cells = _cells(text)
    assert len(cells) == len(newsroom_links(client))
    weakest = min(cells, key=lambda name: int(cells[name]))
    assert f'id="link-{weakest}"' in text
    assert "The weakest link" in text
    name = max(cells, key=lambda name: int(cells[name]))
    chosen = client.get(f"/event/e22?link={name}").text
    assert re.findall(r'class="link-evidence" id="([^"]+)"', chosen) == [f"link-{name}"]
    assert "The weakest link" not in chosen
    assert chosen.count('aria-current="true"') == 1


def newsroom_links(client):
    return client.app.state.isogloss.store.event("e22")["links"]


@pytest.mark.parametrize("name", ["", "7", "1-2-3", "999-1000", "<script>", "a-b"])
def test_a_link_that_the_event_does_not_have_is_the_weakest_instead(client, name):
    assert "The weakest link" in client.get("/event/e22", params={"link": name}).text


def test_every_language_has_one_article_that_can_be_read(client):
    text = client.get(f"/event/{extremes.LARGE}").text
    assert text.count("Read more") == len(extremes.LANGUAGES)
    shown = re.search(r'<p class="lead"[^>]*>(.*?)</p>.*?<p class="lead"[^>]*>(.*?)</p>', text, re.DOTALL)
    whole = f"{shown[1].removesuffix(' …')}{shown[2].removeprefix('… ')}"
    assert whole.split() == ("Thousands of homes were without power. " * 30).split()


def test_an_event_of_one_article_says_what_it_lacks(client):
    text = client.get(f"/event/{extremes.SINGLE}").text
    assert "1 article\n" in text
    assert "mention no known place" in text
    assert "Why these belong together" not in text
    assert 'dir="rtl"' in text


def test_a_card_names_some_of_many_languages(client):
    card = re.search(
        r'<article class="card">(?:(?!</article>).)*/event/large.*?</article>',
        client.get("/").text,
        re.DOTALL,
    )
    assert card[0].count('class="chip"') == 12
    assert f"and {len(extremes.LANGUAGES) - 12} more" in card[0]


def test_the_judged_link_is_shown_with_thanks(client):
    told = client.get(f"/event/{extremes.LARGE}?link=50000-50059").text
    address = re.findall(r'action="(/event/[^"]+/links/\d+/\d+)"', told)
    assert address == [f"/event/{extremes.LARGE}/links/50000/50059"]
    key = re.search(r'name="key" value="([^"]+)"', told)[1]
    answer = client.post(address[0], data={"key": key, "same": "0"})
    assert answer.status_code == 200
    assert answer.url.query == b"link=50000-50059&thanks=1"
    assert "Thank you" in answer.text
    assert 'id="link-50000-50059"' in answer.text


def test_every_filter_can_be_taken_away_alone():
    filters = Filters(("de", "fr"), "p", "c", "2025-03-01", "2025-03-09", 3, "size", without="sl")
    chosen = filters.chosen()
    assert [name for name, _, _ in chosen] == [
        "lang",
        "lang",
        "without",
        "place",
        "concept",
        "since",
        "until",
        "min_languages",
    ]
    for name, value, address in chosen:
        kept = {(other, said) for other, said, _ in chosen} - {(name, value)}
        assert all(re.search(rf"[?&]{other}={said}(&|$)", address) for other, said in kept), address
        assert not re.search(rf"[?&]{name}={value}(&|$)", address)
    assert Filters(sort="size").chosen() == []


def test_filters_in_use_stand_above_the_events(client):
    text = client.get("/?lang=de&since=2025-03-05").text
    for address in ("/?since=2025-03-05", "/?lang=de"):
        assert re.search(
            rf'<a class="chip" href="{re.escape(address)}"><span class="visually-hidden">Remove ', text
        )
    nothing = client.get("/?lang=de&place=nowhere").text
    assert "Remove a filter" in nothing


def test_the_models_page_shows_no_folders(client):
    for page in ("/models", "/status"):
        text = client.get(page).text
        assert "somebody" not in text
        assert "model" in text


def test_evaluations_are_tables_and_curves_by_their_shape():
    told = {
        "pairs": {"en-de": {"mrr": 0.5, "p1": 0.25}, "en-ru": {"mrr": 0.75}},
        "learning curve": [{"documents": 10, "mrr": 0.5}, {"documents": 40, "mrr": 0.75}],
        "no curve": [{"a": 2, "b": 1}, {"a": 1, "b": 2}],
        "word_counts": {"en": 3, "de": 4},
    }
    pairs, curve, table, facts = report_sections(told)
    assert (pairs.head, pairs.rows) == (
        ["", "mrr", "p1"],
        [["en-de", "0.500", "0.250"], ["en-ru", "0.750", ""]],
    )
    assert "documents 10" in curve.plot
    assert curve.rows == [["10", "0.500"], ["40", "0.750"]]
    assert table.plot is None
    assert (facts.name, facts.rows) == ("word counts", [["en", "3"], ["de", "4"]])


def test_search_and_comparison_offer_examples(client):
    searched = re.findall(r'<a class="chip" href="(/search\?q=[^"]+)"', client.get("/search").text)
    assert 1 < len(searched) <= 6
    for address in searched:
        assert 'class="card"' in client.get(address).text
    example = re.search(r'<a href="(/compare\?[^"]+)">Try an example', client.get("/compare").text)[1]
    assert ">Result<" in client.get(example.replace("&amp;", "&")).text


def test_topics_of_a_topic_model_have_no_other_end(client, tmp_path):
    model = TopicSimilarity(4, random_state=0).fit(comparable_corpus(n=120))
    with Store(tmp_path / "news.db") as store:
        app = create_app(Settings(), store, models=Models(similarity=model))
        with TestClient(app, base_url="http://127.0.0.1:8470") as other:
            page = other.get("/topics").text
    assert page.count('id="topic-') == 4
    assert "Other end" not in page
    assert model.spaces_["fr"].vocabulary.words[int(model.projectors_["fr"][:, 0].argmax())] in page
    assert "Other end" in client.get("/topics").text
