"""The pages that ask the models: search, comparison of two texts, topics, dictionary."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from isogloss.service._state import AppState, AppStateDep, check_text
from isogloss.service.api import align_sentences, translate_word
from isogloss.service.auth import Holder
from isogloss.service.schemas import AlignRequest, NamedText, ServiceError, TopicAnswer, Translation
from isogloss.service.web._cards import Card, reading_order
from isogloss.service.web._filters import Filters
from isogloss.service.web._frame import PageRoute, render, sentence
from isogloss.service.web._session import FormFields, Visitor
from isogloss.service.web.drawing import crossing
from isogloss.store import EventQuery, Store
from isogloss.text import Tokeniser

__all__ = ["texts_router"]

texts_router = APIRouter(route_class=PageRoute, include_in_schema=False)

_FOUND = 48
_TOPICS = 10
_ALIGNED = 60
"""Words of a text that are aligned; more cannot be taken in at a glance."""
_EXAMPLES = 6
COMPARED = {
    "en": "Two people were injured when a fire broke out in the museum on Thursday",
    "de": "Bei einem Feuer im Museum wurden am Donnerstag zwei Menschen verletzt",
    "fr": "Deux personnes ont été blessées jeudi dans un incendie au musée",
    "es": "Dos personas resultaron heridas el jueves en un incendio en el museo",
    "ru": "Два человека пострадали в четверг при пожаре в музее",
}
"""The same in some languages, for those who want to see a comparison first."""


@texts_router.get("/search")
def search(request: Request, parts: AppStateDep, _: Visitor, q: str = "") -> Response:
    """Events by free text in any language."""
    text = q.strip()[:2000]
    names = parts.search.events(text)[:_FOUND] if text else []
    wanted = reading_order(request.headers.get("accept-language", ""))
    told = {event["id"]: event for event in parts.store.events(EventQuery(ids=names, limit=_FOUND)).events}
    cards = [Card.of(told[name], wanted) for name in names if name in told]
    examples = [] if text else _examples(parts.store)
    return render(request, "search.html", q=text, cards=cards, filters=Filters(), examples=examples)


@texts_router.get("/compare")
def compare(request: Request, parts: AppStateDep, holder: Visitor) -> Response:
    """The form that takes two texts; an address may hold short ones."""
    return _comparison(request, parts, holder, dict(request.query_params))


@texts_router.post("/compare")
def compared(request: Request, parts: AppStateDep, holder: Visitor, fields: FormFields) -> Response:
    """Two texts, how similar they are, and why."""
    return _comparison(request, parts, holder, fields)


@texts_router.get("/topics")
def topics(request: Request, parts: AppStateDep, _: Visitor, start: int = 0) -> Response:
    """Words of all languages for each component, some components at a time."""
    found: list[TopicAnswer] = []
    notice, width, first = "", 0, min(max(start, 0), 10**6)
    try:
        width, found = parts.comparing.width, parts.comparing.topics(first, _TOPICS)
    except ServiceError as error:
        notice = sentence(error.message)
    return render(
        request,
        "topics.html",
        topics=found,
        notice=notice,
        width=width,
        before=max(first - _TOPICS, 0) if first > 0 else None,
        after=first + _TOPICS if first + _TOPICS < width else None,
    )


@texts_router.get("/dictionary")
def dictionary(
    request: Request, parts: AppStateDep, holder: Visitor, word: str = "", lang: str = "", to: str = ""
) -> Response:
    """Translations of a word."""
    asked, languages = word.strip()[:100], _languages(parts)
    found, notice = _translations(parts, holder, asked, lang, to) if asked else ([], "")
    if not languages:
        notice = (
            "This service has no dictionary and no model of words. Name some in models.dictionaries or "
            "models.similarity of the settings."
        )
    return render(
        request,
        "dictionary.html",
        word=asked,
        lang=lang,
        to=to,
        found=found,
        notice=notice,
        languages=languages,
    )


def _comparison(request: Request, parts: AppState, holder: Holder, fields: dict[str, str]) -> Response:
    texts = {side: fields.get(side, "").replace("\r\n", "\n") for side in ("a", "b")}
    langs = {side: fields.get(f"lang_{side}", "") for side in ("a", "b")}
    shown: dict[str, Any] = {"answer": None, "notice": ""}
    if any(texts.values()):
        try:
            shown = _compared(parts, holder, texts, langs)
        except ServiceError as error:
            shown["notice"] = sentence(error.message)
    return render(
        request,
        "compare.html",
        texts=texts,
        langs=langs,
        languages=_languages(parts),
        example=_example(_languages(parts)),
        longest=parts.settings.limits.text_characters,
        **shown,
    )


def _compared(
    parts: AppState, holder: Holder, texts: dict[str, str], langs: dict[str, str]
) -> dict[str, Any]:
    if not all(text.strip() for text in texts.values()):
        raise ServiceError(422, "one of the texts is empty; write two")
    check_text(parts, *texts.values())
    a, b = (NamedText(text=texts[side], lang=langs[side][:35] or None) for side in ("a", "b"))
    answer = parts.comparing.compare(a, b)
    aligned = _aligned(parts, holder, list(texts.values()), answer.languages)
    return {"answer": answer, "notice": ""} | aligned


def _example(languages: list[str]) -> str:
    """The address of a comparison of two texts in languages that are known; empty where there are not two."""
    known = [code for code in COMPARED if code in languages][:2]
    if len(known) < 2:
        return ""
    fields = {side: COMPARED[code] for side, code in zip("ab", known, strict=True)}
    named = {f"lang_{side}": code for side, code in zip("ab", known, strict=True)}
    return f"/compare?{urlencode(fields | named)}"


def _examples(store: Store) -> list[tuple[str, str]]:
    """Titles of large events, each in a language of its own, with the language."""
    events = store.events(EventQuery(sort="languages", limit=_EXAMPLES)).events
    taken: dict[str, str] = {}
    for event in events:
        titles = event.get("title") or {}
        fresh = next((code for code in titles if code not in taken and titles[code]), None)
        if fresh is not None:
            taken[fresh] = titles[fresh]
    return [(title, code) for code, title in taken.items()]


def _aligned(parts: AppState, holder: Holder, texts: list[str], langs: list[str]) -> dict[str, Any]:
    """Lines between the first words of two texts, or a sentence that says why there are none."""
    first = [
        " ".join(Tokeniser(lang, lower=False)(text[:5_000])[:_ALIGNED])
        for text, lang in zip(texts, langs, strict=True)
    ]
    try:
        source, target = (
            NamedText(text=text or " ", lang=lang) for text, lang in zip(first, langs, strict=True)
        )
        found = align_sentences(parts, holder, AlignRequest(source=source, target=target))
    except ServiceError as error:
        return {"crossing": "", "pairs": [], "unaligned": sentence(error.message)}
    links = [(pair.source, pair.target) for pair in found.pairs]
    return {
        "crossing": crossing(found.source, found.target, links, langs=(langs[0], langs[1])),
        "pairs": [(found.source[i], found.target[j]) for i, j in links],
        "unaligned": "",
    }


def _translations(
    parts: AppState, holder: Holder, word: str, lang: str, to: str
) -> tuple[list[Translation], str]:
    """Translations of a word, or a sentence that says why there are none."""
    if not lang:
        return [], "Choose the language of the word."
    try:
        found = translate_word(parts, holder, lang[:35], word, to[:35] or None, 10).translations
    except ServiceError as error:
        return [], sentence(error.message)
    return found, "" if found else f"No translation of {word!r} is known."


def _languages(parts: AppState) -> list[str]:
    """Languages that any of the models knows."""
    models = parts.models
    found = set(models.similarity.languages) if models.similarity is not None else set()
    found.update(*models.aligners, *(name.split("-") for name in models.lexicon.sizes))
    return sorted(found)
