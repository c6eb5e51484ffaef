"""The models of the settings that events are made with, and whether events of a store are made with them.

Points of different models cannot be compared, and a replay of the journal must give the same events. So the
store records the fingerprint of the model, of the concept dictionary and of the linker that its events were
started with, and no other is used for them.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from isogloss import io
from isogloss.events import Article
from isogloss.events.annotate import ConceptDictionary
from isogloss.events.link import Linker
from isogloss.exceptions import SettingsError
from isogloss.service.settings import ModelSettings
from isogloss.similarity import CombinedSimilarity, NameChannel, PackedSimilarity, TextModel
from isogloss.similarity.packed import MANIFEST
from isogloss.store import Store, to_micros
from isogloss.store.queries import Point, rebuild_requested

logger = logging.getLogger(__name__)

STORE_PREFIX = "store:"
"""The prefix of names of models in the store."""

_FINGERPRINT_DIGITS = 15
"""Hexadecimal digits of the digest that fit into a 64-bit integer."""

_POINT_DIGITS = 16
_NO_VECTOR = np.empty(0, np.float32)


@dataclass(frozen=True)
class SimilarityModel:
    """A document model as the settings name it."""

    model: TextModel | None = None
    """Projects documents to the meaning space; None if the settings name no model."""
    names: NameChannel | None = None
    """Compares names, if the file has one."""
    report: Mapping[str, Any] = field(default_factory=dict)
    """Its evaluation, if the store has it."""
    digest: str = ""
    """SHA-256 of its file, or of the one in a folder that tells of the others; identifies the model."""

    @property
    def fingerprint(self) -> str:
        """The beginning of the digest, which identifies the model of stored points."""
        return self.digest[:_POINT_DIGITS] or "unnamed"

    def project(self, articles: Mapping[int, Article]) -> list[Point]:
        """Project articles to the meaning space; the vector is empty where the model knows no word."""
        by_language: dict[str, list[int]] = defaultdict(list)
        for number, article in articles.items():
            by_language[article.lang].append(number)
        points = []
        for lang, numbers in by_language.items():
            if self.model is not None and lang in self.model.languages:
                vectors = self.model.project([articles[number].text for number in numbers], lang)
            else:
                vectors = np.empty((len(numbers), 0), np.float32)
            points += [
                Point(number, lang, to_micros(articles[number].time), vector if vector.any() else _NO_VECTOR)
                for number, vector in zip(numbers, vectors, strict=True)
            ]
        return points

    @classmethod
    def load(cls, settings: ModelSettings, store: Store) -> SimilarityModel:
        """Load the model that the settings name.

        Raises SettingsError if a file or a stored model is missing, or is of another kind.
        """
        place = settings.similarity
        if not place:
            return cls()
        if not place.startswith(STORE_PREFIX):
            if Path(place).is_dir():
                return cls(PackedSimilarity(place), digest=_file_digest(str(Path(place, MANIFEST))))
            return cls._create(io.load(place), place, {}, _file_digest(place))
        stored = store.model(place.removeprefix(STORE_PREFIX))
        if stored is None:
            raise SettingsError(f"models.similarity is {place!r}, and the store has no model of that name")
        data, report = stored
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.isogloss")
            path.write_bytes(data)
            return cls._create(io.load(path), place, report, hashlib.sha256(data).hexdigest())

    @classmethod
    def _create(cls, found: Any, place: str, report: Mapping[str, Any], digest: str) -> SimilarityModel:
        if isinstance(found, CombinedSimilarity):
            return cls(found.model, found.names_, report, digest)
        if isinstance(found, TextModel):
            return cls(found, None, report, digest)
        raise SettingsError(
            f"models.similarity: {place} holds a {type(found).__name__}; expected a document model, "
            "as 'isogloss similar fit' writes it"
        )


def model_for_events(store: Store, wanted: SimilarityModel) -> TextModel | None:
    """Return the model to make events with: that of the settings, if the present events are made with it.

    Returns None, with a warning, if the events were started without a model. Raises SettingsError if they
    were started with another one.
    """
    return wanted.model if _is_in_use(store, "similarity", "similarity model", wanted.digest) else None


def concepts_for_events(store: Store, settings: ModelSettings) -> ConceptDictionary | None:
    """Return the dictionary to make events with: that of the settings, if the events are made with it.

    Returns None if the settings name no dictionary or, with a warning, if the events were started without
    one. Raises SettingsError if they were started with another one, and CorpusError if the folder is no
    concept dictionary.
    """
    wanted = ConceptDictionary(settings.concepts) if settings.concepts else None
    digest = "" if wanted is None else wanted.digest
    return wanted if _is_in_use(store, "concepts", "concept dictionary", digest) else None


def linker_for_events(store: Store, settings: ModelSettings) -> Linker | None:
    """Return the linker to make events with: that of the settings, if the events are made with it.

    Returns None, for the linker that comes with isogloss, if the settings name no other or, with a warning,
    if the events were started without one. Raises SettingsError if they were started with another one, and
    ModelFileError if the file cannot be read or holds something else.
    """
    place = settings.linker
    wanted = io.load(place, expected=Linker) if place else None
    return wanted if _is_in_use(store, "linker", "linker", _file_digest(place) if place else "") else None


def linker_in_use(store: Store, settings: ModelSettings) -> tuple[str, Linker]:
    """Return the name and the linker that the present events are made with, for display."""
    place = settings.linker
    fingerprint = int(_file_digest(place)[:_FINGERPRINT_DIGITS], 16) if place else 0
    if place and store.position("linker") == fingerprint:
        return place, io.load(place, expected=Linker)
    return "built-in", Linker.default()


def _file_digest(place: str) -> str:
    with open(place, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_in_use(store: Store, name: str, what: str, digest: str) -> bool:
    """Return whether the events are made with what a setting names; warn if they were started without it."""
    fingerprint = int(digest[:_FINGERPRINT_DIGITS] or "0", 16)
    used = _fingerprint_in_use(store, name, fingerprint)
    if used not in (0, fingerprint):
        raise SettingsError(
            f"the events of this store are made with another {what} than models.{name} names now; "
            "name that one, or make all events again with isogloss doctor --rebuild"
        )
    if used != fingerprint:
        logger.warning(
            "events are made without models.%s, as they were started; isogloss doctor --rebuild makes them "
            "again with it",
            name,
        )
    return used == fingerprint


def _fingerprint_in_use(store: Store, name: str, fingerprint: int) -> int:
    """Return the fingerprint of the model that events are made with; 0 for none.

    If there are no events yet, or a rebuild is requested, the given one is recorded.
    """
    with store.database.write() as session:
        known: dict[str, int] = dict(session.run("SELECT name, seq FROM progress"))
        if known.get("events", 0) > 0 and not rebuild_requested(session):
            return int(known.get(name, 0))
        session.run("DELETE FROM progress WHERE name = ?", [name])
        session.run("INSERT INTO progress VALUES (?, ?)", [name, fingerprint])
    return fingerprint
