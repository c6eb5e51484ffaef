"""Translations of words out of dictionaries, in both directions."""

from __future__ import annotations

from collections.abc import Iterable

from isogloss.lexicon import BilingualDictionary, InducedDictionary

__all__ = ["Lexicon"]

Entry = tuple[str, float | None]


class Lexicon:
    """Dictionaries of any pairs of languages.

    Parameters
    ----------
    dictionaries : iterable of BilingualDictionary or InducedDictionary
        The order of translations is theirs; those turned round come by their scores.

    Examples
    --------
    >>> lexicon = Lexicon([BilingualDictionary("en", "it", [("cat", "gatto"), ("cat", "gatta")])])
    >>> lexicon.translate("en", "Cat", "it")
    [('gatto', None), ('gatta', None)]
    >>> lexicon.translate("it", "gatta", "en"), lexicon.targets("it")
    ([('cat', None)], ['en'])
    """

    def __init__(self, dictionaries: Iterable[BilingualDictionary | InducedDictionary] = ()) -> None:
        self.sizes: dict[str, int] = {}
        self._entries: dict[tuple[str, str], dict[str, list[Entry]]] = {}
        for each in dictionaries:
            self._add(each)

    def translate(self, lang: str, word: str, to: str) -> list[Entry]:
        """Translations of a word with their scores, the best first; its case is of no account if need be."""
        entries = self._entries.get((lang, to), {})
        return entries.get(word) or entries.get(word.casefold()) or []

    def targets(self, lang: str) -> list[str]:
        """Languages that words of a language are translated to."""
        return sorted(to for source, to in self._entries if source == lang)

    def _add(self, one: BilingualDictionary | InducedDictionary) -> None:
        scores = one.scores.tolist() if isinstance(one, InducedDictionary) else [None] * len(one)
        self.sizes[f"{one.source}-{one.target}"] = len(one)
        forward = self._entries.setdefault((one.source, one.target), {})
        backward = self._entries.setdefault((one.target, one.source), {})
        for (s, t), score in zip(one.pairs, scores, strict=True):
            forward.setdefault(s, []).append((t, score))
            backward.setdefault(t, []).append((s, score))
        for entry in backward.values():
            entry.sort(key=lambda each: -(each[1] or 0.0))
