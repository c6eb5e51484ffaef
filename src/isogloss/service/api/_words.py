"""Words: their translations, and their alignment in two sentences."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api._prefix import PREFIX
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.service.models import resolve_language
from isogloss.service.schemas import (
    AlignAnswer,
    AlignedPair,
    AlignRequest,
    NamedText,
    ServiceError,
    Translation,
    WordAnswer,
)
from isogloss.text import Tokeniser

__all__ = ["words_router"]

words_router = APIRouter(prefix=PREFIX, route_class=AuthenticatedRoute, tags=["words"])

Tag = Annotated[str, Path(min_length=2, max_length=35, description="The language of the word.")]


@words_router.get("/words/{lang}/{word:path}", response_model=WordAnswer, summary="Translate a word")
def translate_word(
    parts: AppStateDep,
    _: Reader,
    lang: Tag,
    word: Annotated[str, Path(min_length=1, max_length=200)],
    to: Annotated[str | None, Query(min_length=2, max_length=35, description="Only into this one.")] = None,
    k: Annotated[int, Query(ge=1, le=50, description="Translations in each language.")] = 10,
) -> WordAnswer:
    """Translations from the dictionaries of the service, else words that its model uses alike."""
    code = resolve_language(word, lang)
    targets = [resolve_language(word, to)] if to else _targets(parts, code)
    if not targets:
        raise ServiceError(
            404,
            f"this service has no dictionary and no model for words in {code!r}; name some in "
            "models.dictionaries or models.similarity of the settings",
        )
    found = [each for target in targets for each in _translations(parts, code, word, target, k)]
    return WordAnswer(lang=code, word=word, translations=found)


@words_router.post("/align", response_model=AlignAnswer, summary="Align two sentences")
def align_sentences(parts: AppStateDep, _: Reader, asked: AlignRequest) -> AlignAnswer:
    """Which words of two sentences translate each other."""
    langs = [resolve_language(each.text, each.lang) for each in (asked.source, asked.target)]
    aligner, turned = parts.models.need_aligner(*langs)
    source, target = (
        _words(parts, each, lang) for each, lang in zip((asked.source, asked.target), langs, strict=True)
    )
    agreed = aligner.posterior(*((target, source) if turned else (source, target))).agreed
    if turned:
        agreed = agreed.T
    rows, columns = (agreed > aligner.threshold).nonzero()
    pairs = [
        AlignedPair(source=i, target=j, probability=min(1.0, float(agreed[i, j])))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    return AlignAnswer(source=source, target=target, pairs=pairs)


def _targets(parts: AppState, lang: str) -> list[str]:
    model = parts.models.similarity
    known = set(model.languages) if model is not None and lang in model.languages else set()
    return sorted({*parts.models.lexicon.targets(lang), *known} - {lang})


def _translations(parts: AppState, lang: str, word: str, to: str, k: int) -> list[Translation]:
    found = parts.models.lexicon.translate(lang, word, to)[:k]
    if found:
        return [Translation(lang=to, word=w, score=score, source="dictionary") for w, score in found]
    return parts.comparing.translations(lang, word, to, k)


def _words(parts: AppState, sentence: NamedText, lang: str) -> list[str]:
    most = parts.settings.limits.sentence_words
    if len(sentence.text) > 50 * most:
        raise ServiceError(413, f"a sentence has {len(sentence.text):,} characters; expected a sentence")
    words = Tokeniser(lang, lower=False)(sentence.text)
    if not words:
        raise ServiceError(422, "a sentence has no words; expected at least one")
    if len(words) > most:
        raise ServiceError(413, f"a sentence has {len(words):,} words; expected at most {most:,}")
    return words
