"""The service on an address: it starts, says so, and stops without losing what it acknowledged."""

from __future__ import annotations

import errno
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import cast

import uvicorn
from fastapi import FastAPI

from isogloss.events import freeze_gc
from isogloss.exceptions import SettingsError
from isogloss.service._background import SIGNALS
from isogloss.service.http import (
    BACKLOG,
    Connections,
    HttpConnection,
    connection_limit,
    raise_descriptor_limit,
)
from isogloss.service.settings import Settings

__all__ = ["Server", "listen", "running", "serve"]

SWITCH = 0.0015
"""Seconds that a thread may compute while another waits, such as the one that talks to clients."""

logger = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """A server that sends followers of changes home when it is told to stop.

    Parameters
    ----------
    app : FastAPI
        What it serves.
    settings : Settings
        How long requests have to end.
    """

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self.app = app
        limits = settings.limits
        self.open_connections = Connections(
            connection_limit(limits.connections),
            limits.connections_per_client,
            unlimited=settings.server.trusted_proxies,
        )
        super().__init__(
            uvicorn.Config(
                app,
                http=cast(
                    type[HttpConnection], partial(HttpConnection, open_connections=self.open_connections)
                ),
                log_config=None,
                access_log=False,
                lifespan="on",
                backlog=BACKLOG,
                proxy_headers=False,  # by default those of 127.0.0.1 are believed; see server.trusted_proxies
                server_header=False,
                timeout_graceful_shutdown=max(1, round(settings.server.stop_seconds)),
                timeout_keep_alive=30,
            )
        )

    def stop(self) -> None:
        """Stop soon; may be called from any thread."""
        self.app.state.parts.changes.stop()
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """What a signal does."""
        self.app.state.parts.changes.stop()
        super().handle_exit(sig, frame)


def listen(settings: Settings) -> socket.socket:
    """A socket on the address of the settings; port 0 takes any that is free.

    Raises
    ------
    SettingsError
        The address is not one of this machine, or is taken.
    """
    host, port = settings.server.host, settings.server.port
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        place = socket.create_server((host, port), family=family, backlog=BACKLOG)
        # Connections inherit it; without it the parts of an answer wait for each other, 40 ms each time.
        place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return place
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        said = "another program listens there, maybe another isogloss" if taken else error
        raise SettingsError(
            f"cannot listen on {host}, port {port}: {said}; choose others with server.host and server.port, "
            "or with --host and --port"
        ) from error


def serve(
    app: FastAPI,
    settings: Settings,
    place: socket.socket | None = None,
    *,
    tell: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT; requests that have begun end first. To be called in the main thread.

    Parameters
    ----------
    app : FastAPI
        What :func:`~isogloss.service.app.create_app` made.
    settings : Settings
        Where to listen.
    place : socket, optional
        What :func:`listen` gave, if somebody wanted to know the port beforehand.
    tell : callable
        Is called when signals stop the service, and before it answers.
    """
    raise_descriptor_limit(settings.limits.connections)
    server = Server(app, settings)
    with place or listen(settings) as bound, _signals_stop(server):
        tell()
        logger.info("listening on %s port %s", *bound.getsockname()[:2])
        sys.setswitchinterval(SWITCH)
        freeze_gc()
        server.run(sockets=[bound])


@contextmanager
def running(app: FastAPI, settings: Settings) -> Iterator[str]:
    """Serve in a thread, for as long as the block takes; gives the address.

    For tests and notebooks; port 0 of the settings takes any that is free.
    """
    with listen(settings) as place:
        server = Server(app, settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, name="isogloss-server")
        thread.start()
        try:
            while not server.started and thread.is_alive():
                thread.join(0.01)
            if not server.started:
                raise SettingsError("the service could not start; its log says why")
            host, port = place.getsockname()[:2]
            yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        finally:
            server.stop()
            thread.join()


@contextmanager
def _signals_stop(server: Server) -> Iterator[None]:
    """Have a signal stop the server and nothing else.

    One may come before uvicorn looks after them, and uvicorn raises those that stopped it again at its end.
    What is ignored, as ``nohup`` has it, stays so.
    """
    wanted = [each for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, lambda *_: server.stop()) for each in wanted}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
