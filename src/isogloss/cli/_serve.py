"""``isogloss serve | work | token``: run the service and its worker, manage access tokens."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from isogloss.cli._lazy import CommandGroup
from isogloss.cli._options import Json
from isogloss.cli._output import echo, echo_json, echo_result
from isogloss.cli._progress import progress_bar
from isogloss.cli._signals import stop_on_signals
from isogloss.cli.store._make_events import make_events, store_contents, stream_factory
from isogloss.cli.store._options import Config, StorePlace, load_settings, open_store
from isogloss.exceptions import IsoglossError, StoreError

if TYPE_CHECKING:
    from isogloss.service.models import SimilarityModel
    from isogloss.service.settings import Settings
    from isogloss.service.worker import LeasedWorker
    from isogloss.store import Store

logger = logging.getLogger(__name__)

LogJson = Annotated[
    bool,
    typer.Option("--log-json", envvar="ISOGLOSS_LOG_JSON", help="Log one JSON object per line."),
]
Host = Annotated[str | None, typer.Option(help="Address to listen on.")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 for any free port.", min=0, max=65535)]

token_group = typer.Typer(cls=CommandGroup, help="Manage access tokens.", no_args_is_help=True)


def serve(
    config: Config = None,
    store: StorePlace = None,
    host: Host = None,
    port: Port = None,
    worker: Annotated[bool, typer.Option(help="Also run the worker that finds events.")] = True,
    log_json: LogJson = False,
    as_json: Json = False,
) -> None:
    """Serve the API and the web pages.

    Stop it with Ctrl-C or SIGTERM.
    """
    from isogloss.service import log_to_stderr

    settings = with_address(load_settings(config, store), host, port)
    check_service(settings)
    log_to_stderr(as_json=log_json)
    with open_store(settings, new=True) as opened:
        run_service(settings, opened, worker=worker, as_json=as_json)


def with_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    """Return the settings with another address to listen on, if one is given."""
    given: dict[str, Any] = {
        name: value for name, value in (("host", host), ("port", port)) if value is not None
    }
    return settings.model_copy(update={"server": settings.server.model_copy(update=given)})


def check_service(settings: Settings) -> None:
    """Check that the service runs on this platform, is installed, and that its port is free."""
    _check_platform()
    from isogloss.extras import require_extra

    require_extra("service", "the service")
    from isogloss.service.server import listen

    listen(settings).close()


def _check_platform() -> None:
    """Refuse Windows, which lacks the signals and priorities that the service and the worker use."""
    if sys.platform == "win32":
        raise IsoglossError(
            "the service runs on Linux and macOS; "
            "on Windows use WSL or the container image (deploy/Dockerfile)"
        )


class _Companion(Protocol):
    """A worker or a sender of alerts that runs next to a service."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


def run_service(
    settings: Settings,
    store: Store,
    *,
    worker: bool = True,
    as_json: bool = False,
    beside: _Companion | None = None,
) -> None:
    """Serve a store, and print the URL.

    With ``as_json`` the URL is printed as a JSON object. ``beside`` starts when the service listens, and
    stops with it.
    """
    from isogloss.service import AccessLogMiddleware
    from isogloss.service.app import create_app
    from isogloss.service.models import Models, SimilarityModel
    from isogloss.service.server import listen
    from isogloss.service.server import serve as serve_app

    _log_warnings(store)
    models = Models.load(settings.models, store)
    similarity = SimilarityModel(models.similarity, digest=models.digest)
    app = create_app(
        settings, store, models=models, worker=_worker(settings, store, similarity) if worker else None
    )
    app.add_middleware(AccessLogMiddleware)
    _preload_language_data()
    with listen(settings) as listener:
        host, port = listener.getsockname()[:2]
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        greeting = json.dumps({"url": url}) if as_json else f"isogloss: {url}  (Ctrl-C to stop)"
        started = False

        def start() -> None:
            nonlocal started
            echo(greeting)
            if beside is not None:
                started = True
                beside.start()

        try:
            serve_app(app, settings, listener, on_start=start)
        finally:
            if beside is not None and started:
                beside.stop()


def _log_warnings(store: Store) -> None:
    """Log warnings about the database and the clock."""
    from isogloss.service.worker import clock_warning

    for warning in (store.database.describe().get("warning"), clock_warning(store)):
        if warning:
            logger.warning("%s", warning)


def _preload_language_data() -> None:
    """Load the language identifier, which would otherwise delay the first article."""
    from isogloss.text import identify

    with suppress(ImportError):
        identify("Every article is in some language.")


def _worker(settings: Settings, store: Store, similarity: SimilarityModel) -> LeasedWorker:
    """Create the worker, which makes events and applies retention while it holds the lease."""
    from isogloss.service.worker import Lease, LeasedWorker, Retention, RetentionWorker, WorkerProcess

    factory = stream_factory(store, settings, similarity)
    worker = WorkerProcess(
        store,
        factory,
        checkpoint_every=settings.stream.snapshot_every,
        record_seconds=settings.worker.record_seconds,
        max_memory_mb=settings.worker.max_memory_mb,
    )
    return LeasedWorker(RetentionWorker(worker, Retention(store, settings)), Lease(store))


def work(
    config: Config = None,
    store: StorePlace = None,
    once: Annotated[bool, typer.Option("--once", help="Process the waiting articles, then stop.")] = False,
    prepare: Annotated[
        bool,
        typer.Option("--prepare", hidden=True, help="Removed; configure a Dask scheduler instead."),
    ] = False,
    log_json: LogJson = False,
    as_json: Json = False,
) -> None:
    """Run the worker that turns stored articles into events.

    Stop it with Ctrl-C or SIGTERM. A store has one worker at a time; any other waits, and takes over when the
    first one stops.
    """
    _check_platform()
    if prepare:
        raise typer.BadParameter(
            "was replaced: set worker.dask_scheduler to the address of a Dask scheduler, and start "
            "'dask worker' on the other hosts",
            param_hint="--prepare",
        )
    from isogloss.service import log_to_stderr
    from isogloss.service.models import SimilarityModel

    settings = load_settings(config, store)
    log_to_stderr(as_json=log_json)
    with open_store(settings) as opened:
        if once:
            with progress_bar() as progress:
                if not make_events(opened, settings, progress):
                    raise StoreError("another worker is already processing this store")
            counts = {name: opened.counts()[name] for name in ("article", "event")}
            echo_result({"store": counts}, store_contents(opened), as_json)
            return
        _log_warnings(opened)
        worker = _worker(settings, opened, SimilarityModel.load(settings.models, opened))
        _run_until_signal(worker, "" if as_json else "isogloss: working  (Ctrl-C to stop)")


def _run_until_signal(worker: LeasedWorker, greeting: str) -> None:
    """Run a worker until a signal stops it; print the greeting once signals are handled."""
    stop = stop_on_signals()
    if greeting:
        echo(greeting)
    worker.start()
    try:
        while not stop.wait(1.0):
            if worker.status()["alive"] is False:
                raise StoreError("the worker has stopped; see the log")
    finally:
        worker.stop()


@token_group.command("make")
def make(
    scopes: Annotated[list[str], typer.Argument(help="Scopes: read, write, admin.")],
    label: Annotated[str, typer.Option(help="Who uses the token.")] = "",
    days: Annotated[float, typer.Option(help="Days until the token expires.", min=0)] = 365.0,
    config: Config = None,
    store: StorePlace = None,
    as_json: Json = False,
) -> None:
    """Create a token. It is shown only once."""
    from isogloss.service.auth import make_token

    with open_store(load_settings(config, store)) as opened:
        token = make_token(opened, scopes, label=label, days=days)
    echo_result({"token": token}, token, as_json)


@token_group.command("list")
def show(config: Config = None, store: StorePlace = None, as_json: Json = False) -> None:
    """List tokens, without their secrets."""
    from isogloss.service.auth import list_tokens
    from isogloss.store import from_micros

    with open_store(load_settings(config, store)) as opened:
        tokens = list_tokens(opened)
    if as_json:
        echo_json(tokens)
        return
    for each in tokens:
        state = "revoked" if each["revoked"] else f"until {from_micros(int(str(each['expires']))):%Y-%m-%d}"
        echo(f"{each['id']}  {each['scopes']}  {state}  {each['label']}")


@token_group.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="The id shown by 'token list'.")],
    config: Config = None,
    store: StorePlace = None,
    as_json: Json = False,
) -> None:
    """Revoke a token."""
    from isogloss.service.auth import revoke_token

    with open_store(load_settings(config, store)) as opened:
        if not revoke_token(opened, name):
            raise StoreError(f"no valid token {name!r}; see isogloss token list")
    echo_result({"revoked": name}, f"revoked: {name}", as_json)
