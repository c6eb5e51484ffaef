"""Writing the pages of a dictionary and the data that they load."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from isogloss.extras import import_extra
from isogloss.lexicon.aligned import AlignedDictionary, Entry, TextSide, fold_marks
from isogloss.lexicon.site._concordance import ConcordanceLines, text_shards
from isogloss.lexicon.site._description import Description, SiteLanguage

PAGE = 50
"""Entries per page."""
RANKS = 1000
"""Words per page of the frequency list."""
MAX_LETTERS = 100
"""Scripts with more initials have no row of letters."""
_SAMPLES = 8
_STATIC = ("site.css", "site.js")


class Download(NamedTuple):
    """A file that the start page offers."""

    name: str
    path: str
    what: str


class SitePart(NamedTuple):
    """One direction: its languages and entries, and where entries are."""

    language: SiteLanguage
    code: str
    entries: tuple[Entry, ...]
    order: list[int]
    """Numbers of the entries in alphabetical order."""
    page: list[int]
    """The page of each entry."""

    @classmethod
    def of(cls, language: SiteLanguage, code: str, entries: tuple[Entry, ...]) -> SitePart:
        """Put entries on pages."""
        order = sorted(range(len(entries)), key=lambda k: sort_key(entries[k].headword))
        page = [0] * len(entries)
        for at, number in enumerate(order):
            page[number] = at // PAGE + 1
        return cls(language, code, entries, order, page)

    def href(self, number: int) -> str:
        """The address of an entry in the folder of the language."""
        return f"{self.page[number]}.html#w{number}"

    @property
    def shown(self) -> dict[str, Any]:
        """What every template says about the language."""
        language = self.language
        return {
            "code": self.code,
            "lang": language.code,
            "name": language.name,
            "direction": language.direction,
            "entries": len(self.entries),
            "letters": self._letters(),
            "samples": self._samples(),
        }

    def _letters(self) -> list[tuple[str, str]]:
        found: dict[str, str] = {}
        for number in self.order:
            found.setdefault(initial(self.entries[number].headword), self.href(number))
        return list(found.items()) if len(found) <= MAX_LETTERS else []

    def _samples(self) -> list[tuple[str, str]]:
        """Some words that are neither very frequent nor names."""
        common = [
            k
            for k, one in enumerate(self.entries)
            if not one.name and one.translations and len(one.headword) > 2
        ]
        chosen = common[len(common) // 20 :: max(len(common) // 60, 1)][:_SAMPLES]
        return [(self.entries[k].headword, f"{self.code}/{self.href(k)}") for k in chosen]


def sort_key(word: str) -> tuple[str, str]:
    """Alphabetical order without accents and case, then with them."""
    return fold_marks(word).casefold(), word


def initial(word: str) -> str:
    """The letter under which a word stands.

    Examples
    --------
    >>> initial("čas"), initial("1694")
    ('C', '#')
    """
    letter = fold_marks(word)[:1].upper()[:1]
    return letter if letter.isalpha() else "#"


def write_site(
    dictionary: AlignedDictionary,
    description: Description,
    folder: Path,
    *,
    downloads: Sequence[Download] = (),
    ranking: str = "log-likelihood ratio",
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write all pages and data into a folder that exists.

    Parameters
    ----------
    dictionary : AlignedDictionary
        What to show.
    description : Description
        What to say about it.
    folder : path
        Where to.
    downloads : sequence of Download
        Files that the start page offers; their paths are relative to the folder.
    ranking : str
        What translations are ordered by, as the page about the dictionary calls it.
    progress : callable, optional
        Called with the name of each step as it begins.
    """
    writer = _Writer(dictionary, description, folder, ranking, downloads)
    say = progress or (lambda _: None)
    for part, other in (writer.parts, writer.parts[::-1]):
        say(f"writing pages of {part.language.name}")
        writer.write_part(part, other)
    say("writing texts")
    writer.write_texts()
    writer.write_start()


class _Writer:
    """Renders templates with what all pages have in common."""

    def __init__(
        self,
        dictionary: AlignedDictionary,
        description: Description,
        folder: Path,
        ranking: str,
        downloads: Sequence[Download],
    ) -> None:
        self.dictionary, self.description, self.folder = dictionary, description, folder
        self.ranking, self.downloads = ranking, downloads
        a, b = description.source, description.target
        codes = (a.code, b.code if b.code != a.code else f"{b.code}-2")
        self.parts = (
            SitePart.of(a, codes[0], dictionary.source),
            SitePart.of(b, codes[1], dictionary.target),
        )
        jinja = import_extra("jinja2", "dictionary", "the site")
        self._environment = jinja.Environment(
            loader=jinja.FileSystemLoader(str(files(__package__) / "templates")),
            autoescape=True,
            undefined=jinja.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._shown = [part.shown for part in self.parts]
        (folder / "data").mkdir()
        (folder / "static").mkdir()
        for name in _STATIC:
            (folder / "static" / name).write_bytes(files(__package__).joinpath("static", name).read_bytes())

    def _render(self, template: str, path: str, **values: Any) -> None:
        page = self._environment.get_template(template)
        text = page.render(
            root="../" * path.count("/"),
            title=self.description.title,
            date=self.description.date,
            sides=self._shown,
            **values,
        )
        (self.folder / path).write_text(text, "utf-8")

    def _data(self, name: str, data: Any) -> None:
        """A script that hands data to the pages."""
        text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
        (self.folder / "data" / f"{name}.js").write_text(f'isogloss.add("{name}",{text})\n', "ascii")

    def write_start(self) -> None:
        """The pages that belong to both directions."""
        self._render(
            "start.html", "index.html", pairs=len(self.dictionary.text.source), downloads=self.downloads
        )
        about = {"facts": self.description.facts, "warnings": self.description.warnings}
        self._render("about.html", "about.html", ranking=self.ranking, **about)
        self._render("concordance.html", "concordance.html")

    def write_texts(self) -> None:
        """The sentence pairs, which concordances load."""
        for name, pairs in text_shards(self.dictionary.text):
            self._data(name, pairs)

    def write_part(self, part: SitePart, other: SitePart) -> None:
        """The pages of one direction."""
        (self.folder / part.code).mkdir()
        sides = {"side": self._shown[self.parts.index(part)], "other": self._shown[self.parts.index(other)]}
        text = self.dictionary.text if part is self.parts[0] else self.dictionary.text.swapped()
        pages = [part.order[k : k + PAGE] for k in range(0, len(part.order), PAGE)]
        ranges, lines = [], ConcordanceLines(text)
        for number, page in enumerate(pages, 1):
            shown = [_shown_entry(k, part, other, text.source, text.target) for k in page]
            turning = {
                "previous": f"{number - 1}.html" if number > 1 else None,
                "next": f"{number + 1}.html" if number < len(pages) else None,
            }
            self._render(
                "entries.html", f"{part.code}/{number}.html", entries=shown, page=number, **sides, **turning
            )
            self._data(f"{part.code}-lines-{number}", lines.of({k: part.entries[k] for k in page}))
            ranges.append((shown[0]["headword"], shown[-1]["headword"], f"{number}.html"))
        self._render("letters.html", f"{part.code}/index.html", ranges=ranges, **sides)
        self._write_lists(part, other, sides)
        language = dataclasses.asdict(part.language)
        self._data(f"{part.code}-index", {**language, "rows": list(_index_rows(part))})

    def _write_lists(self, part: SitePart, other: SitePart, sides: dict[str, Any]) -> None:
        """The frequency list and the page to print."""
        starts = range(0, max(len(part.entries), 1), RANKS)
        names = [f"frequency{'' if k == 0 else f'-{k + 1}'}.html" for k in range(len(starts))]
        labels = [f"{start + 1:,}\u2013{min(start + RANKS, len(part.entries)):,}" for start in starts]
        for start, name in zip(starts, names, strict=True):
            rows = [
                {
                    "rank": k + 1,
                    "headword": entry.headword,
                    "href": part.href(k),
                    "frequency": entry.frequency,
                    "translation": entry.translations[0].text if entry.translations else "",
                }
                for k, entry in enumerate(part.entries[start : start + RANKS], start)
            ]
            pages = list(zip(labels, names, strict=True))
            self._render(
                "frequency.html", f"{part.code}/{name}", rows=rows, pages=pages, current=name, **sides
            )
        letters = [
            (letter, [_shown_entry(k, part, other) for k in numbers])
            for letter, numbers in groupby(part.order, lambda k: initial(part.entries[k].headword))
        ]
        letters = (
            letters if len(letters) <= MAX_LETTERS else [("", [one for _, each in letters for one in each])]
        )
        self._render("book.html", f"{part.code}/book.html", letters=letters, **sides)


def _shown_entry(
    number: int,
    part: SitePart,
    other: SitePart,
    source: TextSide | None = None,
    target: TextSide | None = None,
) -> dict[str, Any]:
    """An entry as templates show it, with examples if there is text."""
    entry = part.entries[number]
    translations = [
        {
            "text": one.text,
            "href": None if one.entry is None else f"{other.code}/{other.href(one.entry)}",
            "percent": _percent(one.probability),
            "count": one.count,
            "examples": []
            if source is None or target is None
            else [
                (
                    highlighted(source.texts[example.sentence], example.source),
                    highlighted(target.texts[example.sentence], example.target),
                )
                for example in one.examples
            ],
        }
        for one in entry.translations
    ]
    return {
        "number": number,
        "headword": entry.headword,
        "frequency": entry.frequency,
        "name": entry.name,
        "forms": entry.forms if len(entry.forms) > 1 else (),
        "translations": translations,
        "phrases": entry.phrases,
    }


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%" if share >= 0.005 else "<\u00a01\u00a0%"


def highlighted(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[bool, str]]:
    """Text in parts, each with whether it is highlighted.

    Examples
    --------
    >>> highlighted("the house", [(4, 9)])
    [(False, 'the '), (True, 'house')]
    """
    parts, at = [], 0
    for start, end in spans:
        parts += [(False, text[at:start]), (True, text[start:end])]
        at = end
    return [part for part in [*parts, (False, text[at:])] if part[1]]


def _index_rows(part: SitePart) -> Iterator[list[Any]]:
    """Rows of the search index: headwords, forms, and phrases, these under their rarest word only."""
    phrases: set[str] = set()
    for k in sorted(part.order, key=lambda k: part.entries[k].frequency):
        entry = part.entries[k]
        first = entry.translations[0].text if entry.translations else ""
        yield [entry.headword, part.page[k], k, entry.frequency, first, 0]
        for form, count in entry.forms[1:]:
            yield [form, part.page[k], k, count, first, 1]
        for phrase in entry.phrases:
            if phrase.text not in phrases:
                phrases.add(phrase.text)
                yield [phrase.text, part.page[k], k, phrase.count, phrase.translation, 2]
