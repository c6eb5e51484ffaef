"""Files of a dictionary: read back with other readers, and checked against the structure of their formats."""

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from zipfile import ZipFile

import pytest

from isogloss.lexicon.aligned import build_dictionary
from isogloss.lexicon.formats import write_files
from isogloss.lexicon.site import Description, SiteLanguage
from tests.lexicon.aligned.text import aligned, tale

TEI = "{http://www.tei-c.org/ns/1.0}"
XML = "{http://www.w3.org/XML/1998/namespace}"
HOSTILE = ("<b>&amp;\"'</b> \x00\x1b[31m ]]> dog", "</entry> & perro", "0-0 1-1")

TEXTS = {"form", "gloss", "lexical-unit", "translation", "note"}
LIFT = {
    "lift": {"entry"},
    "entry": {"lexical-unit", "variant", "sense", "trait", "note"},
    "lexical-unit": {"form"},
    "variant": {"form"},
    "sense": {"grammatical-info", "gloss", "example", "note"},
    "example": {"form", "translation"},
    "translation": {"form"},
    "note": {"form"},
    "gloss": {"text"},
    "form": {"text"},
    "text": set(),
    "trait": set(),
    "grammatical-info": set(),
}
"""Elements of LIFT 0.13 that we write, with those that may be in them."""
TEI_PARENTS = {
    "entry": {"body", "entry"},
    "form": {"entry", "cit"},
    "orth": {"form"},
    "gramGrp": {"entry"},
    "gram": {"gramGrp"},
    "sense": {"entry"},
    "cit": {"sense", "cit"},
    "quote": {"cit"},
    "note": {"entry", "sense"},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dictionary") / "files"
    folder.mkdir()
    dictionary = build_dictionary(aligned(tale() + [HOSTILE] * 5))
    languages = SiteLanguage("en", "English"), SiteLanguage("es", "Spanish")
    description = Description("A <tale> & more", *languages, "2026-01-31", (("Texts", "a & b"),))
    return dictionary, folder, write_files(dictionary, description, folder)


def parsed(path):
    return ElementTree.parse(path).getroot()


def test_every_file_is_listed_once(made):
    _, folder, files = made
    assert sorted(one.path for one in files) == sorted(f"files/{path.name}" for path in folder.iterdir())


def test_the_table_has_the_translations(made):
    dictionary, folder, _ = made
    with (folder / "en-es.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == sum(len(entry.translations) for entry in dictionary.source)
    dog = next(row for row in rows if row["headword"] == "dog")
    assert (dog["translation"], dog["count"], dog["frequency"], dog["forms"]) == (
        "perro",
        "24",
        "29",
        "dog, dogs",
    )


def test_json_lines_have_the_entries_with_the_places_of_their_words(made):
    dictionary, folder, _ = made
    lines = [json.loads(line) for line in (folder / "es-en.jsonl").read_text("utf-8").splitlines()]
    assert [line["headword"] for line in lines] == [entry.headword for entry in dictionary.target]
    perro = next(line for line in lines if line["headword"] == "perro")
    example = perro["translations"][0]["examples"][0]
    assert [example["source"][a:b] for a, b in example["source_spans"]] in (["perro"], ["perros"])


def test_lift_has_the_structure_of_its_format(made):
    dictionary, folder, _ = made
    root = parsed(folder / "en-es.lift")
    assert root.attrib["version"] == "0.13"
    for element in root.iter():
        assert {child.tag for child in element} <= LIFT[element.tag]
    ids = Counter(element.attrib["id"] for element in root.iter() if "id" in element.attrib)
    assert max(ids.values()) == 1
    assert all("lang" in element.attrib for tag in ("form", "gloss") for element in root.iter(tag))
    words = [entry.findtext("lexical-unit/form/text") for entry in root]
    assert words[: len(dictionary.source)] == [entry.headword for entry in dictionary.source]
    assert all(len(entry.findall("lexical-unit")) == 1 for entry in root)


def test_tei_has_the_structure_of_its_format(made):
    dictionary, folder, _ = made
    root = parsed(folder / "en-es.tei.xml")
    assert [child.tag for child in root] == [f"{TEI}teiHeader", f"{TEI}text"]
    assert root.findtext(f".//{TEI}title") == "A <tale> & more: English \u2013 Spanish"
    for parent in root.find(f"{TEI}text").iter():
        for child in parent:
            tag = child.tag.removeprefix(TEI)
            assert parent.tag.removeprefix(TEI) in TEI_PARENTS.get(tag, {"text"})
    names = [element.attrib[f"{XML}id"] for element in root.iter() if f"{XML}id" in element.attrib]
    assert len(names) == len(set(names)) > len(dictionary.source)


def test_stardict_is_read_again(made, tmp_path):
    glossary_module = pytest.importorskip("pyglossary.glossary_v2")
    dictionary, folder, _ = made
    ZipFile(folder / "en-es.stardict.zip").extractall(tmp_path)
    glossary_module.Glossary.init()
    glossary = glossary_module.Glossary()
    glossary.directRead(str(tmp_path / "en-es.ifo"), formatName="Stardict")
    articles = {word: entry.defi for entry in glossary for word in entry.l_word}
    assert {form for entry in dictionary.source for form, _ in entry.forms} <= set(articles)
    assert "perro" in articles["dogs"]
    assert "<b>&amp;" not in articles["dog"]
    assert "&lt;b&gt;" in "".join(articles.values())
