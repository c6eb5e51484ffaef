"""Pages that use the models: comparison of two texts, topics, dictionary."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from isogloss.service._state import AppState, AppStateDep, check_text
from isogloss.service.api.errors import ServiceError
from isogloss.service.api.routes import align_sentences, translate_word
from isogloss.service.api.schemas import AlignRequest, TextInput, TopicResponse, WordTranslation
from isogloss.service.auth import Principal
from isogloss.service.web._rendering import PageRoute, as_sentence, render
from isogloss.service.web._session import FormFields, PageReader
from isogloss.service.web.drawing import alignment_diagram
from isogloss.text import Tokeniser

text_pages = APIRouter(route_class=PageRoute, include_in_schema=False)

TOPICS_PER_PAGE = 10
MAX_ALIGNED_WORDS = 60
"""Words of each text in the alignment diagram; more would be unreadable."""
EXAMPLE_TEXTS = {
    "en": "Two people were injured when a fire broke out in the museum on Thursday",
    "de": "Bei einem Feuer im Museum wurden am Donnerstag zwei Menschen verletzt",
    "fr": "Deux personnes ont été blessées jeudi dans un incendie au musée",
    "es": "Dos personas resultaron heridas el jueves en un incendio en el museo",
    "ru": "Два человека пострадали в четверг при пожаре в музее",
}
"""The same sentence in several languages, as an example of a comparison."""


@text_pages.get("/compare")
def compare(request: Request, state: AppStateDep, principal: PageReader) -> Response:
    """Show the form for two texts; the query string may contain them."""
    return _compare_page(request, state, principal, dict(request.query_params))


@text_pages.post("/compare")
def submit_compare(
    request: Request, state: AppStateDep, principal: PageReader, fields: FormFields
) -> Response:
    """Compare two texts, and explain the result."""
    return _compare_page(request, state, principal, fields)


@text_pages.get("/topics")
def topics(request: Request, state: AppStateDep, _: PageReader, start: int = 0) -> Response:
    """Show topics with their words in all languages, page by page."""
    found: list[TopicResponse] = []
    notice, width, first = "", 0, min(max(start, 0), 10**6)
    try:
        width, found = state.comparing.width, state.comparing.topics(first, TOPICS_PER_PAGE)
    except ServiceError as error:
        notice = as_sentence(error.message)
    return render(
        request,
        "topics.html",
        topics=found,
        notice=notice,
        width=width,
        before=max(first - TOPICS_PER_PAGE, 0) if first > 0 else None,
        after=first + TOPICS_PER_PAGE if first + TOPICS_PER_PAGE < width else None,
    )


@text_pages.get("/dictionary")
def dictionary(
    request: Request, state: AppStateDep, principal: PageReader, word: str = "", lang: str = "", to: str = ""
) -> Response:
    """Translate a word."""
    query, languages = word.strip()[:100], _languages(state)
    found, notice = _translations(state, principal, query, lang, to) if query else ([], "")
    if not languages:
        notice = (
            "This service has no dictionary and no similarity model. Configure models.dictionaries or "
            "models.similarity in the settings."
        )
    return render(
        request,
        "dictionary.html",
        word=query,
        lang=lang,
        to=to,
        found=found,
        notice=notice,
        languages=languages,
    )


def _compare_page(
    request: Request, state: AppState, principal: Principal, fields: dict[str, str]
) -> Response:
    texts = {side: fields.get(side, "").replace("\r\n", "\n") for side in ("a", "b")}
    langs = {side: fields.get(f"lang_{side}", "") for side in ("a", "b")}
    result: dict[str, Any] = {"comparison": None, "notice": ""}
    if any(texts.values()):
        try:
            result = _compare(state, principal, texts, langs)
        except ServiceError as error:
            result["notice"] = as_sentence(error.message)
    return render(
        request,
        "compare.html",
        texts=texts,
        langs=langs,
        languages=_languages(state),
        example=_example_url(_languages(state)),
        max_chars=state.settings.limits.text_characters,
        **result,
    )


def _compare(
    state: AppState, principal: Principal, texts: dict[str, str], langs: dict[str, str]
) -> dict[str, Any]:
    if not all(text.strip() for text in texts.values()):
        raise ServiceError(422, "one of the texts is empty; enter two texts")
    check_text(state, *texts.values())
    a, b = (TextInput(text=texts[side], lang=langs[side][:35] or None) for side in ("a", "b"))
    comparison = state.comparing.compare(a, b)
    alignment = _align(state, principal, list(texts.values()), comparison.languages)
    return {"comparison": comparison, "notice": ""} | alignment


def _example_url(languages: list[str]) -> str:
    """Return the URL of an example in two known languages, or an empty string."""
    known = [code for code in EXAMPLE_TEXTS if code in languages][:2]
    if len(known) < 2:
        return ""
    fields = {side: EXAMPLE_TEXTS[code] for side, code in zip("ab", known, strict=True)}
    langs = {f"lang_{side}": code for side, code in zip("ab", known, strict=True)}
    return f"/compare?{urlencode(fields | langs)}"


def _align(state: AppState, principal: Principal, texts: list[str], langs: list[str]) -> dict[str, Any]:
    """Align the first words of two texts; or explain why that is not possible."""
    first = [
        " ".join(Tokeniser(lang, lower=False)(text[:5_000])[:MAX_ALIGNED_WORDS])
        for text, lang in zip(texts, langs, strict=True)
    ]
    try:
        source, target = (
            TextInput(text=text or " ", lang=lang) for text, lang in zip(first, langs, strict=True)
        )
        found = align_sentences(state, principal, AlignRequest(source=source, target=target))
    except ServiceError as error:
        return {"diagram": "", "pairs": [], "unaligned": as_sentence(error.message)}
    links = [(pair.source, pair.target) for pair in found.pairs]
    return {
        "diagram": alignment_diagram(found.source, found.target, links, langs=(langs[0], langs[1])),
        "pairs": [(found.source[i], found.target[j]) for i, j in links],
        "unaligned": "",
    }


def _translations(
    state: AppState, principal: Principal, word: str, lang: str, to: str
) -> tuple[list[WordTranslation], str]:
    """Translate a word; or explain why there is no translation."""
    if not lang:
        return [], "Choose the language of the word."
    try:
        found = translate_word(state, principal, lang[:35], word, to[:35] or None, 10).translations
    except ServiceError as error:
        return [], as_sentence(error.message)
    return found, "" if found else f"No translation of {word!r} is known."


def _languages(state: AppState) -> list[str]:
    """Return the languages of all models."""
    models = state.models
    found = set(models.similarity.languages) if models.similarity is not None else set()
    found.update(*models.aligners, *(name.split("-") for name in models.lexicon.sizes))
    return sorted(found)
