"""``isogloss serve`` and ``isogloss token``: the service, and who may use it."""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import Annotated

import typer

from isogloss.cli.place import Config, Json, StorePlace, load_settings, open_store
from isogloss.exceptions import StoreError
from isogloss.service.app import create_app
from isogloss.service.models import Models
from isogloss.service.server import listen
from isogloss.service.server import serve as serve_app
from isogloss.service.settings import Settings
from isogloss.service.tokens import list_tokens, make_token, revoke_token
from isogloss.service.worker import StreamWorker
from isogloss.store import Store, from_micros

__all__ = ["run_service", "serve", "token_group"]

token_group = typer.Typer(help="Tokens: who may read, write and administer.", no_args_is_help=True)


def serve(
    config: Config = None,
    store: StorePlace = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 for any that is free.")] = None,
    worker: Annotated[bool, typer.Option(help="Make events of articles in this process.")] = True,
) -> None:
    """Serve the API and the pages until Ctrl-C or SIGTERM."""
    settings = load_settings(config, store)
    server = settings.server
    server = dataclasses.replace(
        server, host=server.host if host is None else host, port=server.port if port is None else port
    )
    settings = dataclasses.replace(settings, server=server)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with open_store(settings) as opened:
        run_service(settings, opened, Models.load(settings.models, opened), worker=worker)


def run_service(settings: Settings, store: Store, models: Models, *, worker: bool = True) -> None:
    """Serve a store, and say where."""
    follower = StreamWorker(store, snapshot_every=settings.stream.snapshot_every) if worker else None
    app = create_app(settings, store, models=models, worker=follower)
    with listen(settings) as place:
        host, port = place.getsockname()[:2]
        typer.echo(f"isogloss: http://{f'[{host}]' if ':' in host else host}:{port}  (Ctrl-C to stop)")
        serve_app(app, settings, place)


@token_group.command("make")
def make(
    scopes: Annotated[list[str], typer.Argument(help="read, write, admin: what it allows.")],
    label: Annotated[str, typer.Option(help="Who it is for.")] = "",
    days: Annotated[float, typer.Option(help="How long it holds.", min=0)] = 365.0,
    config: Config = None,
    store: StorePlace = None,
    as_json: Json = False,
) -> None:
    """Make a token; it is shown once."""
    with open_store(load_settings(config, store)) as opened:
        token = make_token(opened, scopes, label=label, days=days)
    typer.echo(json.dumps({"token": token}) if as_json else token)


@token_group.command("list")
def show(config: Config = None, store: StorePlace = None, as_json: Json = False) -> None:
    """Tokens, without their secrets."""
    with open_store(load_settings(config, store)) as opened:
        tokens = list_tokens(opened)
    if as_json:
        typer.echo(json.dumps(tokens))
        return
    for each in tokens:
        state = "revoked" if each["revoked"] else f"until {from_micros(int(str(each['expires']))):%Y-%m-%d}"
        typer.echo(f"{each['id']}  {each['scopes']}  {state}  {each['label']}")


@token_group.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Its id, as 'token list' shows it.")],
    config: Config = None,
    store: StorePlace = None,
) -> None:
    """Take a token back."""
    with open_store(load_settings(config, store)) as opened:
        if not revoke_token(opened, name):
            raise StoreError(f"there is no token {name!r} that holds; see isogloss token list")
    typer.echo(f"revoked: {name}")
