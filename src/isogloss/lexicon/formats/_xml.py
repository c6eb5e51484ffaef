"""Dictionaries as TEI, in the way of TEI Lex-0, and as LIFT 0.13, which FieldWorks and its relatives read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from isogloss.io import PathLike, atomic_write
from isogloss.lexicon.aligned import AlignedDictionary, Entry, Example, Phrase
from isogloss.lexicon.site import Description


class _Xml:
    """Writes elements one after the other."""

    def __init__(self, file: IO[bytes]) -> None:
        self._out = XMLGenerator(file, encoding="utf-8", short_empty_elements=True)
        self._out.startDocument()

    @contextmanager
    def inside(self, element: str, **attributes: str) -> Iterator[None]:
        """An element around those that are written meanwhile; ``xml_lang`` is the attribute ``xml:lang``."""
        renamed = {key.replace("xml_", "xml:"): value for key, value in attributes.items()}
        self._out.startElement(element, AttributesImpl(renamed))
        yield
        self._out.endElement(element)

    def leaf(self, element: str, text: str, **attributes: str) -> None:
        """An element with text only."""
        with self.inside(element, **attributes):
            self._out.characters(text)

    def line(self) -> None:
        """A line feed, which makes the file easier to look at."""
        self._out.characters("\n")


def write_tei(dictionary: AlignedDictionary, description: Description, path: PathLike) -> None:
    """Write a TEI document with the entries of the source language.

    Every translation is a sense, with an example; phrases are related entries. Frequencies are notes.
    """
    languages = description.source.code, description.target.code
    with atomic_write(path) as file:
        xml = _Xml(file)
        with xml.inside("TEI", xmlns="http://www.tei-c.org/ns/1.0", xml_lang=languages[0]):
            _tei_header(xml, description)
            with xml.inside("text"), xml.inside("body"):
                for number, entry in enumerate(dictionary.source, 1):
                    xml.line()
                    _tei_entry(xml, dictionary, entry, number, *languages)
            xml.line()


def _tei_header(xml: _Xml, description: Description) -> None:
    with xml.inside("teiHeader"), xml.inside("fileDesc"):
        with xml.inside("titleStmt"):
            xml.leaf("title", description.heading)
        with xml.inside("publicationStmt"):
            xml.leaf("p", f"Made with isogloss on {description.date}.")
        with xml.inside("sourceDesc"):
            for name, value in description.facts or (("Source", "aligned text"),):
                xml.leaf("p", f"{name}: {value}")


def _tei_entry(
    xml: _Xml, dictionary: AlignedDictionary, entry: Entry, number: int, lang: str, other: str
) -> None:
    name = f"w{number}"
    with xml.inside("entry", xml_id=name, xml_lang=lang, type="mainEntry"):
        with xml.inside("form", type="lemma"):
            xml.leaf("orth", entry.headword)
        for form, _ in entry.forms[1:]:
            with xml.inside("form", type="inflected"):
                xml.leaf("orth", form)
        if entry.name:
            with xml.inside("gramGrp"):
                xml.leaf("gram", "proper noun", type="pos")
        for k, one in enumerate(entry.translations, 1):
            with xml.inside("sense", xml_id=f"{name}.{k}", n=str(k)):
                with xml.inside("cit", type="translationEquivalent", xml_lang=other), xml.inside("form"):
                    xml.leaf("orth", one.text)
                for example in one.examples[:1]:
                    _tei_example(xml, dictionary, example, other)
                xml.leaf("note", str(one.count), type="frequency")
        for k, phrase in enumerate(entry.phrases, 1):
            _tei_phrase(xml, phrase, f"{name}.p{k}", lang, other)
        xml.leaf("note", str(entry.frequency), type="frequency")


def _tei_example(xml: _Xml, dictionary: AlignedDictionary, example: Example, other: str) -> None:
    with xml.inside("cit", type="example"):
        xml.leaf("quote", dictionary.text.source.texts[example.sentence])
        with xml.inside("cit", type="translation", xml_lang=other):
            xml.leaf("quote", dictionary.text.target.texts[example.sentence])


def _tei_phrase(xml: _Xml, phrase: Phrase, name: str, lang: str, other: str) -> None:
    with xml.inside("entry", xml_id=name, xml_lang=lang, type="relatedEntry"):
        with xml.inside("form", type="phrase"):
            xml.leaf("orth", phrase.text)
        with xml.inside("sense", xml_id=f"{name}.1"):
            with xml.inside("cit", type="translationEquivalent", xml_lang=other), xml.inside("form"):
                xml.leaf("orth", phrase.translation)
            xml.leaf("note", str(phrase.count), type="frequency")


def write_lift(dictionary: AlignedDictionary, description: Description, path: PathLike) -> None:
    """Write LIFT 0.13 with the entries of the source language, glossed in the target language.

    Every translation is a sense with a gloss and an example. Other forms are variants, phrases are entries of
    their own, and counts are notes.
    """
    languages = description.source.code, description.target.code
    with atomic_write(path) as file:
        xml = _Xml(file)
        with xml.inside("lift", version="0.13", producer="isogloss"):
            phrases: dict[tuple[str, str], Phrase] = {}
            for number, entry in enumerate(dictionary.source, 1):
                xml.line()
                _lift_entry(xml, dictionary, entry, number, *languages)
                phrases.update({(phrase.text, phrase.translation): phrase for phrase in entry.phrases})
            for number, phrase in enumerate(phrases.values(), 1):
                xml.line()
                _lift_phrase(xml, dictionary, phrase, number, *languages)
            xml.line()


def _lift_entry(
    xml: _Xml, dictionary: AlignedDictionary, entry: Entry, number: int, lang: str, other: str
) -> None:
    with xml.inside("entry", id=f"{entry.headword}_w{number}"):
        with xml.inside("lexical-unit"):
            _lift_form(xml, lang, entry.headword)
        xml_type = "proper noun" if entry.name else None
        for form, _ in entry.forms[1:]:
            with xml.inside("variant"):
                _lift_form(xml, lang, form)
        for k, one in enumerate(entry.translations):
            with xml.inside("sense", id=f"w{number}.{k + 1}", order=str(k)):
                if xml_type:
                    xml.leaf("grammatical-info", "", value=xml_type)
                with xml.inside("gloss", lang=other):
                    xml.leaf("text", one.text)
                for example in one.examples[:1]:
                    _lift_example(xml, dictionary, example, lang, other)
                _lift_note(xml, f"{one.count} of {entry.frequency} occurrences")


def _lift_phrase(
    xml: _Xml, dictionary: AlignedDictionary, phrase: Phrase, number: int, lang: str, other: str
) -> None:
    with xml.inside("entry", id=f"{phrase.text}_p{number}"):
        with xml.inside("lexical-unit"):
            _lift_form(xml, lang, phrase.text)
        xml.leaf("trait", "", name="morph-type", value="phrase")
        with xml.inside("sense", id=f"p{number}.1"):
            with xml.inside("gloss", lang=other):
                xml.leaf("text", phrase.translation)
            _lift_example(xml, dictionary, phrase.example, lang, other)
            _lift_note(xml, f"{phrase.count} occurrences")


def _lift_example(xml: _Xml, dictionary: AlignedDictionary, example: Example, lang: str, other: str) -> None:
    with xml.inside("example", source=f"pair {example.sentence + 1}"):
        _lift_form(xml, lang, dictionary.text.source.texts[example.sentence])
        with xml.inside("translation"):
            _lift_form(xml, other, dictionary.text.target.texts[example.sentence])


def _lift_note(xml: _Xml, text: str) -> None:
    with xml.inside("note", type="frequency"):
        _lift_form(xml, "en", text)


def _lift_form(xml: _Xml, lang: str, text: str) -> None:
    with xml.inside("form", lang=lang):
        xml.leaf("text", text)
