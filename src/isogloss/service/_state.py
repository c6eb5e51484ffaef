"""The application state that routes share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from isogloss.service._background import Worker
from isogloss.service._backlog import Backlog
from isogloss.service._change_feed import ChangeFeed
from isogloss.service._group_commit import GroupWriter
from isogloss.service._metrics import Metrics
from isogloss.service._page_cache import PageCache
from isogloss.service.alerts import AlertSender
from isogloss.service.api.errors import ServiceError
from isogloss.service.auth import AccessControl
from isogloss.service.exports import ExportSlots
from isogloss.service.models import Models, TextComparer
from isogloss.service.search import EventSearch, NeighbourIndex
from isogloss.service.settings import Settings
from isogloss.service.story import StoryReader
from isogloss.service.worker import Retention
from isogloss.store import Store


@dataclass
class AppState:
    """The application state: settings, store, models and everything else that routes use."""

    settings: Settings
    store: Store
    access: AccessControl
    models: Models
    comparing: TextComparer
    neighbours: NeighbourIndex
    search: EventSearch
    changes: ChangeFeed
    backlog: Backlog
    metrics: Metrics
    retention: Retention
    exports: ExportSlots
    alerts: AlertSender
    stories: StoryReader
    worker: Worker | None = None
    writer: GroupWriter | None = None
    checking: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Articles of one request are validated at a time, since that takes CPU and never waits."""
    pages: PageCache = field(default_factory=PageCache)

    def need_writer(self) -> GroupWriter:
        """Return the writer, which exists while the application runs."""
        if self.writer is None:
            raise ServiceError(503, "the service is not running yet; try again", {"Retry-After": "1"})
        return self.writer


async def _app_state(request: Request) -> AppState:
    state: AppState = request.app.state.isogloss
    return state


AppStateDep = Annotated[AppState, Depends(_app_state)]
"""The application state as a dependency of a route."""


def check_text(state: AppState, *texts: str) -> None:
    """Raise an error if a text exceeds ``limits.text_characters``."""
    max_chars = state.settings.limits.text_characters
    for text in texts:
        if len(text) > max_chars:
            raise ServiceError(413, f"a text has {len(text):,} characters; expected at most {max_chars:,}")
