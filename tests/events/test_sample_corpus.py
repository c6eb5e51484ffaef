"""The comparable corpus of the demo: the same topics in five languages, some missing, no text twice."""

import json
import re
import unicodedata
from collections import Counter
from importlib import resources

import pytest

CORPUS = resources.files("isogloss.events.ingest").joinpath("sample", "corpus")
LANGUAGES = ("de", "en", "es", "fr", "ru")
TRANSLATED = tuple(language for language in LANGUAGES if language != "en")
FREQUENT = {  # frequent in the language, rare or absent in the others
    "de": {"und", "der", "die", "ist", "nicht", "wird"},
    "en": {"the", "and", "of", "is", "with", "after"},
    "es": {"el", "los", "las", "y", "con", "del"},
    "fr": {"le", "et", "du", "une", "les", "est"},
    "ru": {"и", "в", "на", "из", "или", "что"},
}


def entries(language):
    """The entries of one language, in the order of the file."""
    text = CORPUS.joinpath(f"{language}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def ids(language):
    """The topics one language describes, in the order of the file."""
    return [entry["id"] for entry in entries(language)]


def sentences(text):
    """The sentences of an entry; a full stop ends one, a decimal point does not."""
    return re.split(r"(?<=[.!?])\s+", text)


def repeated(items):
    """What occurs more than once."""
    return [item for item, count in Counter(items).items() if count > 1]


def words(text):
    """The lower-cased words of a text."""
    return re.findall(r"[^\W\d_]+", text.lower())


def test_there_is_one_file_per_language():
    assert sorted(file.name for file in CORPUS.iterdir()) == [f"{language}.jsonl" for language in LANGUAGES]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_entry_is_an_id_a_title_and_a_text(language):
    for entry in entries(language):
        assert list(entry) == ["id", "title", "text"]
        assert all(isinstance(value, str) and value == value.strip() != "" for value in entry.values())
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", entry["id"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_entries_are_sorted_by_an_id_that_occurs_once(language):
    found = ids(language)
    assert found == sorted(set(found))


def test_english_describes_every_topic():
    assert len(ids("en")) == 220
    assert set().union(*(ids(language) for language in TRANSLATED)) <= set(ids("en"))


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_few_topics_are_missing_in_the_other_languages(language):
    assert 205 <= len(ids(language)) < 220


def test_every_topic_is_described_in_two_languages_at_least():
    described = Counter(topic for language in LANGUAGES for topic in ids(language))
    assert min(described.values()) >= 2
    assert len(set(described.values())) > 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_have_thirty_to_fifty_five_words(language):
    counts = {entry["id"]: len(entry["text"].split()) for entry in entries(language)}
    assert {topic: count for topic, count in counts.items() if not 30 <= count <= 55} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_are_whole_sentences(language):
    for entry in entries(language):
        assert len(sentences(entry["text"])) >= 2, entry["id"]
        assert entry["text"].endswith((".", "?", "!")), entry["id"]


def test_no_sentence_and_no_text_is_written_twice():
    texts = [entry["text"] for language in LANGUAGES for entry in entries(language)]
    assert repeated(texts) == []
    assert repeated(sentence for text in texts for sentence in sentences(text)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_title_is_given_twice(language):
    assert repeated(entry["title"] for entry in entries(language)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_written_in_its_language(language):
    for entry in entries(language):
        found = {other: len(FREQUENT[other].intersection(words(entry["text"]))) for other in LANGUAGES}
        own = found.pop(language)
        assert own > max(found.values()), (entry["id"], own, found)


@pytest.mark.parametrize("language", LANGUAGES)
def test_letters_belong_to_the_script_of_the_language(language):
    script = "CYRILLIC" if language == "ru" else "LATIN"
    text = "".join(entry["title"] + entry["text"] for entry in entries(language))
    letters = set(filter(str.isalpha, text))
    assert {letter for letter in letters if not unicodedata.name(letter).startswith(script)} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_text_is_in_composed_normal_form(language):
    raw = CORPUS.joinpath(f"{language}.jsonl").read_text(encoding="utf-8")
    assert unicodedata.is_normalized("NFC", raw)


def test_sample_sentences_are_translations_in_all_languages():
    text = CORPUS.parent.joinpath("sentences.tsv").read_text(encoding="utf-8")
    header, *rows = [line.split("\t") for line in text.splitlines()]
    assert sorted(header) == list(LANGUAGES)
    assert len(rows) == 162
    assert all(len(row) == len(header) and all(cell == cell.strip() != "" for cell in row) for row in rows)
    for language, column in zip(header, zip(*rows, strict=True), strict=True):
        assert not repeated(column), language
        assert len(FREQUENT[language] & set(words(" ".join(column)))) >= 3
        assert all(sentence.endswith(".") for sentence in column)
