"""Analysed articles, and batches of them that travel quickly between processes.

An article has a dozen short arrays. Sending each costs microseconds, so those of a batch are sent as a few
long arrays, and the unpacked arrays are slices of these.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.events.annotate import Annotator
from isogloss.events.article import Article
from isogloss.events.cluster import Terms, article_terms
from isogloss.events.ingest import fingerprint
from isogloss.events.link import UnweightedProfile, extract_profile
from isogloss.similarity import Encoder

logger = logging.getLogger(__name__)

Latent = NDArray[np.float32]
Arrays = NDArray[Any] | Sequence[Any]

PROFILE_FIELDS = tuple(one.name for one in fields(UnweightedProfile) if one.name != "terms")
"""Fields of an unweighted profile besides its terms."""

_ENCODED_CHARS = 400
"""Characters of the body that are encoded with the title: the first sentences name who and what."""

_profile_fields = attrgetter(*PROFILE_FIELDS)


class AnalysedArticle:
    """Everything that depends on one article alone, computed at first access.

    The text is tokenised by four consumers, because each needs other units of it and sharing them would
    change results. The fingerprint hashes characters and never makes words. Clustering terms use
    :class:`~isogloss.text.Tokeniser`, which normalises case and letters; annotation needs the capitals and
    punctuation that this removes (:class:`~isogloss.events.annotate._words.TokenisedText`, shared by names,
    keywords, dates, numbers and concepts). Profile terms are n-grams of the transliterated title and lead.
    The latent model has the tokeniser and vocabulary that it was trained with. ``latent`` is the point of the
    article in the latent space; the encoder turns its title and lead into an embedding.
    """

    def __init__(
        self, article: Article, annotator: Annotator, latent: Latent | None, encoder: Encoder | None = None
    ) -> None:
        self._article, self._annotator, self._encoder = article, annotator, encoder
        self.latent = latent

    @classmethod
    def of(
        cls,
        fingerprint: NDArray[np.uint32],
        terms: Terms,
        profile: UnweightedProfile,
        latent: Latent | None,
        embedding: Latent | None,
    ) -> AnalysedArticle:
        """Wrap results that are known already."""
        new = cls.__new__(cls)
        new.fingerprint, new.terms, new.profile = fingerprint, terms, profile
        new.latent, new.embedding = latent, embedding
        return new

    @cached_property
    def fingerprint(self) -> NDArray[np.uint32]:
        """MinHash fingerprint, which finds near-duplicates."""
        return fingerprint(self._article.text)

    @cached_property
    def terms(self) -> Terms:
        """Terms for clustering."""
        return article_terms(self._article)

    @cached_property
    def profile(self) -> UnweightedProfile:
        """Profile for linking, before its terms are weighted."""
        return extract_profile(self._article, self._annotator.annotate(self._article))

    @cached_property
    def embedding(self) -> Latent | None:
        """Sentence embedding of the title and the lead; None in a language that the encoder does not know."""
        encoder, lang = self._encoder, self._article.lang
        if encoder is None or (encoder.languages is not None and lang not in encoder.languages):
            return None
        return _encode(encoder, self._article)


class DeferredAnalysis(AnalysedArticle):
    """An analysed article whose analysis is run by a function at first access.

    If the function raises an exception, every access tries again.
    """

    def __init__(self, analyse: Callable[[], AnalysedArticle]) -> None:
        self._analyse = analyse

    @cached_property
    def _found(self) -> AnalysedArticle:
        return self._analyse()

    @property
    def fingerprint(self) -> NDArray[np.uint32]:
        """MinHash fingerprint, which finds near-duplicates."""
        return self._found.fingerprint

    @property
    def terms(self) -> Terms:
        """Terms for clustering."""
        return self._found.terms

    @property
    def profile(self) -> UnweightedProfile:
        """Profile for linking, before its terms are weighted."""
        return self._found.profile

    @property
    def latent(self) -> Latent | None:  # type: ignore[override]
        """Point in the latent space."""
        return self._found.latent

    @property
    def embedding(self) -> Latent | None:
        """Sentence embedding of the title and the lead."""
        return self._found.embedding


def _encode(encoder: Encoder, article: Article) -> Latent | None:
    """Return the embedding of an article; None, with a warning, if the encoder gives no usable vector.

    Articles are encoded one by one: in a batch, the last bits of a vector depend on the other texts, and a
    replay could not repeat them.
    """
    text = f"{article.title}\n{article.body[:_ENCODED_CHARS]}".strip()
    if not any(map(str.isalnum, text)):
        return None
    vectors = np.asarray(encoder.encode([text], article.lang), dtype=np.float32)
    if vectors.shape == (1, encoder.dimension) and np.isfinite(vectors).all() and vectors.any():
        vector: Latent = vectors[0]
        return vector
    logger.warning(
        "the encoder gave an array of shape %s%s for article %s; expected finite numbers of shape %s. "
        "The article is linked without it",
        vectors.shape,
        "" if np.isfinite(vectors).all() else " that is not finite",
        article.id,
        (1, encoder.dimension),
    )
    return None


class AnalysisBatch(NamedTuple):
    """Analysed articles in a few long arrays."""

    profiles: list[tuple[Any, ...]]
    """Profiles without their terms."""
    lengths: list[int]
    """Numbers of clustering terms and of profile terms in title and body; four for each article."""
    ids: NDArray[np.int32]
    counts: NDArray[np.float64]
    """All terms."""
    fingerprints: Arrays
    latents: Arrays
    embeddings: Arrays
    """One array if they have equal lengths, as they mostly have; otherwise a list of arrays."""


def pack_analyses(analyses: Sequence[AnalysedArticle]) -> AnalysisBatch:
    """Pack analysed articles, completing their analysis.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> some = [AnalysedArticle(article, Annotator(), None) for article in sample_news().articles[:3]]
    >>> again = unpack_analyses(pack_analyses(some))
    >>> [one.profile.annotated == other.profile.annotated for one, other in zip(again, some)]
    [True, True, True]
    """
    terms = list(chain.from_iterable((*one.terms, *one.profile.terms) for one in analyses))
    return AnalysisBatch(
        [_profile_fields(one.profile) for one in analyses],
        [len(ids) for ids, _ in terms],
        np.concatenate([np.empty(0, np.int32), *(ids for ids, _ in terms)]),
        np.concatenate([np.empty(0), *(counts for _, counts in terms)]),
        _stack([one.fingerprint for one in analyses]),
        _stack([one.latent for one in analyses]),
        _stack([one.embedding for one in analyses]),
    )


def unpack_analyses(parcel: AnalysisBatch) -> list[AnalysedArticle]:
    """Unpack a batch."""
    points = parcel.fingerprints, parcel.latents, parcel.embeddings
    columns = zip(parcel.profiles, _terms(parcel), *points, strict=True)
    return [
        AnalysedArticle.of(
            fingerprint,
            terms,
            UnweightedProfile(**dict(zip(PROFILE_FIELDS, profiles, strict=True)), terms=profile_terms),
            latent,
            embedding,
        )
        for profiles, (terms, profile_terms), fingerprint, latent, embedding in columns
    ]


def _terms(parcel: AnalysisBatch) -> Iterator[tuple[Terms, Terms]]:
    """Yield the clustering terms and the profile terms of each article."""
    ids, counts = parcel.ids, parcel.counts
    ends = accumulate(parcel.lengths, initial=0)
    parts = ((ids[start:end], counts[start:end]) for start, end in pairwise(ends))
    for four in zip(parts, parts, parts, parts, strict=True):
        yield Terms(*four[:2]), Terms(*four[2:])


def _stack(arrays: Sequence[Any]) -> Arrays:
    """Stack arrays of equal length; return the list if lengths differ or an array is missing."""
    alike = len({None if one is None else len(one) for one in arrays}) == 1 and arrays[0] is not None
    return np.array(arrays) if alike else arrays
