"""The pages that the navigation of every page lists.

To list a page, add a :class:`NavigationEntry` to :data:`ENTRIES`. An entry is shown if the application has a
route for its path, and if there is something to see on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI

from isogloss.service._state import AppState


def _always(_: AppState) -> bool:
    return True


@dataclass(frozen=True)
class NavigationEntry:
    """A page in the navigation."""

    label: str
    """The text of the link, one short word."""
    path: str
    """The path of the page's route."""
    more: bool = False
    """Whether the link is in the menu *More* instead of the first row, which has room for four on a phone."""
    has_content: Callable[[AppState], bool] = _always
    """Whether there is something to see on the page. It is called for every page that is shown, so it must
    not search the store.
    """


@dataclass(frozen=True)
class Navigation:
    """The entries that are shown: those of the first row, and those of the menu *More*."""

    first: tuple[NavigationEntry, ...]
    more: tuple[NavigationEntry, ...]


def has_dictionary(state: AppState) -> bool:
    """Return whether the service has a dictionary or a similarity model to translate words with."""
    return bool(state.models.lexicon.sizes) or has_similarity(state)


def has_similarity(state: AppState) -> bool:
    """Return whether the service has a similarity model, which compares texts and has topics."""
    return state.models.similarity is not None


ENTRIES = (
    NavigationEntry("Now", "/"),
    NavigationEntry("Search", "/search"),
    NavigationEntry("Saved", "/saved"),
    NavigationEntry("Sources", "/sources"),
    NavigationEntry("Compare", "/compare", more=True, has_content=has_similarity),
    NavigationEntry("Topics", "/topics", more=True, has_content=has_similarity),
    NavigationEntry("Dictionary", "/dictionary", more=True, has_content=has_dictionary),
    NavigationEntry("Models", "/models", more=True),
    NavigationEntry("Status", "/status", more=True),
    NavigationEntry("API", "/docs", more=True),
)
"""All pages of the navigation in the order in which they are shown."""


def routed_entries(routers: Iterable[APIRouter]) -> tuple[NavigationEntry, ...]:
    """Return the entries whose path is a route of one of these routers."""
    paths = {getattr(route, "path", "") for router in routers for route in router.routes}
    return tuple(each for each in ENTRIES if each.path in paths)


def shown_navigation(app: FastAPI) -> Navigation:
    """Return the entries of an application that have something to see."""
    shown = [each for each in app.state.navigation if each.has_content(app.state.isogloss)]
    return Navigation(
        first=tuple(each for each in shown if not each.more),
        more=tuple(each for each in shown if each.more),
    )
