"""Phrases of a language looked up in running text: at each word the longest that is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

__all__ = ["PhraseBook"]


class PhraseBook:
    """What phrases of several words mean.

    Parameters
    ----------
    phrases : iterable of (str, str)
        Phrases, in words with blanks between them, and what they mean; of several meanings the first counts.

    Examples
    --------
    >>> book = PhraseBook([("united nations", "org:UN"), ("united", "word:united")])
    >>> list(book.find("the united nations and the united front".split()))
    [(1, 3, 'org:UN'), (5, 6, 'word:united')]
    """

    def __init__(self, phrases: Iterable[tuple[str, str]]) -> None:
        self._meanings: dict[str, str] = {}
        for phrase, meaning in phrases:
            self._meanings.setdefault(" ".join(phrase.split()), meaning)
        self._lengths: dict[str, list[int]] = {}
        for phrase in self._meanings:
            words = phrase.split()
            lengths = self._lengths.setdefault(words[0], [])
            if len(words) not in lengths:
                lengths.append(len(words))
        for lengths in self._lengths.values():
            lengths.sort(reverse=True)
        self._heads = frozenset(self._lengths)

    def __len__(self) -> int:
        return len(self._meanings)

    def find(
        self, words: Sequence[str], vocabulary: Set[str] | None = None
    ) -> Iterator[tuple[int, int, str]]:
        """Where phrases begin and end, and what they mean; they do not overlap.

        Parameters
        ----------
        words : sequence of str
            The text.
        vocabulary : set of str, optional
            Its different words, if they are known.
        """
        lengths, free = self._lengths, 0
        heads = self._heads.intersection(words if vocabulary is None else vocabulary)
        for place in [place for place, word in enumerate(words) if word in heads] if heads else ():
            if place < free:
                continue
            for length in lengths[words[place]]:
                meaning = self._meanings.get(" ".join(words[place : place + length]))
                if meaning is not None:
                    free = place + length
                    yield place, free, meaning
                    break
