"""The nearest documents of a corpus to a text, in every language, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from isogloss.corpora import Corpus
from isogloss.linalg import check_count
from isogloss.similarity.evaluation import shared_topics
from isogloss.similarity.index import NEIGHBOURS, AnyIndex, CrossLingualSearch, HubnessSample, Index
from isogloss.similarity.models import DocumentModel, EncoderSimilarity, TextModel, rerank
from isogloss.threads import thread_bound


class Found(NamedTuple):
    """A document that was found.

    Attributes
    ----------
    lang, id, title : str
        Which it is.
    similarity : float
        Cosine with the query. Documents are in the order of CSLS, so it need not fall.
    because : tuple of (tuple of str, tuple of str)
        For the components that add most to the cosine, words of the query's language and of the
        document's.
    """

    lang: str
    id: str
    title: str
    similarity: float
    because: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def index_corpus(
    model: Any,
    corpus: Corpus,
    *,
    languages: Sequence[str] | None = None,
    times: ArrayLike | None = None,
    make: Callable[[int], AnyIndex] = Index,
) -> dict[str, AnyIndex]:
    """Project a corpus once, for many questions: an index for each language, with rows of the corpus as ids.

    Parameters
    ----------
    model : DocumentModel
        Fitted.
    corpus : Corpus
        Documents.
    languages : sequence of str, optional
        Only these; all that model and corpus have by default.
    times : numbers, optional
        When each row of the corpus is from.
    make : callable
        Makes an empty index for a number of dimensions: :class:`Index`, :class:`GraphIndex`, or
        ``partial(Index, storage="int8")``.
    """
    out: dict[str, AnyIndex] = {}
    for code in _common(model, corpus, languages):
        rows, points = corpus.rows(code), model.project_corpus(corpus, code)
        when = None if times is None else np.asarray(times, dtype=np.float64)[rows]
        out[code] = make(points.shape[1]).add(rows, points, when)
    return out


@thread_bound
def find_similar(
    model: TextModel,
    corpus: Corpus,
    text: str,
    lang: str,
    *,
    k: int = 5,
    languages: list[str] | None = None,
    topics: int = 2,
    words: int = 4,
    index: Mapping[str, AnyIndex] | None = None,
    csls: int = NEIGHBOURS,
) -> list[Found]:
    """The documents of each language that are most similar to a text.

    Parameters
    ----------
    model : DocumentModel or EncodedHub
        Fitted.
    corpus : Corpus
        Where to look; all of it is projected, unless there is an index of it.
    text : str
        What to look for.
    lang : str
        Its language.
    k : int
        Documents of each language.
    languages : list of str, optional
        Only these; all that model and corpus have by default.
    topics, words : int
        Components of each explanation, and words of each.
    index : mapping of str to Index, optional
        What :func:`index_corpus` made, for many questions.
    csls : int
        Neighbours in the language of the text that tell how near a document is to everything, which counts
        against it (:class:`CrossLingualSearch`); 0 for the order of cosines.
    """
    check_count(k, "k", 1, 10**9, "documents of each language")
    query = model.project([text], lang)
    if not query.any():
        raise ValueError(f"the text has no word that the model knows in {lang!r}: is it in another language?")
    wanted = _common(model, corpus, languages)
    ready = index_corpus(model, corpus, languages=wanted) if index is None else index
    missing = [code for code in wanted if code not in ready]
    if missing:
        raise ValueError(
            f"no index of {missing[0]!r}; there are those of {', '.join(ready)}: make one, or ask less"
        )
    search = CrossLingualSearch(ready, neighbours=csls)
    sample = None if lang in ready else _sample(model, corpus, lang, csls)
    nearest = search.collect(query[0], lang, k, languages=wanted, sample=sample).best(k)
    found: list[Found] = []
    for code in wanted:
        best = nearest[code]
        points = model.project_corpus(corpus.select(best.ids, [code]), code)
        titles, lines = corpus.titles(code), np.searchsorted(corpus.rows(code), best.ids)
        for row, line, cosine, point in zip(best.ids, lines, best.scores, points, strict=True):
            why = _because(model.words, query[0], point, (lang, code), topics, words)
            found.append(Found(code, corpus.ids[int(row)], titles[int(line)], float(cosine), why))
    return found


@thread_bound
def rerank_found(
    encoder: EncoderSimilarity,
    text: str,
    lang: str,
    found: Sequence[Found],
    texts: Mapping[str, Mapping[str, str]],
    *,
    k: int,
    weight: float = 0.5,
) -> list[Found]:
    """The best of the documents that were found, in an order in which an encoder has a say.

    Parameters
    ----------
    encoder : EncoderSimilarity
        Or anything else that projects texts and has ``languages``.
    text, lang : str
        What was looked for, and its language, which the encoder has to know.
    found : sequence of Found
        What :func:`find_similar` gave, more than are wanted.
    texts : mapping of str to mapping of str to str
        For each language its texts by the ids of documents. Documents of languages that are not here, or
        that the encoder does not know, stay in the order in which they were found.
    k : int
        How many of each language.
    weight : float
        Share of the encoder in the similarity, from 0 to 1.
    """
    out: list[Found] = []
    for code in dict.fromkeys(one.lang for one in found):
        here = [one for one in found if one.lang == code]
        if code in texts and (encoder.languages is None or code in encoder.languages):
            candidates = [(_text_of(one, texts[code]), code) for one in here]
            scores = [one.similarity for one in here]
            best = rerank(encoder, text, lang, candidates, scores=scores, weight=weight)
            here = [
                here[place]._replace(similarity=float(score))
                for place, score in zip(best.order.tolist(), best.similarity, strict=True)
            ]
        out += here[:k]
    return out


def _sample(model: TextModel, corpus: Corpus, lang: str, csls: int) -> HubnessSample:
    """Draw the sample of a language that is not searched; of none if the corpus does not have it."""
    rows = corpus.rows(lang) if lang in corpus.languages else np.empty(0, np.int64)
    return HubnessSample.draw(
        rows, lambda drawn: model.project_corpus(corpus.select(drawn, [lang]), lang), neighbours=csls
    )


def _text_of(one: Found, texts: Mapping[str, str]) -> str:
    if one.id not in texts:
        raise ValueError(
            f"the document {one.id!r} in {one.lang!r} was found and has no text among the {len(texts)} that "
            "were given; expected the texts that the corpus was made of"
        )
    return texts[one.id]


def _common(model: Any, corpus: Corpus, languages: Sequence[str] | None) -> list[str]:
    """Languages that model and corpus have, and that are asked for."""
    wanted = [code for code in corpus.languages if code in model.languages]
    wanted = wanted if languages is None else [code for code in wanted if code in languages]
    if not wanted:
        raise ValueError(
            f"nothing to look at: the corpus has {', '.join(corpus.languages)}, the model "
            f"{', '.join(model.languages)}, and asked for are {languages or 'all'}"
        )
    return wanted


def _because(
    model: DocumentModel, a: np.ndarray, b: np.ndarray, pair: tuple[str, str], topics: int, words: int
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Words of both languages, or of the one that has some, for the components that two documents share."""
    shared = shared_topics(model, a, b, k=topics, words=words)
    codes = [code if code in model.languages else pair[1] for code in pair]
    lists = [[tuple(w for w, _ in topic.positive[code]) for code in codes] for topic, _ in shared]
    return tuple((ours, theirs) for ours, theirs in lists)
