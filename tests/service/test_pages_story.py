"""The parts of the page of an event that tell its story."""

import re

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from isogloss.service.app import create_app
from isogloss.service.models import Models
from isogloss.service.settings import Settings
from isogloss.store import Store
from tests.service.stories import LONG, TOLD, article, fill


def page(folder, told, address="/event/e1", *, reader="en", **models):
    with Store(folder / "news.db") as store:
        app = create_app(Settings(), fill(store, told), models=Models(**models))
        with TestClient(app, base_url="http://127.0.0.1:8470") as client:
            return client.get(address, headers={"accept-language": reader}).text


def part(text, name):
    """The text of a section by the id of its heading, without tags."""
    found = re.search(rf'<section aria-labelledby="{name}">(.*?)</section>\n\n', text, re.DOTALL)
    return " ".join(re.sub("<[^>]+>", " ", found[1]).split()) if found else ""


def test_titles_stand_side_by_side_with_what_they_are(tmp_path):
    titles = part(page(tmp_path, TOLD), "titles")
    assert titles.index("Fire at solvent warehouse") < titles.index("Großbrand in Antwerpen")
    assert "French Incendie à Anvers : deux morts Word by word: fire to Antwerp two dead phare" in titles
    assert titles.count("Word by word") == 2


def test_a_translation_is_marked_as_made_by_a_machine(tmp_path):
    class Translator:
        def translate(self, text, source, target):
            return "Big <fire>" if (source, target) == ("de", "en") else None

    text = page(tmp_path, TOLD, translator=Translator())
    assert "Machine translation: Big &lt;fire&gt;" in part(text, "titles")


def test_glosses_are_in_the_language_of_the_reader(tmp_path):
    class Translator:
        def translate(self, text, source, target):
            return f"{source} to {target}"

    titles = part(page(tmp_path, TOLD, reader="de-AT,en;q=0.5", translator=Translator()), "titles")
    assert "Machine translation (German): en to de" in titles
    assert "de to" not in titles


def test_chapters_are_listed_and_drawn(tmp_path):
    text = page(tmp_path, LONG)
    assert text.count('class="chapter"') == 2
    chapters = text[text.index('<h3 id="chapters">') :]
    first, second = re.findall("<li>(.*?)</li>", chapters, re.DOTALL)[:2]
    assert "5 to 9 Mar 2025" in first
    assert "after 9 days without news" in second
    assert "Court in Graz" in second
    assert "after" not in first


def test_a_short_event_has_no_chapters(tmp_path):
    text = page(tmp_path, TOLD)
    assert 'id="chapters"' not in text
    assert 'class="chapter"' not in text


def test_follow_ups_lead_to_their_pages(tmp_path):
    text = page(tmp_path, TOLD)
    assert 'href="/event/e2"' in text
    assert "Afterwards Police raid owner of Antwerp warehouse" in part(text, "related")


def test_before_stands_over_earlier_events(tmp_path):
    assert "Before Fire at solvent warehouse" in part(page(tmp_path, TOLD, "/event/e2"), "related")


def test_numbers_that_differ_are_marked(tmp_path):
    text = page(tmp_path, TOLD)
    assert re.findall("<mark>(.*?)</mark>", text) == ["3"]
    assert "3 (differs) bote" in part(text, "numbers")


def test_a_number_that_one_language_states_without_a_change_is_left_out(tmp_path):
    told = {"e1": [article(s, "en", "Fire: 2 dead", day=0, source=s) for s in ("gull", "tern")]}
    text = page(tmp_path, told)
    assert part(text, "numbers") == ""
    assert "grouped by their wording alone" not in text  # a cluster for each article here


def test_a_number_that_grew_shows_what_it_was(tmp_path):
    told = {"e1": [article(f"{n}", "en", f"Fire: {n} dead", day=n, source="gull") for n in (2, 5)]}
    assert "5 before: 2" in part(page(tmp_path, told), "numbers")


def test_who_was_first_and_who_has_not_reported(tmp_path):
    sources = part(page(tmp_path, TOLD), "sources")
    assert sources.startswith("Who reported gull was first, on 5 Mar 2025, 08:00 .")
    assert "bote 2 hours later 1 German" in sources
    assert "No article in Russian" in sources


def test_sources_lead_to_their_pages(tmp_path):
    assert '<a href="/source/gull">gull</a>' in page(tmp_path, TOLD)


def test_one_article_needs_no_certainty(tmp_path):
    text = page(tmp_path, TOLD, "/event/e3")
    assert "%" not in re.search('<p class="meta">.*?</p>', text, re.DOTALL)[0]
    assert "Why these belong together" not in text


def test_hostile_glosses_and_phrases_stay_text(tmp_path):
    told = {"e1": [article(s, "de", "<b>3 Tote</b> Feuer", day=0, source=f"<i>{s}") for s in "xy"]}
    assert "<b>3" not in page(tmp_path, told)
