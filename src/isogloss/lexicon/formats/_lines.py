"""Dictionaries as tables and as JSON lines, for spreadsheets and programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from isogloss.io import PathLike, atomic_write
from isogloss.lexicon.aligned import AlignedDictionary, Entry, Example

TABLE_COLUMNS = (
    *("headword", "translation", "probability", "count", "frequency", "name", "forms"),
    *("example", "example translation"),
)


def write_table(dictionary: AlignedDictionary, path: PathLike) -> None:
    """Write a translation per line, tab-separated, with names of the columns on the first line.

    ``probability`` is the share of all ``frequency`` occurrences of the headword, ``count`` their number.
    ``name`` is 1 for proper names. Forms are separated by commas.
    """
    with atomic_write(path) as file:
        for row in (TABLE_COLUMNS, *_rows(dictionary)):
            file.write(("\t".join(" ".join(cell.split()) for cell in row) + "\n").encode())


def _rows(dictionary: AlignedDictionary) -> Iterator[tuple[str, ...]]:
    for entry in dictionary.source:
        forms = ", ".join(form for form, _ in entry.forms)
        for one in entry.translations:
            shown = _texts(dictionary, one.examples[0]) if one.examples else ("", "")
            figures = f"{one.probability:.4f}", str(one.count), str(entry.frequency), str(int(entry.name))
            yield entry.headword, one.text, *figures, forms, *shown


def write_entries(dictionary: AlignedDictionary, path: PathLike) -> None:
    """Write an entry per line as a JSON object, with all translations, phrases and examples."""
    with atomic_write(path) as file:
        for entry in dictionary.source:
            line = json.dumps(entry_as_dict(dictionary, entry), ensure_ascii=False)
            file.write(line.encode() + b"\n")


def entry_as_dict(dictionary: AlignedDictionary, entry: Entry) -> dict[str, Any]:
    """An entry as JSON."""
    translations = [
        {
            "text": one.text,
            "probability": round(one.probability, 4),
            "count": one.count,
            "score": round(one.score, 4),
            "examples": [_example_as_dict(dictionary, example) for example in one.examples],
        }
        for one in entry.translations
    ]
    phrases = [
        {
            "text": one.text,
            "translation": one.translation,
            "probability": round(one.probability, 4),
            "count": one.count,
            "example": _example_as_dict(dictionary, one.example),
        }
        for one in entry.phrases
    ]
    return {
        "headword": entry.headword,
        "frequency": entry.frequency,
        "name": entry.name,
        "forms": [list(form) for form in entry.forms],
        "translations": translations,
        "phrases": phrases,
    }


def _example_as_dict(dictionary: AlignedDictionary, example: Example) -> dict[str, Any]:
    source, target = _texts(dictionary, example)
    spans = {
        "source_spans": [list(span) for span in example.source],
        "target_spans": [list(span) for span in example.target],
    }
    return {"pair": example.sentence + 1, "source": source, "target": target, **spans}


def _texts(dictionary: AlignedDictionary, example: Example) -> tuple[str, str]:
    return dictionary.text.source.texts[example.sentence], dictionary.text.target.texts[example.sentence]
