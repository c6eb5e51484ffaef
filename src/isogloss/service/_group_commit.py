"""Group commit: articles of concurrent requests in one transaction.

A commit waits for the disk, whatever its size. Requests therefore queue, and one thread writes all waiting
requests in one transaction while the next group gathers. A request is answered only after the commit. A
request that fails does not affect the others: those with an idempotency key have a savepoint each, and if the
others fail together, each is retried alone.
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

MAX_GROUP_ARTICLES = 2_000
"""Articles in one commit; a larger request gets a commit of its own."""


@dataclass
class _Request:
    articles: Sequence[Article]
    key: str
    rejected: Sequence[tuple[str, str, Any]]
    receipts: Future[list[Receipt]] = field(default_factory=Future)


class GroupWriter:
    """Thread that adds the articles of all waiting requests to a store in one commit.

    ``commits`` and ``requests`` count them.

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
        rejected: Sequence[tuple[str, str, Any]] = (),
    ) -> Future[list[Receipt]]:
        """Queue articles; the future has the receipts of :meth:`.Store.add` after the commit."""
        request = _Request(articles, key, rejected)
        with self._lock:
            if self._closed:
                raise StoreBusyError("the service is stopping; nothing was written, try again")
            self._queue.put(request)
        return request.receipts

    def close(self) -> None:
        """Commit waiting requests, and end the thread."""
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
        """Wait for at least one request and return all waiting ones; None at the end."""
        group: list[_Request] = []
        articles = 0
        while not group or (articles < MAX_GROUP_ARTICLES and not self._queue.empty()):
            request = self._queue.get()
            if request is None:
                self._queue.put(None)
                return group or None
            if request.receipts.set_running_or_notify_cancel():
                group.append(request)
                articles += len(request.articles)
        return group

    def _commit(self, group: list[_Request]) -> None:
        try:
            results = self._write(group)
        except BaseException as error:
            self._handle_failure(group, error)
            return
        self.commits += 1
        self.requests += len(group)
        for request, result in zip(group, results, strict=True):
            if isinstance(result, StoreError):
                request.receipts.set_exception(result)
            else:
                request.receipts.set_result(result)

    def _handle_failure(self, group: list[_Request], error: BaseException) -> None:
        """Retry each request alone if one of them may be the cause; nothing has been written."""
        if len(group) > 1 and not isinstance(error, StoreFullError | StoreBusyError):
            for request in group:
                self._commit([request])
            return
        for request in group:
            request.receipts.set_exception(error)

    def _write(self, group: list[_Request]) -> list[list[Receipt] | StoreError]:
        """Write requests without a key together, and the others each in its own savepoint."""
        unkeyed = [request for request in group if not request.key]
        with self.store.database.write() as session:
            receipts = iter(_write_together(session, unkeyed))
            return [next(receipts) if not one.key else _write_alone(session, one) for one in group]


def _write_together(session: Session, requests: list[_Request]) -> list[list[Receipt]]:
    """Write requests as one; return the receipts of each."""
    if not requests:
        return []
    receipts = iter(
        ingest_articles(
            session,
            [article for request in requests for article in request.articles],
            refused=[record for request in requests for record in request.rejected],
        )
    )
    return [list(islice(receipts, len(request.articles))) for request in requests]


def _write_alone(session: Session, request: _Request) -> list[Receipt] | StoreError:
    try:
        with _savepoint(session):
            return ingest_articles(session, request.articles, key=request.key, refused=request.rejected)
    except StoreError as error:
        return error


@contextmanager
def _savepoint(session: Session) -> Iterator[None]:
    """Roll back only this part of a transaction on an error."""
    session.run("SAVEPOINT one_request")
    try:
        yield
    except BaseException:
        session.run("ROLLBACK TO SAVEPOINT one_request")
        raise
    session.run("RELEASE SAVEPOINT one_request")
