"""From the parameters of a search to a query of the store; checking saved searches."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from isogloss.service.api.schemas import SearchParameters
from isogloss.service.search._query_syntax import parse_query
from isogloss.service.search._query_terms import clean_query, language_codes, resolve_terms
from isogloss.store import EventQuery, Store, to_micros


def event_query(store: Store, parameters: SearchParameters) -> EventQuery:
    """Return the query of the store for the filters of a search, sorted by time if by relevance.

    Raises ValueError if a language is unknown.
    """
    sort = parameters.sort or "last"
    return EventQuery(
        since=_micros(parameters.since),
        until=_micros(parameters.until),
        terms=resolve_terms(store, lang=parameters.lang, place=parameters.place, concept=parameters.concept),
        sources=[clean_query(source) for source in parameters.source],
        without=language_codes(parameters.without),
        min_languages=parameters.min_languages,
        min_size=parameters.min_size,
        sort="last" if sort == "relevance" else sort,
    )


def parse_saved(query: Mapping[str, Any]) -> SearchParameters:
    """Return the parameters of a saved search.

    Raises ValueError if it cannot be run, because a parameter is not known (any more) or invalid.

    Examples
    --------
    >>> parse_saved({"q": "storm", "lang": ["de"]}).lang
    ['de']
    >>> parse_saved({"q": "storm", "mood": "bad"})
    Traceback (most recent call last):
    ValueError: mood: Extra inputs are not permitted
    """
    try:
        parameters = SearchParameters.model_validate(dict(query))
    except ValidationError as error:
        listed = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])
        raise ValueError("; ".join(listed)) from error
    parse_query(parameters.q)
    language_codes([*parameters.lang, *parameters.without])
    return parameters


def _micros(time: datetime | None) -> int | None:
    """Convert a time to microseconds; UTC unless it has a zone."""
    return None if time is None else to_micros(time if time.tzinfo else time.replace(tzinfo=UTC))
