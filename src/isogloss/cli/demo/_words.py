"""Other contents of the demo's pages: word aligners, dictionaries and an evaluation."""

from __future__ import annotations

from itertools import groupby
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from isogloss.alignment import Aligner
    from isogloss.corpora import Corpus
    from isogloss.lexicon import InducedDictionary
    from isogloss.similarity import DocumentModel, RetrievalReport

SentencePairs: TypeAlias = list[tuple[list[str], list[str]]]

HUB = "en"
SHARES = (0.4, 0.7, 1.0)
"""Shares of the training rows, for the learning curve."""

_MIN_SCORE, _MAX_TRANSLATIONS = 0.25, 5
"""Score of a translation, and translations of a word."""

_MIN_ALIGNED = 1.5
"""Expected number of times that two words were aligned; once may be chance."""

_CERTIFIED = 10
"""Components of each language whose agreement is certified."""


def learn_words(folder: Path, languages: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Write an aligner and a dictionary of English and every other language; the names of their files."""
    from isogloss import io
    from isogloss.alignment import Aligner
    from isogloss.events.ingest import sample_pairs
    from isogloss.lexicon import write_induced

    others = [lang for lang in languages if lang != HUB]
    aligners, dictionaries = ([f"{HUB}-{lang}{end}" for lang in others] for end in (".isogloss", ".tsv"))
    for lang, learned, listed in zip(others, aligners, dictionaries, strict=True):
        pairs = sample_pairs(HUB, lang)
        aligner = Aligner().fit(pairs)
        io.save(aligner, folder / learned)
        write_induced(dictionary_of(aligner, pairs, lang), folder / listed)
    return aligners, dictionaries


def dictionary_of(aligner: Aligner, pairs: SentencePairs, lang: str) -> InducedDictionary:
    """Return the translations that an aligner has enough evidence for.

    Two words must have been aligned more than once, or be the only words of a pair.
    The score is the geometric mean of both probabilities times n / (n + 1), with n how often they were
    aligned: words that occur twice are no certain translations, whatever the probabilities.
    """
    import numpy as np

    from isogloss.lexicon import InducedDictionary

    alone = {(source[0], target[0]) for source, target in pairs if len(source) == len(target) == 1}
    rows = [
        (s, t, sqrt(there * back) * count / (count + 1))
        for s, t, there, back, count in aligner.translation_table_
        if count >= _MIN_ALIGNED or (s, t) in alone
    ]
    kept = []
    for _, group in groupby(sorted(rows, key=lambda row: (row[0], -row[2], row[1])), key=lambda row: row[0]):
        best = [row for row in group if row[2] >= _MIN_SCORE][:_MAX_TRANSLATIONS]
        scores = [score for *_, score in best] + [0.0]
        kept += [(s, t, score, at + 1, score - scores[at + 1]) for at, (s, t, score) in enumerate(best)]
    scores_, ranks, margins = (np.array([row[column] for row in kept]) for column in (2, 3, 4))
    return InducedDictionary(
        HUB, lang, tuple((s, t) for s, t, *_ in kept), scores_, ranks.astype(np.int64), margins
    )


def evaluation(model: DocumentModel) -> dict[str, Any]:
    """Evaluate a model on held-out rows, by training size, and with an upper bound of the agreement.

    The model is fitted on all of the sample corpus; the figures are of others like it, fitted on parts.
    """
    import numpy as np
    from sklearn.base import clone

    from isogloss.events.ingest import sample_corpus
    from isogloss.similarity import evaluate

    train, test = sample_corpus().split(0.25)
    order = np.random.default_rng(0).permutation(len(train))
    curve = []
    for share in SHARES:
        rows = np.sort(order[: round(share * len(train))])
        report = evaluate(clone(model).fit(train.select(rows)), test)
        curve.append({"topics": len(rows), "mean reciprocal rank": report.amrr})
    return {
        "learned from": f"{len(train)} topics",
        "tested on": f"{len(test)} other topics",
        "mean reciprocal rank": report.amrr,
        "mate on rank 1": report.p1,
        "learning curve": curve,
        "retrieval: mean reciprocal rank (row finds column)": _table(report, "mrr"),
        "retrieval: share on rank 1 (row finds column)": _table(report, "p1"),
        "certificate": _certificate(model, sample_corpus()),
    }


def _table(report: RetrievalReport, name: str) -> dict[str, dict[str, float | None]]:
    """Scores by the language of the text and of what it finds."""
    names = list(dict.fromkeys(one for one, _ in report.pairs))
    return {
        one: {other: getattr(report.pairs.get((one, other)), name, None) for other in names} for one in names
    }


def _certificate(model: DocumentModel, corpus: Corpus) -> dict[str, Any]:
    """Return whether the languages could agree more on their first component than SUMCOR makes them."""
    from isogloss.multiview import SumCor
    from isogloss.views import Views

    projected = {lang: model.project_corpus(corpus, lang)[:, :_CERTIFIED] for lang in model.languages}
    views = Views(projected, present=corpus.presence)
    found = SumCor(1, ridge=0.01, random_state=0).fit(views).certificate_
    return {
        "globally optimal": found.globally_optimal,
        "relative gap": found.gap,
        "sum of correlations": found.correlations(found.value),
        "no more than": found.correlations(found.bound),
        "bound": found.kind,
    }
