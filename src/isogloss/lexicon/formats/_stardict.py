"""Dictionaries for StarDict, GoldenDict, KOReader and others, written by pyglossary."""

from __future__ import annotations

from html import escape
from pathlib import Path
from shutil import make_archive
from tempfile import TemporaryDirectory

from isogloss.extras import import_extra
from isogloss.lexicon.aligned import AlignedDictionary, Entry, Example
from isogloss.lexicon.site import Description


def write_stardict(dictionary: AlignedDictionary, description: Description, folder: Path, name: str) -> str:
    """Write ``NAME.stardict.zip`` into a folder, with forms as synonyms of headwords; return its name."""
    module = import_extra("pyglossary.glossary_v2", "stardict", "a StarDict file")
    module.Glossary.init()
    glossary = module.Glossary()
    glossary.setInfo("name", description.heading)
    glossary.setInfo("sourceLang", description.source.code)
    glossary.setInfo("targetLang", description.target.code)
    for entry in dictionary.source:
        words = list(dict.fromkeys(form for form, _ in entry.forms))
        glossary.addEntry(glossary.newEntry(words, _article(dictionary, entry), defiFormat="h"))
    packed = f"{name}.stardict"
    with TemporaryDirectory() as temporary:
        glossary.write(f"{temporary}/{name}.ifo", formatName="Stardict", dictzip=False)
        make_archive(str(folder / packed), "zip", temporary)
    return f"{packed}.zip"


def _article(dictionary: AlignedDictionary, entry: Entry) -> str:
    lines = []
    for one in entry.translations:
        shown = "".join(f"<br>{_pair(dictionary, example)}" for example in one.examples[:1])
        lines.append(f"<li><b>{escape(one.text)}</b> {100 * one.probability:.0f} %{shown}</li>")
    phrases = "".join(f"<li>{escape(one.text)}: {escape(one.translation)}</li>" for one in entry.phrases)
    return f"<ol>{''.join(lines)}</ol>" + (f"<ul>{phrases}</ul>" if phrases else "")


def _pair(dictionary: AlignedDictionary, example: Example) -> str:
    source, target = (
        side.texts[example.sentence] for side in (dictionary.text.source, dictionary.text.target)
    )
    return f"<i>{escape(source)}</i><br>{escape(target)}"
