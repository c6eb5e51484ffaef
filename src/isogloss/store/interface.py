"""The database interface: transactions, and SQL statements in them.

Statements are written once, with ``?`` for parameters, in the SQL that SQLite and PostgreSQL share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

__all__ = ["Database", "Session"]

Row = tuple[Any, ...]


TextColumn = Literal["title", "text", "keys"]
"""A column of the table ``article_text``; ``text`` stands for title and body."""


class Session(ABC):
    """A transaction.

    Attributes
    ----------
    now_sql : str
        An SQL expression for the database's clock, in microseconds since 1970.
    """

    now_sql: str

    @abstractmethod
    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows, if any."""

    @abstractmethod
    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""

    @abstractmethod
    def create_text_table(self) -> None:
        """Create the table ``article_text`` (rowid, version, title, body, keys) with an index of its words.

        Its ``rowid`` is the number of an article. Not every database deletes its rows with the articles.
        """

    @abstractmethod
    def matching_text(self, column: TextColumn, words: Sequence[Sequence[str]]) -> tuple[str, list[Any]]:
        """Return a query for the articles that have words, those with large numbers first, and its values.

        Parameters
        ----------
        column : {'title', 'text', 'keys'}
            Where to look.
        words : sequence of sequence of str
            The text must have one of the words of each sequence.
        """

    def one(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a query and return its first row, or None."""
        rows = self.run(sql, values)
        return rows[0] if rows else None


class Database(ABC):
    """A database in which every write is one transaction."""

    column_types: dict[str, str]
    """SQL types for the placeholders ``serial``, ``blob`` and ``integer`` of the schema."""

    @abstractmethod
    def write(self) -> AbstractContextManager[Session]:
        """Open a transaction that excludes other writers.

        It is committed and synced to disk when the block ends, and rolled back when the block raises.
        """

    def write_concurrently(self) -> AbstractContextManager[Session]:
        """Open a write transaction that need not exclude other writers, if the database supports that."""
        return self.write()

    @abstractmethod
    def read(self) -> AbstractContextManager[Session]:
        """Open a read-only transaction on a consistent snapshot; writers neither change nor block it."""

    @abstractmethod
    def backup(self, path: Path) -> None:
        """Copy a consistent snapshot to a new file while writers go on."""

    def mark_as_store(self) -> None:  # noqa: B027
        """Mark the database as an isogloss store, if it supports application ids."""

    @abstractmethod
    def check_integrity(self) -> list[str]:
        """Return problems with the database's files; an empty list if there are none."""

    @abstractmethod
    def compact(self) -> None:
        """Rewrite the files without the bytes of deleted rows."""

    def forget_deleted_text(self) -> None:  # noqa: B027
        """Remove what text indexes keep of deleted rows until they are merged, if they keep any."""

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """Return product, version, place and, if there is one, a warning."""

    def free_bytes(self) -> int | None:
        """Return the free disk space of the database, or None if unknown."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""
