"""Articles of many requests in one commit.

A commit waits for the disk, whatever it holds. Requests therefore queue, and one thread writes all that wait
in one transaction: while the disk is busy with one group the next one gathers. Each request has a savepoint
of its own, so that one that fails takes nothing from the others, and has its answer only after the commit.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isogloss.events.article import Article
from isogloss.exceptions import StoreBusyError, StoreError, StoreFullError
from isogloss.store import Database, Receipt, Session, Store

__all__ = ["GroupWriter"]

MOST = 2_000
"""Articles in one commit; a request that has more has one of its own."""


@dataclass
class _Request:
    articles: Sequence[Article]
    key: str
    refused: Sequence[tuple[str, str, Any]]
    answer: Future[list[Receipt]] = field(default_factory=Future)


class GroupWriter:
    """A thread that adds the articles of all waiting requests to a store in one commit.

    Parameters
    ----------
    store : Store
        Where they go.

    Attributes
    ----------
    commits, requests : int
        How many there have been.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> store = Store("news.db")
    >>> writer = GroupWriter(store)
    >>> rain = Article("7", "en", "Rain", "It rains.", datetime(2025, 3, 5, tzinfo=UTC), "The Gull")
    >>> writer.add([rain]).result()
    [Receipt(key='The Gull 7', seq=1, status='new')]
    >>> writer.close()
    >>> store.close()
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.commits = self.requests = 0
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="isogloss-writer", daemon=True)
        self._thread.start()

    def add(
        self,
        articles: Sequence[Article],
        *,
        key: str = "",
        refused: Sequence[tuple[str, str, Any]] = (),
    ) -> Future[list[Receipt]]:
        """Have articles added; the answer is that of :meth:`~isogloss.store.Store.add`, after the commit."""
        request = _Request(articles, key, refused)
        with self._lock:
            if self._closed:
                raise StoreBusyError("the service is stopping; nothing was written, try again")
            self._queue.put(request)
        return request.answer

    def close(self) -> None:
        """Commit what waits, and end."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (group := self._gather()) is not None:
            if group:
                self._commit(group)

    def _gather(self) -> list[_Request] | None:
        """Those that wait, at least one; None at the end."""
        group: list[_Request] = []
        articles = 0
        while not group or (articles < MOST and not self._queue.empty()):
            request = self._queue.get()
            if request is None:
                self._queue.put(None)
                return group or None
            if request.answer.set_running_or_notify_cancel():
                group.append(request)
                articles += len(request.articles)
        return group

    def _commit(self, group: list[_Request]) -> None:
        try:
            answers = self._write(group)
        except BaseException as error:
            self._failed(group, error)
            return
        self.commits += 1
        self.requests += len(group)
        for request, answer in zip(group, answers, strict=True):
            if isinstance(answer, StoreError):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)

    def _failed(self, group: list[_Request], error: BaseException) -> None:
        """Nothing was written: try each alone where one of them may be the reason."""
        if len(group) > 1 and not isinstance(error, StoreFullError | StoreBusyError):
            for request in group:
                self._commit([request])
            return
        for request in group:
            request.answer.set_exception(error)

    def _write(self, group: list[_Request]) -> list[list[Receipt] | StoreError]:
        with self.store.database.write() as session:
            inside = Store(_Inside(session, self.store.database.types))
            return [_add(inside, request) for request in group]


def _add(store: Store, request: _Request) -> list[Receipt] | StoreError:
    try:
        return store.add(request.articles, key=request.key, refused=request.refused)
    except StoreError as error:
        return error


class _Inside(Database):
    """A database within one transaction of another: what is written here is committed with the rest."""

    def __init__(self, session: Session, types: dict[str, str]) -> None:
        self.session, self.types = session, types

    @contextmanager
    def write(self) -> Iterator[Session]:
        self.session.run("SAVEPOINT one_request")
        try:
            yield self.session
        except BaseException:
            self.session.run("ROLLBACK TO SAVEPOINT one_request")
            raise
        self.session.run("RELEASE SAVEPOINT one_request")

    @contextmanager
    def read(self) -> Iterator[Session]:
        yield self.session

    def backup(self, path: Path) -> None:
        raise StoreError(f"{path}: a transaction cannot be copied; copy the database")

    def check(self) -> list[str]:
        return []

    def describe(self) -> dict[str, str]:
        return {"product": "a transaction"}

    def close(self) -> None:
        """The transaction is ended by whoever began it."""
