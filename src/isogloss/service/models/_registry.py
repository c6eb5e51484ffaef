"""The models of the service, loaded once from the settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from isogloss import io
from isogloss.alignment import Aligner
from isogloss.events.annotate import Annotator, ConceptDictionary
from isogloss.exceptions import SettingsError
from isogloss.lexicon import (
    INDUCED_COLUMNS,
    BilingualDictionary,
    InducedDictionary,
    languages_of,
    read_dictionary,
    read_induced,
)
from isogloss.service.api.errors import ServiceError
from isogloss.service.models._gloss import Glosser
from isogloss.service.models._similarity import SimilarityModel
from isogloss.service.models._translator import TitleTranslator, open_translator
from isogloss.service.settings import ModelSettings
from isogloss.similarity import NameChannel, TextModel
from isogloss.store import Store
from isogloss.text import identify, language


class WordTranslations:
    """Translations of words from dictionaries, in both directions.

    Translations keep the order of the dictionary; in the reverse direction they are ordered by score.

    Examples
    --------
    >>> words = WordTranslations([BilingualDictionary("en", "it", [("cat", "gatto"), ("cat", "gatta")])])
    >>> words.translate("en", "Cat", "it")
    [('gatto', None), ('gatta', None)]
    >>> words.translate("it", "gatta", "en"), words.targets("it")
    ([('cat', None)], ['en'])
    """

    def __init__(self, dictionaries: Iterable[BilingualDictionary | InducedDictionary] = ()) -> None:
        self.sizes: dict[str, int] = {}
        self._entries: dict[tuple[str, str], dict[str, list[tuple[str, float | None]]]] = {}
        for each in dictionaries:
            self._add(each)

    def translate(self, lang: str, word: str, to: str) -> list[tuple[str, float | None]]:
        """Return translations of a word with their scores, the best first; try lower case if need be."""
        entries = self._entries.get((lang, to), {})
        return entries.get(word) or entries.get(word.casefold()) or []

    def targets(self, lang: str) -> list[str]:
        """Return the languages that words of a language are translated to."""
        return sorted(to for source, to in self._entries if source == lang)

    def _add(self, dictionary: BilingualDictionary | InducedDictionary) -> None:
        source, target = dictionary.source, dictionary.target
        scores: list[float | None] = [None] * len(dictionary)
        if isinstance(dictionary, InducedDictionary):
            scores = dictionary.scores.tolist()
        self.sizes[f"{source}-{target}"] = len(dictionary)
        forward = self._entries.setdefault((source, target), {})
        backward = self._entries.setdefault((target, source), {})
        for (s, t), score in zip(dictionary.pairs, scores, strict=True):
            forward.setdefault(s, []).append((t, score))
            backward.setdefault(t, []).append((s, score))
        for entry in backward.values():
            entry.sort(key=lambda each: -(each[1] or 0.0))


@dataclass
class Models:
    """The models of the service; any of them may be absent."""

    similarity: TextModel | None = None
    """Model for similarity, search and topics."""
    name: str = "similarity"
    report: Mapping[str, Any] = field(default_factory=dict)
    """The name of the similarity model, and its evaluation."""
    annotator: Annotator = field(default_factory=Annotator)
    """Finds names, places and keywords in texts that are compared."""
    names: NameChannel = field(default_factory=NameChannel)
    """Compares names, numbers and dates; it needs no training."""
    aligners: Mapping[tuple[str, str], Aligner] = field(default_factory=dict)
    """Word aligners by their two languages."""
    lexicon: WordTranslations = field(default_factory=WordTranslations)
    """Dictionaries."""
    digest: str = ""
    """SHA-256 of the file of the similarity model."""
    translator: TitleTranslator | None = None
    """Translates titles."""

    @cached_property
    def glosser(self) -> Glosser:
        """What makes glosses of titles."""
        return Glosser(self.lexicon.translate, self.aligners, self.translator, self.annotator.concepts)

    @classmethod
    def load(cls, settings: ModelSettings, store: Store) -> Models:
        """Load the models that the settings name.

        Raises SettingsError if a file or a stored model is missing, or is of another kind.
        """
        found = SimilarityModel.load(settings, store)
        return cls(
            similarity=found.model,
            name=settings.similarity or "similarity",
            report=_read_report(settings.report) if settings.report else found.report,
            annotator=Annotator(concepts=ConceptDictionary(settings.concepts) if settings.concepts else None),
            names=found.names or NameChannel(),
            aligners={_languages(path): io.load(path, expected=Aligner) for path in settings.aligners},
            lexicon=WordTranslations([_read_dictionary(path) for path in settings.dictionaries]),
            digest=found.digest,
            translator=open_translator(settings.translator),
        )

    def need_similarity(self) -> TextModel:
        """Return the similarity model; raise an error if there is none."""
        if self.similarity is None:
            raise ServiceError(
                404,
                "this service has no similarity model; train one with 'isogloss similar fit', and set "
                "models.similarity in the settings to its file",
            )
        return self.similarity

    @property
    def width(self) -> int:
        """Number of dimensions of the meaning space."""
        return int(next(iter(self.need_similarity().words.projectors_.values())).shape[1])

    def need_aligner(self, source: str, target: str) -> tuple[Aligner, bool]:
        """Return the aligner of two languages, and whether it was trained in the opposite direction."""
        for pair, reverse in (((source, target), False), ((target, source), True)):
            if pair in self.aligners:
                return self.aligners[pair], reverse
        known = ", ".join(f"{a}-{b}" for a, b in self.aligners) or "none"
        raise ServiceError(
            404,
            f"this service has no word aligner for {source} and {target} (it has {known}); train one with "
            "'isogloss align', and add its file to models.aligners in the settings",
        )


def resolve_language(text: str, lang: str | None, among: tuple[str, ...] | None = None) -> str:
    """Return the code of the given language, or identify that of the text, perhaps among some.

    Raises ServiceError if the language is unknown, cannot be identified, or is none of those.
    """
    if lang:
        try:
            code = language(lang).code
        except ValueError as error:
            raise ServiceError(422, str(error)) from error
    else:
        found, _ = identify(text, among)
        if found is None:
            raise ServiceError(422, "the text has no letters to identify its language by; set lang")
        code = found
    if among is not None and code not in among:
        raise ServiceError(422, f"the model does not know the language {code!r}; it has {', '.join(among)}")
    return code


def _read_report(path: str) -> Mapping[str, Any]:
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"models.report: {path} cannot be read ({error}); expected JSON") from error
    return report if isinstance(report, dict) else {"report": report}


def _languages(path: str) -> tuple[str, str]:
    pair = languages_of(path)
    if pair == ("source", "target"):
        raise SettingsError(f"{path}: the file name has no languages; expected a name such as en-de.isogloss")
    return pair


def _read_dictionary(path: str) -> BilingualDictionary | InducedDictionary:
    """Read a dictionary, with scores if the file has them."""
    _languages(path)
    try:
        with open(path, "rb") as file:
            header = file.readline(1000).decode("utf-8", "replace").rstrip("\r\n").split("\t")
    except OSError as error:
        raise SettingsError(f"models.dictionaries: {path} cannot be read ({error.strerror})") from error
    return read_induced(path) if header == list(INDUCED_COLUMNS) else read_dictionary(path)
