"""The similarity model that the settings name, and whether events of a store are made with it.

Points of two models have nothing to do with each other, and a worker that starts again must find what it
found before. So the store remembers the model that its events were begun with, and no other is used for them.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isogloss import io
from isogloss.exceptions import SettingsError
from isogloss.service.settings import ModelSettings
from isogloss.similarity import CombinedSimilarity, DocumentModel, NameChannel
from isogloss.store import Store
from isogloss.store.queries import rebuild_requested

__all__ = ["IN_STORE", "Similarity", "agreed_model"]

logger = logging.getLogger(__name__)

IN_STORE = "store:"
"""What names of models in the store begin with."""

_NAME = "similarity"
_DIGITS = 15
"""Of the digest of a model, as a number that every database can hold."""


@dataclass(frozen=True)
class Similarity:
    """A model of documents as the settings name it.

    Parameters
    ----------
    model : DocumentModel, optional
        The common space of documents; None where the settings name none.
    names : NameChannel, optional
        For names, where the file has one.
    report : mapping
        Its evaluation, if the store knows it.
    digest : str
        Of its file; two models are the same if theirs are.
    """

    model: DocumentModel | None = None
    names: NameChannel | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def load(cls, settings: ModelSettings, store: Store) -> Similarity:
        """Load the model that the settings name.

        Raises
        ------
        SettingsError
            A file or a name is not there, or holds something else.
        """
        place = settings.similarity
        if not place:
            return cls()
        if not place.startswith(IN_STORE):
            found = io.load(place)
            with open(place, "rb") as file:
                return cls._of(found, place, {}, hashlib.file_digest(file, "sha256").hexdigest())
        kept = store.model(place.removeprefix(IN_STORE))
        if kept is None:
            raise SettingsError(f"models.similarity is {place!r}, and the store has no model of that name")
        data, report = kept
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.isogloss")
            path.write_bytes(data)
            return cls._of(io.load(path), place, report, hashlib.sha256(data).hexdigest())

    @classmethod
    def _of(cls, found: Any, place: str, report: Mapping[str, Any], digest: str) -> Similarity:
        if isinstance(found, CombinedSimilarity):
            return cls(found.model, found.names_, report, digest)
        if isinstance(found, DocumentModel):
            return cls(found, None, report, digest)
        raise SettingsError(
            f"models.similarity: {place} holds a {type(found).__name__}; expected a model of documents, "
            "as 'isogloss similar fit' makes it"
        )


def agreed_model(store: Store, wanted: Similarity) -> DocumentModel | None:
    """The model to make events with: the wanted one, if there are no events yet or they are made with it.

    Parameters
    ----------
    store : Store
        Whose events.
    wanted : Similarity
        What the settings name.

    Returns
    -------
    DocumentModel or None
        None, with a warning, for events that were begun without a model.

    Raises
    ------
    SettingsError
        The events were begun with another model, which is not here.
    """
    number = int(wanted.digest[:_DIGITS] or "0", 16)
    begun = _begun_with(store, number)
    if begun == number:
        return wanted.model
    if begun == 0:
        logger.warning(
            "events go on without models.similarity, as they were begun; isogloss doctor --rebuild makes "
            "them anew with it"
        )
        return None
    raise SettingsError(
        "the events of this store are made with another similarity model than models.similarity names now; "
        "name that one, or make all events anew with isogloss doctor --rebuild"
    )


def _begun_with(store: Store, number: int) -> int:
    """Return the number of the model that events were begun with.

    It is this one from now on if there are no events yet, or if all are to be made anew.
    """
    with store.database.write() as session:
        known: dict[str, int] = dict(session.run("SELECT name, seq FROM progress"))
        if known.get("events", 0) > 0 and not rebuild_requested(session):
            return int(known.get(_NAME, 0))
        session.run("DELETE FROM progress WHERE name = ?", [_NAME])
        session.run("INSERT INTO progress VALUES (?, ?)", [_NAME, number])
    return number
