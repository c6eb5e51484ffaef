"""Dictionaries of concepts."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from isogloss.cli.news._concepts import concepts_group
from isogloss.corpora import Concepts, WikipediaDump
from isogloss.events import Article
from isogloss.events.annotate import Annotator, ConceptDictionary, build_concepts
from isogloss.events.annotate.concepts._dictionary import ConceptPhrase, write_concepts
from isogloss.exceptions import CorpusError

PAGE = "<page><title>{}</title><ns>0</ns><id>{}</id>{}<revision><text>{}</text></revision></page>"

EN = {
    "Danube": "The '''Danube''' is a river that floods. {{box|[[Hidden]]}}",
    "Planet": "A planet is [[Mercury (planet)|Mercury]].",
    "Flood": "A flood of the [[Danube]] or of another [[river]] is a danger. In [[Vienna]] it was seen.",
    "River": "A river such as the [[Danube|great river]] or the [[Danube]] can [[flood]] near [[Vienna]].",
    "Vienna": "Vienna lies on the [[Danube]] and has a [[flood]] barrier; the [[Danube|great river]] rises.",
    "Mercury (planet)": "[[Mercury (planet)|Mercury]] is a planet.",
    "Mercury (metal)": "A metal called [[Mercury (metal)|mercury]] is found here.",
    "The": "The is a word.",
}
REDIRECTS = {"Wien": "Vienna", "River Danube": "Danube"}
DE = {
    "Donau": "Die Donau fließt durch [[Wien]].",
    "Wien": "Wien liegt an der [[Donau]]. Ein [[Hochwasser]] der [[Donau]] ist selten.",
    "Hochwasser": "Das Hochwasser der [[Donau]] traf auch [[Wien]], ein schweres [[Hochwasser]].",
}
ROWS = {
    ("en", "Danube"): "en:Danube", ("de", "Donau"): "en:Danube",
    ("en", "Vienna"): "en:Vienna", ("de", "Wien"): "en:Vienna",
    ("en", "Flood"): "en:Flood", ("de", "Hochwasser"): "en:Flood",
    ("en", "Mercury (planet)"): "en:Mercury", ("en", "River"): "en:River",
}  # fmt: skip


def dump(path, pages, redirects=()):
    parts = [PAGE.format(title, n, "", text) for n, (title, text) in enumerate(pages.items())]
    parts += [
        PAGE.format(title, 100 + n, f'<redirect title="{target}" />', "")
        for n, (title, target) in enumerate(dict(redirects).items())
    ]
    path.write_text(f"<mediawiki><siteinfo><dbname>x</dbname></siteinfo>{''.join(parts)}</mediawiki>")
    return WikipediaDump(path)


@pytest.fixture
def dumps(tmp_path):
    return {"en": dump(tmp_path / "en.xml", EN, REDIRECTS), "de": dump(tmp_path / "de.xml", DE)}


@pytest.fixture
def concepts(dumps, tmp_path):
    build_concepts(dumps, tmp_path / "dictionary", Concepts(ROWS), min_links=2, min_linked=0.3)
    return ConceptDictionary(tmp_path / "dictionary")


def found(concepts, text, lang="en"):
    return {name for name, _, _ in concepts.find(text.lower().split(), lang)}


def test_titles_redirects_and_links_lead_to_concepts(concepts):
    assert found(concepts, "the danube near wien") == {"en:Danube", "en:Vienna"}
    assert found(concepts, "the great river") == {"en:Danube"}
    assert found(concepts, "the river danube") == {"en:Danube"}
    assert found(concepts, "ein hochwasser der donau", "de") == {"en:Flood", "en:Danube"}


def test_one_event_in_two_languages_has_the_same_concepts(concepts):
    english = found(concepts, "flood of the danube in vienna")
    assert english == found(concepts, "hochwasser der donau in wien", "de")


def test_what_is_not_linked_or_too_common_is_no_concept(concepts):
    assert found(concepts, "the hidden danger is near") == set()


def test_ambiguous_words_mean_what_most_links_mean(concepts, dumps, tmp_path):
    shares = {name: weight for name, _, weight in concepts.find(["mercury"], "en")}
    assert list(shares) == ["en:Mercury"]
    assert 0.5 <= shares["en:Mercury"] < 1
    build_concepts(dumps, tmp_path / "strict", Concepts(ROWS), min_share=0.9)
    assert found(ConceptDictionary(tmp_path / "strict"), "mercury") == set()


def test_entities_have_capital_letters_inside_sentences(concepts):
    kinds = {
        name: is_entity for name, is_entity, _ in concepts.find(["danube", "vienna", "flood", "river"], "en")
    }
    assert kinds == {"en:Danube": True, "en:Vienna": True, "en:Flood": False, "en:River": False}


def test_annotation_uses_the_dictionary(concepts):
    from datetime import UTC, datetime

    time = datetime(2031, 3, 6, tzinfo=UTC)
    one = Annotator(concepts=concepts, gazetteer=None).annotate(
        Article("1", "de", "Hochwasser", "Die Donau stieg in Wien.", time)
    )
    assert {"concept:en:Danube", "concept:en:Vienna"} <= one.entities.keys()
    assert "concept:en:Flood" in one.keywords


WORDS = st.sampled_from("abcdefgh")
PHRASES = st.lists(
    st.tuples(st.lists(WORDS, min_size=1, max_size=4).map(tuple), st.integers(0, 5)), max_size=25
)


@given(PHRASES, st.lists(WORDS, max_size=30))
def test_longest_matches_are_those_of_a_plain_search(tmp_path_factory, entries, text):
    entries = dict(entries)
    folder = tmp_path_factory.mktemp("d") / "dictionary"
    write_concepts(folder, {"en": [ConceptPhrase(words, f"c{n}", 1.0) for words, n in entries.items()]}, [])
    expected, place = [], 0
    while place < len(text):
        lengths = [
            n for n in range(6, 0, -1) if tuple(text[place : place + n]) in entries and place + n <= len(text)
        ]
        if lengths:
            expected.append(f"c{entries[tuple(text[place : place + lengths[0]])]}")
        place += lengths[0] if lengths else 1
    assert [name for name, _, _ in ConceptDictionary(folder).find(text, "en")] == list(
        dict.fromkeys(expected)
    )


def test_the_longest_of_phrases_that_begin_alike_counts(tmp_path):
    words = ("new", "york", "times")
    write_concepts(tmp_path / "d", {"en": [ConceptPhrase(words[:n], f"c{n}", 1.0) for n in (1, 2, 3)]}, [])
    concepts = ConceptDictionary(tmp_path / "d")
    for n in (1, 2, 3):
        assert found(concepts, " ".join(words[:n])) == {f"c{n}"}


def test_damaged_folders_are_refused(concepts, tmp_path):
    folder = tmp_path / "dictionary"
    with pytest.raises(CorpusError, match="is not a concept dictionary"):
        ConceptDictionary(tmp_path / "none")
    keys = folder / "en" / "keys.npy"
    keys.write_bytes(keys.read_bytes()[:-8])
    with pytest.raises(CorpusError, match="build the corpus again"):
        ConceptDictionary(folder)
    np.save(keys, np.zeros(3, np.uint64))
    with pytest.raises(CorpusError, match="expected"):
        ConceptDictionary(folder)
    (folder / "concepts.json").write_text("{}")
    with pytest.raises(CorpusError, match="damaged"):
        ConceptDictionary(folder)


def test_an_existing_folder_is_not_overwritten(dumps, concepts, tmp_path):
    with pytest.raises(CorpusError, match="already exists"):
        build_concepts(dumps, tmp_path / "dictionary")


def test_the_command(dumps, tmp_path):
    sitelinks = tmp_path / "items.json"
    items = {}
    for (lang, title), row in ROWS.items():
        items.setdefault(row, {})[f"{lang}wiki"] = {"title": title}
    lines = [json.dumps({"id": f"Q{n}", "sitelinks": links}) for n, links in enumerate(items.values())]
    sitelinks.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    out = tmp_path / "dictionary"
    files = [f"en={tmp_path / 'en.xml'}", f"de={tmp_path / 'de.xml'}"]
    runner = CliRunner()
    refused = runner.invoke(concepts_group, ["build", *files, "-o", str(out)])
    assert refused.exit_code == 2
    made = runner.invoke(
        concepts_group,
        ["build", *files, "-o", str(out), "--sitelinks", str(sitelinks), "--min-linked", "0.3", "--json"],
    )
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["languages"].keys() == {"en", "de"}
    shown = runner.invoke(concepts_group, ["find", str(out), "Die Donau bei Wien.", "--lang", "de", "--json"])
    assert {one["concept"] for one in json.loads(shown.stdout)["concepts"]} == {"Q0", "Q1"}
    assert runner.invoke(concepts_group, ["info", str(out)]).exit_code == 0
    assert "entity" in runner.invoke(concepts_group, ["find", str(out), "the Danube", "-l", "en"]).stdout


def test_a_file_that_is_no_dump_makes_no_dictionary(tmp_path):
    (tmp_path / "en.xml").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(CorpusError, match=r"en\.xml: has no article"):
        build_concepts({"en": WikipediaDump(tmp_path / "en.xml", on_bad="skip")}, tmp_path / "out")
    assert not (tmp_path / "out").exists()
