"""HTTP server: listens, serves the application, and shuts down gracefully."""

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
    ACCEPT_BACKLOG,
    ConnectionLimiter,
    LimitedHttpProtocol,
    connection_limit,
    raise_descriptor_limit,
)
from isogloss.service.settings import Settings

SWITCH_INTERVAL_S = 0.0015
"""Interpreter switch interval; short, so that computing threads do not delay the event loop."""

logger = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn server with connection limits that ends event streams on shutdown."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self.app = app
        limits = settings.limits
        self.limiter = ConnectionLimiter(
            connection_limit(limits.connections),
            limits.connections_per_client,
            unlimited=settings.server.trusted_proxies,
        )
        super().__init__(
            uvicorn.Config(
                app,
                http=cast(type[LimitedHttpProtocol], partial(LimitedHttpProtocol, limiter=self.limiter)),
                log_config=None,
                access_log=False,
                lifespan="on",
                backlog=ACCEPT_BACKLOG,
                proxy_headers=False,  # uvicorn would trust 127.0.0.1; see server.trusted_proxies
                server_header=False,
                timeout_graceful_shutdown=max(1, round(settings.server.stop_seconds)),
                timeout_keep_alive=30,
            )
        )

    def stop(self) -> None:
        """Begin to shut down; may be called from any thread."""
        self.app.state.isogloss.changes.stop()
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down on a signal."""
        self.app.state.isogloss.changes.stop()
        super().handle_exit(sig, frame)


def listen(settings: Settings) -> socket.socket:
    """Open a socket on the address of the settings; port 0 chooses a free port.

    Raises SettingsError if the address is not available.
    """
    host, port = settings.server.host, settings.server.port
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        sock = socket.create_server((host, port), family=family, backlog=ACCEPT_BACKLOG)
        # Connections inherit it; Nagle's algorithm would delay the second part of a response by 40 ms.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    except (OSError, OverflowError) as error:
        in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "another program, maybe another isogloss, listens there" if in_use else error
        raise SettingsError(
            f"cannot listen on {host}, port {port}: {reason}; choose another address with server.host and "
            "server.port, or with --host and --port"
        ) from error


def serve(
    app: FastAPI,
    settings: Settings,
    sock: socket.socket | None = None,
    *,
    on_start: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish open requests. Must be called in the main thread.

    The socket is that of :func:`listen`; by default one is opened. ``on_start`` is called once signals are
    handled, before the first request is.
    """
    raise_descriptor_limit(settings.limits.connections)
    server = Server(app, settings)
    with sock or listen(settings) as bound, _signals_stop(server):
        on_start()
        logger.info("listening on %s port %s", *bound.getsockname()[:2])
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        freeze_gc()
        server.run(sockets=[bound])


@contextmanager
def running(app: FastAPI, settings: Settings) -> Iterator[str]:
    """Serve in a thread while the block runs, for tests and notebooks; yields the URL.

    Port 0 of the settings chooses a free port.
    """
    with listen(settings) as sock:
        server = Server(app, settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="isogloss-server")
        thread.start()
        try:
            while not server.started and thread.is_alive():
                thread.join(0.01)
            if not server.started:
                raise SettingsError("the service could not start; see its log")
            host, port = sock.getsockname()[:2]
            yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        finally:
            server.stop()
            thread.join()


@contextmanager
def _signals_stop(server: Server) -> Iterator[None]:
    """Stop the server on a signal, and do nothing else.

    A signal may arrive before uvicorn installs its handlers, and uvicorn raises the signals that stopped it
    again at its end. Signals that are ignored, as under ``nohup``, stay ignored.
    """
    handled = [each for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, lambda *_: server.stop()) for each in handled}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
