"""What an article alone tells, and a form of it that travels quickly between processes.

An article has a dozen short arrays. Each costs microseconds to send, so those of a batch are sent as a few
long ones, and the arrays that come out are parts of these.
"""

from __future__ import annotations

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

__all__ = [
    "PROFILE_FIELDS",
    "DeferredAnalysis",
    "AnalysisBatch",
    "AnalysedArticle",
    "pack_analyses",
    "unpack_analyses",
]

Latent = NDArray[np.float32]
Arrays = NDArray[Any] | Sequence[Any]

PROFILE_FIELDS = tuple(one.name for one in fields(UnweightedProfile) if one.name != "terms")
"""What a draft has beside its terms."""

_profile_fields = attrgetter(*PROFILE_FIELDS)


class AnalysedArticle:
    """What an article alone tells; found when it is asked for.

    Parameters
    ----------
    article : Article
        The article.
    annotator : Annotator
        Finds names, places, dates and keywords.
    latent : array or None
        Its point in a common space of documents.
    """

    def __init__(self, article: Article, annotator: Annotator, latent: Latent | None) -> None:
        self._article, self._annotator = article, annotator
        self.latent = latent

    @classmethod
    def of(
        cls, fingerprint: NDArray[np.uint32], terms: Terms, profile: UnweightedProfile, latent: Latent | None
    ) -> AnalysedArticle:
        """What is known already."""
        new = cls.__new__(cls)
        new.fingerprint, new.terms, new.profile, new.latent = fingerprint, terms, profile, latent
        return new

    @cached_property
    def fingerprint(self) -> NDArray[np.uint32]:
        """By which near-duplicates are found."""
        return fingerprint(self._article.text)

    @cached_property
    def terms(self) -> Terms:
        """The terms by which it is clustered."""
        return article_terms(self._article)

    @cached_property
    def profile(self) -> UnweightedProfile:
        """What linking knows of it, without weights."""
        return extract_profile(self._article, self._annotator.annotate(self._article))


class DeferredAnalysis(AnalysedArticle):
    """What an article alone tells, found by a function when it is asked for.

    Parameters
    ----------
    prepare : callable
        Finds it. What it raises is raised at every access, each time after another attempt.
    """

    def __init__(self, prepare: Callable[[], AnalysedArticle]) -> None:
        self._prepare = prepare

    @cached_property
    def _found(self) -> AnalysedArticle:
        return self._prepare()

    @property
    def fingerprint(self) -> NDArray[np.uint32]:
        """By which near-duplicates are found."""
        return self._found.fingerprint

    @property
    def terms(self) -> Terms:
        """The terms by which it is clustered."""
        return self._found.terms

    @property
    def profile(self) -> UnweightedProfile:
        """What linking knows of it, without weights."""
        return self._found.profile

    @property
    def latent(self) -> Latent | None:  # type: ignore[override]
        """Its point in a common space of documents."""
        return self._found.latent


class AnalysisBatch(NamedTuple):
    """What is known of some articles, in few objects.

    Attributes
    ----------
    plain : list of tuples
        Drafts without their terms.
    lengths : list of int
        Terms of title and body, of clusters and of drafts; four numbers for each article.
    ids, counts : arrays
        All terms.
    fingerprints, latents : array or list of arrays
        One array of all if they are equally long, as they mostly are; otherwise one by one.
    """

    profiles: list[tuple[Any, ...]]
    lengths: list[int]
    ids: NDArray[np.int32]
    counts: NDArray[np.float64]
    fingerprints: Arrays
    latents: Arrays


def pack_analyses(analyses: Sequence[AnalysedArticle]) -> AnalysisBatch:
    """What is known of articles, all of which is found for it.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> some = [AnalysedArticle(article, Annotator(), None) for article in sample_news().articles[:3]]
    >>> [one.profile.annotated == other.profile.annotated for one, other in zip(unpack_analyses(pack_analyses(some)), some)]
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
    )


def unpack_analyses(parcel: AnalysisBatch) -> list[AnalysedArticle]:
    """What is known of the articles of a parcel."""
    columns = zip(parcel.profiles, _terms(parcel), parcel.fingerprints, parcel.latents, strict=True)
    return [
        AnalysedArticle.of(
            fingerprint,
            terms,
            UnweightedProfile(**dict(zip(PROFILE_FIELDS, profiles, strict=True)), terms=profile_terms),
            latent,
        )
        for profiles, (terms, profile_terms), fingerprint, latent in columns
    ]


def _terms(parcel: AnalysisBatch) -> Iterator[tuple[Terms, Terms]]:
    """The terms of each article, those of clusters and those of drafts."""
    ids, counts = parcel.ids, parcel.counts
    ends = accumulate(parcel.lengths, initial=0)
    parts = ((ids[start:end], counts[start:end]) for start, end in pairwise(ends))
    for four in zip(parts, parts, parts, parts, strict=True):
        yield Terms(*four[:2]), Terms(*four[2:])


def _stack(arrays: Sequence[Any]) -> Arrays:
    """One array of those that have one length; the same one by one if there is another, or none."""
    alike = len({None if one is None else len(one) for one in arrays}) == 1 and arrays[0] is not None
    return np.array(arrays) if alike else arrays
