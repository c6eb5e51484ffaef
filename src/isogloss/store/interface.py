"""The little that the store asks of a database: transactions, and statements in them.

Statements are written once, with ``?`` for values, in the part of SQL that SQLite and PostgreSQL share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

__all__ = ["Database", "Session"]

Row = tuple[Any, ...]


class Session(ABC):
    """Statements inside one transaction.

    Attributes
    ----------
    clock : str
        An expression for the time of the database, in microseconds since 1970.
    """

    clock: str

    @abstractmethod
    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement; the rows it returns, if any."""

    @abstractmethod
    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for every row of values."""

    def one(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """The first row of the answer, if there is one."""
        rows = self.run(sql, values)
        return rows[0] if rows else None


class Database(ABC):
    """A database that is there whole or not at all: every write is one transaction."""

    types: dict[str, str]
    """What the schema calls ``serial``, ``blob`` and ``integer``."""

    @abstractmethod
    def write(self) -> AbstractContextManager[Session]:
        """A transaction that no other writer disturbs.

        It is on the disk when the block ends, and never was when the block raises.
        """

    def write_beside(self) -> AbstractContextManager[Session]:
        """A transaction for rows that no writer waits for; others may run at the same time, if they can."""
        return self.write()

    @abstractmethod
    def read(self) -> AbstractContextManager[Session]:
        """A view of the last committed state that no writer changes or is held up by."""

    @abstractmethod
    def backup(self, path: Path) -> None:
        """Copy everything to a new file, as of one moment, while writers go on."""

    def claim(self) -> None:  # noqa: B027
        """Mark the database as a store of isogloss, where databases can be marked."""

    @abstractmethod
    def check(self) -> list[str]:
        """What is wrong with the files of the database; nothing, as a rule."""

    @abstractmethod
    def compact(self) -> None:
        """Write the files anew, without the bytes of rows that were deleted."""

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """What it is, for people: product, version, place, warnings."""

    def free_bytes(self) -> int | None:
        """Room on the disk of the database; None where that cannot be told."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Give connections back."""
