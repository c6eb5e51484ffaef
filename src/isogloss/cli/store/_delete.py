"""``isogloss delete``: delete articles on request."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import echo, echo_json, program
from isogloss.cli._progress import progress_bar
from isogloss.cli.store._make_events import make_events
from isogloss.cli.store._options import Config, StorePlace, load_settings, open_store
from isogloss.exceptions import StoreBusyError, StoreError

if TYPE_CHECKING:
    from isogloss.service.settings import Settings
    from isogloss.store import Store


def delete(
    numbers: Annotated[
        list[int] | None,
        typer.Argument(metavar="[NUMBER]...", help="Article numbers, as in receipts and the API."),
    ] = None,
    config: Config = None,
    store: StorePlace = None,
    url: Annotated[
        list[str] | None,
        typer.Option("--url", help="Also delete the articles with this URL. Repeat for several."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete the articles. This cannot be undone.")] = False,
    who: Annotated[str, typer.Option(help="Who requested the deletion; by default your user name.")] = "",
    as_json: Json = False,
) -> None:
    """Delete articles and all traces of them.

    Without --yes, only show which articles would be deleted. The events are rebuilt without them. The article
    number, a digest of its key, the times and who deleted it are kept. Backups are not changed.
    """
    from isogloss.store import delete_articles

    settings = load_settings(config, store)
    with open_store(settings) as opened:
        found = _find(opened, numbers or [], url or [])
        done = delete_articles(opened, found, who=who or _user()) if yes else []
        made = bool(done) and _finish(opened, settings)
        titles = {} if yes else {seq: one.title for seq, one in opened.articles(found, bodies=False).items()}
    if as_json:
        echo_json({"articles": found, "deleted": done, "events_made": made})
        return
    for seq, title in titles.items():
        echo(f"{seq}: {title!r}")
    if not yes:
        echo(f"{len(found):,} articles would be deleted; {program()} delete --yes deletes them")
        return
    echo(f"{len(done):,} articles deleted")
    if not made:
        echo(
            "the service that uses this store will rebuild the events; then stop it and run "
            f"{program()} doctor --compact to remove the deleted bytes from the files"
        )


def _find(store: Store, numbers: list[int], urls: list[str]) -> list[int]:
    """Look up the requested articles by number and URL."""
    if not numbers and not urls:
        raise StoreError("no articles given; give article numbers or --url")
    there = store.articles(numbers, bodies=False)
    missing = [str(number) for number in numbers if number not in there]
    with store.database.read() as session:
        by_url = {each: session.run("SELECT seq FROM article WHERE url = ?", [each]) for each in urls}
    missing += [each for each, rows in by_url.items() if not rows]
    if missing:
        raise StoreError(f"no article {', '.join(missing)} in this store; nothing was deleted")
    return sorted({*there, *(int(row[0]) for rows in by_url.values() for row in rows)})


def _finish(store: Store, settings: Settings) -> bool:
    """Rebuild events and remove the deleted bytes, unless a service uses the store."""
    with progress_bar() as progress:
        if not make_events(store, settings, progress):
            return False
    try:
        store.database.compact()
    except StoreBusyError as error:
        Console(stderr=True).print(str(error), markup=False, highlight=False)
        return False
    return True


def _user() -> str:
    try:
        return f"user {getpass.getuser()}"
    except (OSError, KeyError):
        return "command line"
