"""The HTTP response of an export: streamed, bounded in number and time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from isogloss.service.api.errors import ServiceError
from isogloss.service.exports._formats import MEDIA_TYPES

logger = logging.getLogger(__name__)


class ExportSlots:
    """Counts the exports that run, and refuses further ones; to be used in the event loop."""

    def __init__(self, max_exports: int) -> None:
        self.max_exports, self.running = max_exports, 0

    @contextmanager
    def slot(self) -> Generator[None]:
        """Take a slot during the block; raise an error if there is none."""
        if self.running >= self.max_exports:
            raise ServiceError(
                503, f"{self.max_exports} exports are running already; try again later", {"Retry-After": "30"}
            )
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1


class ExportResponse(StreamingResponse):
    """A file that is sent while it is made; a connection that breaks off means that it is incomplete.

    The export is broken off after some seconds, because it holds a snapshot of the store. The ending of the
    file's name is its format.
    """

    def __init__(
        self, slots: ExportSlots, chunks: Generator[bytes], *, name: str, format: str, seconds: float
    ) -> None:
        self.slots, self.chunks, self.seconds = slots, chunks, seconds
        headers = {
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="{name}.{format}"',
        }
        super().__init__((), media_type=MEDIA_TYPES[format], headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file; an error before its first chunk is answered as an error."""
        try:
            with self.slots.slot():
                async with asyncio.timeout(self.seconds):
                    self.body_iterator = self._body(await run_in_threadpool(next, self.chunks, b""))
                    await super().__call__(scope, receive, send)
        except TimeoutError:
            logger.warning(
                "an export took longer than limits.export_seconds (%g) and was broken off", self.seconds
            )
            raise
        finally:
            self.chunks.close()

    async def _body(self, first: bytes) -> AsyncGenerator[bytes]:
        chunk: bytes | None = first
        while chunk is not None:
            yield chunk
            chunk = await run_in_threadpool(next, self.chunks, None)
