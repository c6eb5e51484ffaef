"""The models that the service answers with: what is configured is loaded once, what is not is said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isogloss import io
from isogloss.alignment import Aligner
from isogloss.exceptions import SettingsError
from isogloss.lexicon import (
    COLUMNS,
    BilingualDictionary,
    InducedDictionary,
    languages_of,
    read_dictionary,
    read_induced,
)
from isogloss.service.api.errors import ServiceError
from isogloss.service.models._dictionaries import Lexicon
from isogloss.service.models._similarity import Similarity
from isogloss.service.settings import ModelSettings
from isogloss.similarity import DocumentModel, NameChannel
from isogloss.store import Store
from isogloss.text import identify, language

__all__ = ["Models", "settle"]


@dataclass
class Models:
    """What answers are made with; any of it may be absent.

    Parameters
    ----------
    similarity : DocumentModel, optional
        For similarity, search and topics.
    name, report : str, mapping
        What the similarity model is called, and its evaluation.
    names : NameChannel
        For names, numbers and dates; it needs no learning.
    aligners : mapping from (str, str)
        Word aligners by their two languages.
    lexicon : Lexicon
        Dictionaries.
    digest : str
        Of the file of the similarity model.
    """

    similarity: DocumentModel | None = None
    name: str = "similarity"
    report: Mapping[str, Any] = field(default_factory=dict)
    names: NameChannel = field(default_factory=NameChannel)
    aligners: Mapping[tuple[str, str], Aligner] = field(default_factory=dict)
    lexicon: Lexicon = field(default_factory=Lexicon)
    digest: str = ""

    @classmethod
    def load(cls, settings: ModelSettings, store: Store) -> Models:
        """Load what the settings name.

        Raises
        ------
        SettingsError
            A file or a name is not there, or holds something else.
        """
        found = Similarity.load(settings, store)
        return cls(
            similarity=found.model,
            name=settings.similarity or "similarity",
            report=_report(settings.report) if settings.report else found.report,
            names=found.names or NameChannel(),
            aligners={_languages(path): io.load(path, expected=Aligner) for path in settings.aligners},
            lexicon=Lexicon([_dictionary(path) for path in settings.dictionaries]),
            digest=found.digest,
        )

    def need_similarity(self) -> DocumentModel:
        """The similarity model, or an error that says how to come by one."""
        if self.similarity is None:
            raise ServiceError(
                404,
                "this service has no similarity model; make one with 'isogloss similar fit' and name its "
                "file in models.similarity of the settings",
            )
        return self.similarity

    @property
    def width(self) -> int:
        """Dimensions of the common space."""
        return int(next(iter(self.need_similarity().projectors_.values())).shape[1])

    def need_aligner(self, source: str, target: str) -> tuple[Aligner, bool]:
        """An aligner for two languages, and whether it was learned the other way round."""
        for pair, turned in (((source, target), False), ((target, source), True)):
            if pair in self.aligners:
                return self.aligners[pair], turned
        known = ", ".join(f"{a}-{b}" for a, b in self.aligners) or "none"
        raise ServiceError(
            404,
            f"this service has no word aligner for {source} and {target} (it has {known}); make one with "
            "'isogloss align' and name its file in models.aligners of the settings",
        )


def settle(text: str, lang: str | None, among: tuple[str, ...] | None = None) -> str:
    """The language of a text: as given, or identified, perhaps among some.

    Raises
    ------
    ServiceError
        It is not known, cannot be identified, or is none of those.
    """
    if lang:
        try:
            code = language(lang).code
        except ValueError as error:
            raise ServiceError(422, str(error)) from error
    else:
        found, _ = identify(text, among)
        if found is None:
            raise ServiceError(422, "the text has no letters to tell its language by; give lang")
        code = found
    if among is not None and code not in among:
        raise ServiceError(422, f"the model does not know the language {code!r}; it has {', '.join(among)}")
    return code


def _report(path: str) -> Mapping[str, Any]:
    try:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"models.report: {path} cannot be read ({error}); expected JSON") from error
    return told if isinstance(told, dict) else {"report": told}


def _languages(path: str) -> tuple[str, str]:
    pair = languages_of(path)
    if pair == ("source", "target"):
        raise SettingsError(f"{path}: its name tells no languages; expected a name such as en-de.isogloss")
    return pair


def _dictionary(path: str) -> BilingualDictionary | InducedDictionary:
    """A dictionary with scores where the file has them."""
    _languages(path)
    try:
        with open(path, "rb") as file:
            first = file.readline(1000).decode("utf-8", "replace").rstrip("\r\n").split("\t")
    except OSError as error:
        raise SettingsError(f"models.dictionaries: {path} cannot be read ({error.strerror})") from error
    return read_induced(path) if first == list(COLUMNS) else read_dictionary(path)
