"""What an application is made of, for its routes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request

from isogloss.service._backlog import Backlog
from isogloss.service._change_feed import Changes
from isogloss.service._group_commit import GroupWriter
from isogloss.service._metrics import Metrics
from isogloss.service._page_cache import KeptPages
from isogloss.service.api.errors import ServiceError
from isogloss.service.auth import AccessControl
from isogloss.service.models import Comparing, Models
from isogloss.service.search import Neighbours, Search
from isogloss.service.settings import Settings
from isogloss.service.worker import Retention
from isogloss.store import Store

__all__ = ["Here", "Parts", "Worker", "check_text"]


class Worker(Protocol):
    """What makes events of articles while the service runs."""

    def start(self) -> None:
        """Begin, in a thread or process of its own."""

    def stop(self) -> None:
        """End, and come back when that is done."""

    def status(self) -> Mapping[str, Any]:
        """How it is; ``alive`` is False when it is not."""


@dataclass
class Parts:
    """Everything that routes use."""

    settings: Settings
    store: Store
    access: AccessControl
    models: Models
    comparing: Comparing
    neighbours: Neighbours
    search: Search
    changes: Changes
    backlog: Backlog
    metrics: Metrics
    retention: Retention
    worker: Worker | None = None
    writer: GroupWriter | None = None
    checking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Articles of one request are checked at a time: it takes computing and no waiting."""
    pages: KeptPages = field(default_factory=KeptPages)

    def need_writer(self) -> GroupWriter:
        """The writer, which is there while the application runs."""
        if self.writer is None:
            raise ServiceError(503, "the service is not running yet; try again", {"Retry-After": "1"})
        return self.writer


async def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


Here = Annotated[Parts, Depends(_parts)]


def check_text(parts: Parts, *texts: str) -> None:
    """Refuse texts that are too long to work on while others wait."""
    most = parts.settings.limits.text_characters
    for text in texts:
        if len(text) > most:
            raise ServiceError(413, f"a text has {len(text):,} characters; expected at most {most:,}")
