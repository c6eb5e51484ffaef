"""The nearest documents of a corpus to a text, in every language, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from isogloss.corpora.base import Corpus
from isogloss.linalg import check_count, top_k
from isogloss.similarity.base import DocumentModel
from isogloss.similarity.topics import shared_topics

__all__ = ["Found", "find_similar"]


class Found(NamedTuple):
    """A document that was found.

    Attributes
    ----------
    lang, id, title : str
        Which it is.
    similarity : float
        Cosine with the query.
    because : tuple of (tuple of str, tuple of str)
        For the components that add most to the cosine, words of the query's language and of the
        document's.
    """

    lang: str
    id: str
    title: str
    similarity: float
    because: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def find_similar(
    model: DocumentModel,
    corpus: Corpus,
    text: str,
    lang: str,
    *,
    k: int = 5,
    languages: list[str] | None = None,
    topics: int = 2,
    words: int = 4,
) -> list[Found]:
    """The documents of each language that are most similar to a text.

    Parameters
    ----------
    model : DocumentModel
        Fitted.
    corpus : Corpus
        Where to look; all of it is projected, so keep an :class:`Index` for many queries.
    text, lang : str
        The query and its language.
    k : int
        Documents of each language.
    languages : list of str, optional
        Only these; all that model and corpus have by default.
    topics, words : int
        Components of each explanation, and words of each.
    """
    check_count(k, "k", 1, 10**9, "documents of each language")
    query = model.project([text], lang)
    if not query.any():
        raise ValueError(f"the text has no word that the model knows in {lang!r}: is it in another language?")
    wanted = [code for code in corpus.languages if code in model.languages]
    wanted = wanted if languages is None else [code for code in wanted if code in languages]
    if not wanted:
        raise ValueError(
            f"nothing to look at: the corpus has {', '.join(corpus.languages)}, the model "
            f"{', '.join(model.languages)}, and asked for are {languages or 'all'}"
        )
    found: list[Found] = []
    for code in wanted:
        points = model.project_corpus(corpus, code)
        best = top_k(query, points, min(k, len(points)))
        rows, titles = corpus.rows(code), corpus.titles(code)
        for line, cosine in zip(best.indices[0].tolist(), best.scores[0].tolist(), strict=True):
            why = _because(model, query[0], points[line], (lang, code), topics, words)
            found.append(Found(code, corpus.ids[int(rows[line])], titles[line], cosine, why))
    return found


def _because(
    model: DocumentModel, a: np.ndarray, b: np.ndarray, pair: tuple[str, str], topics: int, words: int
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Words of both languages for the components that two documents share."""
    shared = shared_topics(model, a, b, k=topics, words=words)
    lists = [[tuple(w for w, _ in topic.positive[code]) for code in pair] for topic, _ in shared]
    return tuple((ours, theirs) for ours, theirs in lists)
