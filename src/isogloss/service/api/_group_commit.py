"""Articles of many requests in one commit.

A commit waits for the disk, whatever it holds. Requests therefore queue, and one thread writes all that wait
in one transaction: while the disk is busy with one group the next one gathers. A request has its answer only
after the commit, and one that fails takes nothing from the others: those with a key have a savepoint each,
and when all others together fail each is tried alone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from isogloss.events import Article
from isogloss.exceptions import StoreBusyError, StoreError, StoreFullError
from isogloss.store import Receipt, Session, Store, ingest_articles

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
        """Requests without a key are written together, others each by itself."""
        plain = [request for request in group if not request.key]
        with self.store.database.write() as session:
            receipts = iter(_together(session, plain))
            return [next(receipts) if not one.key else _alone(session, one) for one in group]


def _together(session: Session, requests: list[_Request]) -> list[list[Receipt]]:
    """What all of them bring, as one; receipts of each."""
    if not requests:
        return []
    receipts = iter(
        ingest_articles(
            session,
            [article for request in requests for article in request.articles],
            refused=[record for request in requests for record in request.refused],
        )
    )
    return [list(islice(receipts, len(request.articles))) for request in requests]


def _alone(session: Session, request: _Request) -> list[Receipt] | StoreError:
    try:
        with _savepoint(session):
            return ingest_articles(session, request.articles, key=request.key, refused=request.refused)
    except StoreError as error:
        return error


@contextmanager
def _savepoint(session: Session) -> Iterator[None]:
    """A part of a transaction that happens whole or not at all, whatever becomes of the rest."""
    session.run("SAVEPOINT one_request")
    try:
        yield
    except BaseException:
        session.run("ROLLBACK TO SAVEPOINT one_request")
        raise
    session.run("RELEASE SAVEPOINT one_request")
