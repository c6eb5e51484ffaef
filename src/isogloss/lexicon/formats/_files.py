"""All files of a dictionary at once."""

from __future__ import annotations

from pathlib import Path

from isogloss.extras import has_module
from isogloss.lexicon.aligned import AlignedDictionary
from isogloss.lexicon.formats._lines import write_entries, write_table
from isogloss.lexicon.formats._stardict import write_stardict
from isogloss.lexicon.formats._xml import write_lift, write_tei
from isogloss.lexicon.site import Description, Download


def write_files(dictionary: AlignedDictionary, description: Description, folder: Path) -> list[Download]:
    """Write both directions in all formats into a folder; StarDict only where pyglossary is installed.

    Returns
    -------
    list of Download
        The files, with paths relative to the parent of the folder.
    """
    found = []
    for one, labels in ((dictionary, description), (dictionary.swapped(), description.swapped())):
        stem = f"{labels.source.code}-{labels.target.code}"
        write_table(one, folder / f"{stem}.tsv")
        write_entries(one, folder / f"{stem}.jsonl")
        write_tei(one, labels, folder / f"{stem}.tei.xml")
        write_lift(one, labels, folder / f"{stem}.lift")
        kinds = [(f"{stem}.{ending}", what) for ending, what in _FORMATS.items()]
        if has_module("pyglossary"):
            kinds.append((write_stardict(one, labels, folder, stem), "StarDict, for GoldenDict and KOReader"))
        found += [Download(name, f"{folder.name}/{name}", what) for name, what in kinds]
    return found


_FORMATS = {
    "tsv": "table, for spreadsheets",
    "jsonl": "JSON lines, for programs",
    "tei.xml": "TEI, for archives",
    "lift": "LIFT, for FieldWorks",
}
