r"""Builds a concept dictionary from wordnets.

A wordnet groups words that mean the same into synsets. The files of the `Open Multilingual Wordnet
<https://omwn.org>`_ name synsets by the offsets of Princeton WordNet 3.0, so a synset is one concept in all
languages. A line has a synset, a language with the kind of the line, and a lemma, separated by tabs::

    # Wiktionary	deu	http://wiktionary.org/	CC BY-SA
    07428954-n	deu:lemma	Erdbeben

A word has several senses, and senses that more languages have a word for are more common. With
:math:`n_s` languages that have a word for synset :math:`s`, a mention of word :math:`w` weighs

.. math:: \sqrt{p(s \mid w)}, \quad p(s \mid w) = n_s \Big/ \sum_{s' \in w} n_{s'}

for each of its three most common senses. The product of the weights of two words, summed over senses, is then
the Bhattacharyya coefficient of their sense distributions: 1 for words with the same senses, little for words
with many senses of which they share one.

Words are looked up by their stems (:mod:`isogloss.events.annotate._word_forms`); the senses of all lemmas
with the same stem count. Stop words, numbers and words of one or two letters are no phrases. Synsets of
adverbs and those that only one language has a word for are no concepts. A synset is an entity when most of
its lemmas have a capital letter, not counting languages that capitalise all nouns.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora.readers import Problems
from isogloss.events.annotate._names import capitalises_nouns
from isogloss.events.annotate._word_forms import WordForms, choose_forms, word_form
from isogloss.events.annotate._words import is_unspaced, stop_words
from isogloss.events.annotate.concepts._dictionary import (
    MAX_WORDS,
    PhraseMeanings,
    phrase_key,
    phrase_words,
    write_meanings,
)
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, read_lines
from isogloss.text import language

_SYNSET = re.compile(r"(\d{8})-([nvasr])")
_KIND = re.compile(r"(?:([A-Za-z]{2,3}(?:[_-]\w+)?):)?([a-z]+)")
_ADVERB = "r"
_FORMAT = "expected a synset such as 07428954-n, a kind such as deu:lemma and a lemma, separated by tabs"
_MIN_CHARS = 3
"""Letters of the shortest word that is a phrase, except in unspaced scripts."""

_MIN_LANGUAGES = 2
_BORROWED = {
    "no": ("nb", "nn"), "nb": ("no",), "nn": ("no",), "bs": ("sh", "hr"), "hr": ("sh",), "sr": ("sh",),
    "wuu": ("zh",), "yue": ("zh",), "ary": ("ar",), "arz": ("ar",),
}  # fmt: skip
"""Languages that are looked up in the wordnets of others as well."""


@dataclass
class WordnetReport(Problems):
    """Report on reading wordnets: counts, and the lines and files that were skipped."""

    files: int = 0
    lemmas: int = 0
    """Number of files and of lines with lemmas that were used."""
    skipped_files: list[str] = field(default_factory=list)
    """A sentence for each file that was not used."""

    def __str__(self) -> str:
        """Summarise the report: counts, then one example per line."""
        summary = f"{self.files:,} wordnet files, {self.lemmas:,} lemmas"
        if self.bad:
            summary += f", {self.bad:,} broken lines skipped ({self.kinds}); the first:"
        return "\n  ".join([summary, *self.examples, *self.skipped_files])


@dataclass
class _Phrases:
    """The phrases of one language as parallel arrays: hashes and synset numbers."""

    forms: WordForms
    keys: array[int] = field(default_factory=lambda: array("Q"))
    synsets: array[int] = field(default_factory=lambda: array("l"))

    def add(self, lemma: str, lang: str, synset: int) -> None:
        words = phrase_words(lemma, lang)
        if 0 < len(words) <= MAX_WORDS and is_phrase(words, lang, self.forms):
            self.keys.append(phrase_key(words, lang, self.forms))
            self.synsets.append(synset)


class _Synsets:
    """Synsets by number.

    Attributes
    ----------
    number : dict of str to int
        Numbers of the synsets by their names.
    labels : list of str
        A lemma of each: the first in English, or in the first language read.
    languages : list of int
        Languages that have a lemma, as bits.
    capitals : list of int
        Lemmas with a capital letter less those without, in languages where that says something.
    """

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.labels: list[str] = []
        self.languages: list[int] = []
        self.capitals: list[int] = []
        self._bits: dict[str, int] = {"en": 1}

    def add(self, synset: str, lang: str, lemma: str) -> int:
        """Count a lemma; return the number of the synset."""
        number = self.number.setdefault(synset, len(self.number))
        if number == len(self.labels):
            self.labels.append(lemma)
            self.languages.append(0)
            self.capitals.append(0)
        elif lang == "en" and not self.languages[number] & self._bits["en"]:
            self.labels[number] = lemma
        self.languages[number] |= self._bits.setdefault(lang, 1 << len(self._bits))
        if not capitalises_nouns(lang):
            self.capitals[number] += lemma[0].isupper() - lemma[0].islower()
        return number

    def names(self) -> list[str]:
        """Return the names of the concepts."""
        return [f"{synset}:{label}" for synset, label in zip(self.number, self.labels, strict=True)]


def wordnet_files(source: PathLike) -> list[Path]:
    """Return the tab files of a folder and its sub-folders, compressed or not; or a single file.

    Raises CorpusError if there is none.
    """
    folder = Path(source)
    if folder.is_file():
        return [folder]
    endings = (".tab", ".tab.gz", ".tab.bz2", ".tab.xz")
    found = sorted(one for one in folder.rglob("*.tab*") if one.name.endswith(endings))
    if not found:
        what = "has no wordnet file" if folder.is_dir() else "there is no such folder"
        raise CorpusError(
            f"{folder}: {what}; expected files of the Open Multilingual Wordnet such as wn-data-eng.tab or "
            "wn-wikt-deu.tab.gz"
        )
    return found


def build_wordnet_concepts(
    files: Sequence[PathLike],
    folder: PathLike,
    *,
    progress: Callable[[str, int], None] = lambda what, count: None,
) -> WordnetReport:
    r"""Build a concept dictionary from tab files of the Open Multilingual Wordnet.

    Parameters
    ----------
    files : sequence of paths
        The files, such as :func:`wordnet_files` finds; several may have the same language.
    folder : path
        The folder to make.
    progress : callable
        Called with the name of each file and the number of lemmas read so far.

    Returns
    -------
    WordnetReport
        What was read and what was skipped: broken lines, and files in a language that isogloss does not know.

    Raises
    ------
    CorpusError
        A file cannot be read, is empty, or most of its lines are broken; nothing is written.

    Examples
    --------
    >>> from pathlib import Path
    >>> lines = "# Demo\t{0}\t-\tCC0\n07428954-n\t{0}:lemma\t{1}\n"
    >>> _ = Path("en.tab").write_text(lines.format("eng", "earthquake"), "utf-8")
    >>> _ = Path("de.tab").write_text(lines.format("deu", "Erdbeben"), "utf-8")
    >>> print(build_wordnet_concepts(["en.tab", "de.tab"], "wordnets"))
    2 wordnet files, 2 lemmas
    >>> from isogloss.events.annotate import ConceptDictionary
    >>> list(ConceptDictionary("wordnets").find("die schweren erdbeben".split(), "de"))
    [('07428954-n:earthquake', False, 1.0)]
    """
    synsets, report = _Synsets(), WordnetReport()
    phrases: dict[str, _Phrases] = {}
    for path in files:
        progress(os.path.basename(path), report.lemmas)
        _read_file(path, phrases, synsets, report)
    if not phrases:
        raise CorpusError(f"no wordnet file could be used: {'; '.join(report.skipped_files) or 'none given'}")
    progress("writing", report.lemmas)
    n_languages = np.array([one.bit_count() for one in synsets.languages])
    names = synsets.names()
    entities = (name for name, surplus in zip(names, synsets.capitals, strict=True) if surplus > 0)
    tables = {code: _weigh_senses(each, n_languages) for code, each in sorted(phrases.items())}
    write_meanings(folder, names, entities, tables)
    return report


def _read_file(
    path: PathLike, phrases: dict[str, _Phrases], synsets: _Synsets, report: WordnetReport
) -> None:
    """Read the lemmas of a file."""
    name, problems, used = os.fspath(path), Problems(), 0
    lang: str | None = None
    tables: dict[str, _Phrases] = {}
    for line in _lemma_lines(path, problems):
        if lang is None:
            lang = _language_code(line, name, report)
            if lang is None:
                return
            readers = [lang, *(other for other, lenders in _BORROWED.items() if lang in lenders)]
            tables = {one: phrases.setdefault(one, _Phrases(choose_forms(one))) for one in readers}
        used += 1
        concept = synsets.add(line.synset, lang, line.lemma)
        for one, table in tables.items():
            table.add(line.lemma, one, concept)
    _check_file(name, used, problems)
    report.files += 1
    report.lemmas += used
    report.problems.update(problems.problems)
    for sentence in problems.examples:
        report.note(sentence)


class _LemmaLine(NamedTuple):
    """A line with a lemma: its number, the language that it or the first line of the file names, and more."""

    number: int
    lang: str
    synset: str
    lemma: str


def _lemma_lines(path: PathLike, problems: Problems) -> Iterator[_LemmaLine]:
    """Yield the lines with lemmas, except adverbs; count broken lines."""
    header = ""
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith(b"#"):
            header = header or _header_language(line)
        elif line.strip():
            try:
                synset, lang, kind, lemma = _parse_line(line)
            except _BrokenLineError as broken:
                problems.add(broken.problem, f"{os.fspath(path)}:{number}: {broken}")
                continue
            if kind == "lemma" and not synset.endswith(_ADVERB):
                yield _LemmaLine(number, lang or header, synset, lemma)


class _BrokenLineError(Exception):
    """Return the fault of a line, as a word and as a sentence."""

    def __init__(self, problem: str, sentence: str) -> None:
        super().__init__(sentence)
        self.problem = problem


def _parse_line(line: bytes) -> tuple[str, str, str, str]:
    """Return the synset, the language if the line names it, the kind and the lemma or text of a line."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as reason:
        raise _BrokenLineError(
            "not UTF-8", f"the line is not UTF-8 ({reason.reason}); convert the file to UTF-8"
        ) from reason
    cells = text.split("\t")
    synset = _SYNSET.fullmatch(cells[0])
    kind = _KIND.fullmatch(cells[1]) if len(cells) > 1 else None
    if len(cells) < 3 or synset is None or kind is None:
        raise _BrokenLineError("malformed", f"got {text!r:.60}; {_FORMAT}")
    lemma = " ".join(cells[2].replace("_", " ").split())
    if not lemma:
        raise _BrokenLineError("without lemma", f"the lemma is empty; {_FORMAT}")
    part_of_speech = "a" if synset[2] == "s" else synset[2]
    return f"{synset[1]}-{part_of_speech}", kind[1] or "", kind[2], lemma


def _header_language(line: bytes) -> str:
    """Return the language that a comment names in its second column, or an empty string."""
    cells = line.decode("utf-8", "replace").split("\t")
    return cells[1].strip() if len(cells) > 1 else ""


def _language_code(line: _LemmaLine, name: str, report: WordnetReport) -> str | None:
    """Return the code of the language of a file; note in the report that it is skipped if it is not known."""
    if not line.lang:
        raise CorpusError(
            f"{name}:{line.number}: the language is unknown; expected a first line "
            "'# project<TAB>deu<TAB>address<TAB>licence', or kinds such as deu:lemma"
        )
    try:
        return language(line.lang).code
    except ValueError as reason:
        report.skipped_files.append(f"{name}:{line.number}: file skipped: {reason}")
        return None


def _check_file(name: str, used: int, problems: Problems) -> None:
    if problems.bad > used:
        raise CorpusError(
            f"{name}: {problems.bad:,} of {problems.bad + used:,} lines are broken ({problems.kinds}); the "
            f"first: {problems.examples[0]}"
        )
    if not used:
        raise CorpusError(f"{name}: is empty or has no lemmas; get the file again, or remove it")


def is_phrase(words: tuple[str, ...], lang: str, forms: WordForms) -> bool:
    """Return whether the words are more than a stop word, a number or one or two letters."""
    if len(words) > 1:
        return True
    shortest = 1 if is_unspaced(lang) else _MIN_CHARS
    form = word_form(words[0], lang, forms)
    return len(words[0]) >= shortest and form not in stop_words(lang) and not words[0].isdecimal()


def _weigh_senses(phrases: _Phrases, n_languages: NDArray[np.int64]) -> PhraseMeanings:
    """Weight the senses of each phrase by the number of languages that have a word for them."""
    keys, synsets = np.array(phrases.keys, np.uint64), np.array(phrases.synsets, np.int64)
    order = np.lexsort((synsets, keys))
    keys, synsets = keys[order], synsets[order]
    repeated = np.zeros(len(keys), np.bool_)
    repeated[1:] = (keys[1:] == keys[:-1]) & (synsets[1:] == synsets[:-1])
    kept = ~repeated & (n_languages[synsets] >= _MIN_LANGUAGES)
    keys, synsets = keys[kept], synsets[kept]
    _, phrase = np.unique(keys, return_inverse=True)
    counts = n_languages[synsets].astype(np.float64)
    totals = np.bincount(phrase, counts)
    return PhraseMeanings(keys, synsets, np.sqrt(counts / totals[phrase]), phrases.forms)
