r"""Builds a concept dictionary from Wikipedia dumps.

The meanings of phrases are learned from Wikipedia's links: a link ``[[Danube|the river]]`` says that *the
river* may mean *Danube*. Phrases are titles, redirects and the words of links. Of all links with a phrase the
share that leads to an article is how likely the phrase means it. A single word that many pages have and few
link is no phrase (languages without blanks between words aside):

.. math:: \frac{\text{pages that link it}}{\text{pages that have it}} \ge \text{min\_linked}.

Articles of several languages are one concept when links between languages say so
(:mod:`isogloss.corpora.readers._langlinks`). A concept is an entity when most links to it inside a sentence
begin with a capital letter, in languages that do not capitalise all nouns; without such links, when a later
word of its title is capitalised.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from isogloss.corpora import PageIndex, ProcessMap, WikipediaDump
from isogloss.corpora.readers import DumpPart, Page, normal_title
from isogloss.events.annotate._names import capitalises_nouns
from isogloss.events.annotate._words import stop_words
from isogloss.events.annotate.concepts._dictionary import (
    MAX_WORDS,
    ConceptPhrase,
    phrase_words,
    write_concepts,
)
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike
from isogloss.text import language
from isogloss.threads import count_threads

logger = logging.getLogger(__name__)

_LINK = re.compile(
    r"\[\[([^\[\]|#<>{}\n]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\|([^\[\]|\n]{1,200}))?\]\](\w{0,20})"
)
_HIDDEN = re.compile(r"\{\{[^{}]*\}\}|<ref[^<]*</ref>")
_COUNTED_WORD = re.compile(r"\w{2,40}")
_BRACKET = re.compile(r"(?<!\s)\s*+\([^()]*+\)$")

PARTS_BEFORE_FORGETTING = 64
"""Parts of a dump, of some hundred pages each, between two times that rare phrases are dropped."""

Align = Callable[[str, str], str | None]
PhraseWords = tuple[str, ...]


@dataclass
class LinkCounts:
    """Link and word counts of the pages of one language."""

    lang: str
    links: dict[PhraseWords, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Number of pages that link a phrase to each title."""
    capitals: Counter[str] = field(default_factory=Counter)
    """How many links to a title begin with a capital letter inside a sentence, less those with a small
    one.
    """
    pages: Counter[str] = field(default_factory=Counter)
    """Number of pages that contain each word."""
    titles: dict[int, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    """The articles, and where other titles lead."""

    def add(self, page: Page) -> None:
        """Count the links and words of a page."""
        title = normal_title(page.title)
        self.titles[len(self.titles)] = title
        if page.redirect is not None:
            self.redirects[title] = normal_title(page.redirect)
            return
        text = _HIDDEN.sub(" ", page.text)
        self.pages.update({word.lower() for word in _COUNTED_WORD.findall(text)})
        seen = set()
        for found in _LINK.finditer(text):
            target, shown = normal_title(found[1]), (found[2] or found[1]) + found[3]
            if ":" in target:
                continue
            words = phrase_words(shown, self.lang)
            if 0 < len(words) <= MAX_WORDS and (words, target) not in seen:
                seen.add((words, target))
                self.links[words][target] += 1
                if text[max(0, found.start() - 2) : found.start()][:1].isalnum():
                    self.capitals[target] += 1 if shown[0].isupper() else -1

    def merge(self, other: LinkCounts) -> None:
        """Add the counts of other pages of the language, which come after these."""
        for words, targets in other.links.items():
            self.links[words].update(targets)
        self.capitals.update(other.capitals)
        self.pages.update(other.pages)
        first = len(self.titles)
        self.titles.update((first + number, title) for number, title in other.titles.items())
        self.redirects.update(other.redirects)

    def forget_rare(self, max_phrases: int) -> None:
        """Drop the phrases that only one page links, and words of one page, when there are too many."""
        if len(self.pages) > max_phrases:  # a phrase is kept, however few of the pages with a word link it
            self.pages = Counter({word: count for word, count in self.pages.items() if count > 1})
        if len(self.links) > max_phrases:
            rare = [words for words, targets in self.links.items() if targets.total() < 2]
            for words in rare:
                del self.links[words]
            logger.info("%s: dropped %d phrases that only one page links", self.lang, len(rare))


def build_concepts(
    dumps: Mapping[str, WikipediaDump],
    folder: PathLike,
    align: Align | None = None,
    *,
    min_links: int = 2,
    min_share: float = 0.5,
    min_linked: float = 0.05,
    max_phrases: int = 5_000_000,
    n_jobs: int | None = None,
    progress: Callable[[str, int], None] = lambda what, count: None,
) -> None:
    """Build a concept dictionary.

    Parameters
    ----------
    dumps : mapping of str to WikipediaDump
        The pages of each language (``pages-articles.xml.bz2``).
    folder : path
        The folder to make.
    align : callable, optional
        The name of the concept of a language's article, None for articles to leave out, such as
        :class:`~isogloss.corpora.Concepts`; by default each article is a concept of its own.
    min_links : int
        Pages that must link a phrase to an article, unless the phrase is its title or a redirect.
    min_share : float
        Minimum share of the links with a phrase that lead to the article it means.
    min_linked : float
        Minimum share of the pages with a word that link it.
    max_phrases : int
        Phrases of a language kept in memory, about 400 bytes each, and words; beyond that, rare ones are
        dropped.
    n_jobs : int, optional
        Processes that read multistream dumps; one by default, -1 for one per core.
    progress : callable
        Called with the language and the number of pages read so far.

    Examples
    --------
    >>> from pathlib import Path
    >>> page = "<page><title>{}</title><ns>0</ns><id>{}</id><revision><text>{}</text></revision></page>"
    >>> pages = [("Danube", "A river."), ("Flood", "The [[Danube]] flooded."), ("River", "The [[Danube]].")]
    >>> text = "".join(page.format(title, n, text) for n, (title, text) in enumerate(pages))
    >>> _ = Path("en.xml").write_text(f"<mediawiki>{text}</mediawiki>")
    >>> build_concepts({"en": WikipediaDump("en.xml")}, "dictionary")
    >>> from isogloss.events.annotate import ConceptDictionary
    >>> list(ConceptDictionary("dictionary").find("on the danube".split(), "en"))
    [('en:Danube', True, 1.0)]
    """
    phrases, votes = {}, Counter[str]()
    for code, dump in dumps.items():
        lang = language(code).code
        counts = _count_links(dump, lang, max_phrases, count_threads(n_jobs), progress)
        if not counts.titles:
            raise CorpusError(
                f"{dump.path}: has no article; expected pages-articles of a Wikipedia, .xml or .xml.bz2"
            )
        name_of = align or (lambda code, title: f"{code}:{title}")
        phrases[lang] = list(_phrases(counts, name_of, min_links, min_share, min_linked))
        votes.update(_votes(counts, name_of))
    write_concepts(folder, phrases, (name for name, vote in votes.items() if vote > 0))


def _count_links(
    dump: WikipediaDump, lang: str, max_phrases: int, n_jobs: int, progress: Callable[[str, int], None]
) -> LinkCounts:
    """Count the links of a dump: of one with many streams in parts, in several processes."""
    counts = LinkCounts(lang)
    parts = dump.parts()
    if not parts:
        for number, page in enumerate(_articles(dump.pages()), 1):
            counts.add(page)
            if number % 10_000 == 0:
                counts.forget_rare(max_phrases)
                progress(lang, number)
        return counts
    with ProcessMap(partial(_count_part, lang), n_jobs) as count_each:
        for number, part in enumerate(count_each(parts), 1):
            counts.merge(part)
            if number % PARTS_BEFORE_FORGETTING == 0:
                counts.forget_rare(max_phrases)
            progress(lang, len(counts.titles))
    return counts


def _count_part(lang: str, part: DumpPart) -> LinkCounts:
    counts = LinkCounts(lang)
    for page in _articles(part.pages()):
        counts.add(page)
    return counts


def _articles(pages: Iterable[Page]) -> Iterator[Page]:
    return (page for page in pages if page.namespace == "0" and page.title)


def _phrases(
    counts: LinkCounts, name_of: Align, min_links: int, min_share: float, min_linked: float
) -> Iterator[ConceptPhrase]:
    """Yield the phrases of a language with their meanings."""
    links, own = _with_titles(counts)
    little = stop_words(counts.lang)
    index = PageIndex(counts.titles, counts.redirects)
    for words, targets in links.items():
        if all(word in little or word.isdecimal() for word in words):
            continue
        if len(words) == 1 and targets.total() < min_linked * counts.pages[words[0]]:
            continue
        meant: Counter[str] = Counter()
        for target, count in targets.items():
            meant[index.article(target) or ""] += count
        title, count = meant.most_common(1)[0]
        name = name_of(counts.lang, title) if title else None
        share = count / meant.total()
        if name and share >= min_share and (count >= min_links or (words, title) in own):
            yield ConceptPhrase(words, name, share)


def _with_titles(
    counts: LinkCounts,
) -> tuple[dict[PhraseWords, Counter[str]], set[tuple[PhraseWords, str]]]:
    """Return the links, with one added from every title to its article, and all titles with articles."""
    links, own = counts.links, set()
    index = PageIndex(counts.titles, counts.redirects)
    for title in counts.titles.values():
        article = index.article(title)
        words = phrase_words(_BRACKET.sub("", title), counts.lang)
        if article and 0 < len(words) <= MAX_WORDS:
            links[words][article] += 1
            own.add((words, article))
    return links, own


def _votes(counts: LinkCounts, name_of: Align) -> Counter[str]:
    """Return for each concept the surplus of links with a capital letter over those without."""
    votes: Counter[str] = Counter()
    index = PageIndex(counts.titles, counts.redirects)
    for title in counts.titles.values():
        article = index.article(title)
        name = name_of(counts.lang, article) if article else None
        if name and not capitalises_nouns(counts.lang):
            votes[name] += counts.capitals[title] or int(title == article and _has_later_capital(title))
    return votes


def _has_later_capital(title: str) -> bool:
    return any(word[:1].isupper() for word in _BRACKET.sub("", title).split()[1:])
