"""Queries on saved searches: the parameters of a search under a name, for a token or for the installation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isogloss.exceptions import StoreError
from isogloss.store.interface import Row, Session

_SEARCH_COLUMNS = "id, owner, name, query, created, changed"


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A saved search.

    Attributes
    ----------
    id : int
        Its number, which is never used again.
    owner : str
        The id of the token it was saved with; empty for one of the installation.
    name : str
        Its name, unique for the owner.
    query : dict
        The parameters of the search, as JSON. The store does not interpret them.
    created, changed : int
        Microseconds since 1970.
    """

    id: int
    owner: str
    name: str
    query: dict[str, Any]
    created: int
    changed: int


def add_saved_search(
    session: Session, owner: str, name: str, query: Mapping[str, Any], *, now: int, max_searches: int
) -> SavedSearch:
    """Save a search.

    Raises StoreError if the owner has a search of this name, or as many searches as allowed.
    """
    ((count,),) = session.run("SELECT count(*) FROM saved_search WHERE owner = ?", [owner])
    if count >= max_searches:
        raise StoreError(
            f"there are {count} saved searches, and at most {max_searches} are allowed; delete one"
        )
    _check_name(session, owner, name)
    (row,) = session.run(
        "INSERT INTO saved_search (owner, name, query, created, changed) VALUES (?, ?, ?, ?, ?) "
        f"RETURNING {_SEARCH_COLUMNS}",
        [owner, name, _json(query), now, now],
    )
    return _saved_search(row)


def change_saved_search(
    session: Session, number: int, name: str, query: Mapping[str, Any], *, now: int
) -> SavedSearch | None:
    """Replace the name and the parameters of a saved search; None if there is none of this number."""
    row = session.one("SELECT owner FROM saved_search WHERE id = ?", [number])
    if row is None:
        return None
    _check_name(session, row[0], name, number)
    (row,) = session.run(
        f"UPDATE saved_search SET name = ?, query = ?, changed = ? WHERE id = ? RETURNING {_SEARCH_COLUMNS}",
        [name, _json(query), now, number],
    )
    return _saved_search(row)


def read_saved_search(session: Session, number: int) -> SavedSearch | None:
    """Return a saved search by its number."""
    row = session.one(f"SELECT {_SEARCH_COLUMNS} FROM saved_search WHERE id = ?", [number])
    return _saved_search(row) if row else None


def list_saved_searches(session: Session, owners: Sequence[str] | None = None) -> list[SavedSearch]:
    """Return the saved searches of some owners, or of all, in the order of their numbers."""
    where = (
        ""
        if owners is None
        else f"WHERE owner IN ({', '.join('?' * len(owners))}) "
        if owners
        else "WHERE 1 = 0 "
    )
    rows = session.run(f"SELECT {_SEARCH_COLUMNS} FROM saved_search {where}ORDER BY id", list(owners or ()))
    return [_saved_search(row) for row in rows]


def delete_saved_search(session: Session, number: int) -> bool:
    """Delete a saved search; return whether there was one."""
    return bool(session.run("DELETE FROM saved_search WHERE id = ? RETURNING id", [number]))


def _check_name(session: Session, owner: str, name: str, number: int = 0) -> None:
    """Refuse a name that another search of the owner has."""
    taken = "SELECT id FROM saved_search WHERE owner = ? AND name = ? AND id <> ?"
    if session.one(taken, [owner, name, number]):
        raise StoreError(f"there is a saved search {name!r} already; choose another name, or change that one")


def _saved_search(row: Row) -> SavedSearch:
    number, owner, name, query, created, changed = row
    return SavedSearch(int(number), owner, name, json.loads(query), int(created), int(changed))


def _json(query: Mapping[str, Any]) -> str:
    return json.dumps(query, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
