r"""Alignment of the sentences of documents, in passes that learn from one another.

The score of a bead is a log-likelihood ratio: how much likelier its sentences are side by side than each on
its own. It adds up the kind of the bead, the lengths of its sides (Gale and Church 1993), the ends of
paragraphs, and words: :math:`\log\bigl(u + (1 - u) \frac1n \sum_s t(w \mid s) / p(w)\bigr)` for each word
:math:`w`, the mean of both directions, with the lexicon :math:`t` of IBM Model 1. Dynamic programming finds
the best beads.

The first pass knows lengths and the words that are spelt alike; its confident beads teach the lexicon of the
next pass (Moore 2002, *Fast and accurate sentence alignment of bilingual corpora*).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isogloss.alignment._bitext import WordForms, WordList
from isogloss.alignment.models import Priors
from isogloss.alignment.sentences._bands import MAX_FULL_CELLS, LatticeBand, find_anchors
from isogloss.alignment.sentences._beads import Bead, SentenceAlignment
from isogloss.alignment.sentences._model import DocumentAlignment, Parameters, learn
from isogloss.alignment.sentences._words import Lexicon, Ratios, SentenceSide
from isogloss.text.raw import SplitText

OnPass = Callable[[int, int], None]

MIN_CONFIDENCE = 0.9
"""Probability of the beads from which the next pass learns."""

RECENTRED = 3
"""Maximum number of times a band is widened around the last path because the path came near its edge."""


@dataclass(frozen=True)
class SentenceOptions:
    """Settings of sentence alignment.

    Parameters
    ----------
    passes : int
        Passes with a learned lexicon; 0 uses lengths and words that are spelt alike.
    same_words : bool
        Whether words that are spelt alike, and numbers, correspond.
    prefix : int or None
        Compare the first letters of words only, a crude stem; None compares whole words.
    n_jobs : int or None
        Threads that learn the lexicon; -1 for all cores.
    """

    passes: int = 2
    same_words: bool = True
    prefix: int | None = 4
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.passes, int) or self.passes < 0:
            raise ValueError(f"passes={self.passes!r}; expected a number of passes, 0 for no lexicon")


def align_sentences(
    source: SplitText | Sequence[str],
    target: SplitText | Sequence[str],
    *,
    lexicon: Priors | None = None,
    options: SentenceOptions | None = None,
    on_pass: OnPass | None = None,
) -> SentenceAlignment:
    """Align the sentences of two texts.

    Parameters
    ----------
    source, target : SplitText or sequence of str
        The sentences; without paragraphs they are one paragraph.
    lexicon : Priors, optional
        Known translations, as :func:`~isogloss.alignment.read_priors` reads them.
    options : SentenceOptions, optional
        Settings.
    on_pass : callable (int, int), optional
        Called with the number of finished passes and of all.

    Returns
    -------
    SentenceAlignment
        Beads in order. Memory and time are proportional to the length of the text.

    Examples
    --------
    >>> english = ["The house is old.", "It stands by the river in the old town.", "Anna lives there."]
    >>> german = ["Das Haus ist alt, und es steht am Fluss in der alten Stadt.", "Anna wohnt dort."]
    >>> [bead.kind for bead in align_sentences(english, german)]
    [(2, 1), (1, 1)]
    """
    return align_documents([(source, target)], lexicon=lexicon, options=options, on_pass=on_pass)[0]


def align_documents(
    documents: Sequence[tuple[SplitText | Sequence[str], SplitText | Sequence[str]]],
    *,
    lexicon: Priors | None = None,
    options: SentenceOptions | None = None,
    on_pass: OnPass | None = None,
) -> list[SentenceAlignment]:
    """Align the sentences of several documents, which share a lexicon.

    The parameters are those of :func:`align_sentences`, but for ``documents``, which are pairs of texts. A
    document with nothing on one side has beads without partners.
    """
    texts = [(_as_text(source), _as_text(target)) for source, target in documents]
    options = options or SentenceOptions()
    found = iter(_align([pair for pair in texts if all(map(len, pair))], lexicon, options, on_pass))
    return [next(found) if all(map(len, pair)) else _unpaired(*pair) for pair in texts]


def _as_text(sentences: SplitText | Sequence[str]) -> SplitText:
    if isinstance(sentences, str):
        raise TypeError("got one string; expected its sentences: isogloss.text.raw.split_text splits a text")
    if isinstance(sentences, SplitText):
        return sentences
    return SplitText(tuple(sentences), (0,) * len(sentences))


def _unpaired(source: SplitText, target: SplitText) -> SentenceAlignment:
    left = [Bead(range(i, i + 1), range(0), 1.0) for i in range(len(source))]
    right = [Bead(range(0), range(j, j + 1), 1.0) for j in range(len(target))]
    return SentenceAlignment(source, target, left + right)


def _align(
    texts: Sequence[tuple[SplitText, SplitText]],
    priors: Priors | None,
    options: SentenceOptions,
    on_pass: OnPass | None,
) -> list[SentenceAlignment]:
    """Align documents that have sentences on both sides."""
    if not texts:
        return []
    forms = WordForms(prefix=options.prefix)
    vocabularies = WordList(), WordList()
    sides = [[SentenceSide.of(pair[k], v, forms) for pair in texts] for k, v in enumerate(vocabularies)]
    lexicon = Lexicon(vocabularies, sides)
    if options.same_words:
        lexicon.add_same_words()
    if priors is not None:
        lexicon.add(priors, forms)
        priors = priors.in_forms(forms)
    parameters = Parameters.first(*sides)
    ratios = lexicon.ratios()
    documents = [_first_document(s, t, lexicon, parameters) for s, t in zip(*sides, strict=True)]
    parameters = _align_all(documents, parameters, ratios)
    orders = [document.order(parameters, ratios) for document in documents]
    for number in range(options.passes + 1):
        if number:
            ratios = _learned(documents, lexicon, priors, options) or ratios
        parameters = _align_all(documents, parameters, ratios)
        if on_pass is not None:
            on_pass(number + 1, options.passes + 1)
    return [
        SentenceAlignment(*pair, document.beads, order=order)
        for pair, document, order in zip(texts, documents, orders, strict=True)
    ]


def _align_all(
    documents: Sequence[DocumentAlignment], parameters: Parameters, ratios: tuple[Ratios, Ratios]
) -> Parameters:
    """Align all documents, and give the parameters that they teach."""
    for document in documents:
        _align_centred(document, parameters, ratios)
    return learn(parameters, documents, MIN_CONFIDENCE)


def _first_document(
    source: SentenceSide, target: SentenceSide, lexicon: Lexicon, parameters: Parameters
) -> DocumentAlignment:
    """A document with the band for the first pass: everything, or what is near its best path by lengths."""
    n, m = len(source), len(target)
    if (n + 1) * (m + 1) <= MAX_FULL_CELLS:
        return DocumentAlignment(source, target, LatticeBand.full(n, m))
    document = DocumentAlignment(
        source, target, LatticeBand.wide(find_anchors(source, target, lexicon), n, m)
    )
    document.align(parameters, None, posteriors=False)
    document.narrow()
    return document


def _align_centred(
    document: DocumentAlignment, parameters: Parameters, ratios: tuple[Ratios, Ratios]
) -> None:
    for _ in range(RECENTRED):
        document.align(parameters, ratios)
        touched = document.band.is_touched(document.points)
        document.narrow()
        if not touched:
            return


def _learned(
    documents: Sequence[DocumentAlignment], lexicon: Lexicon, priors: Priors | None, options: SentenceOptions
) -> tuple[Ratios, Ratios] | None:
    """Ratios of the lexicon that confident beads teach; None if there are none."""
    parts = [
        ((d.source, d.target), [(b.source, b.target) for b in d.beads if _is_lesson(b)]) for d in documents
    ]
    bitext = lexicon.bitext(parts)
    if not bitext.cells[-1]:
        return None
    return lexicon.learn(bitext, priors, options.n_jobs)


def _is_lesson(bead: Bead) -> bool:
    return bool(bead.source) and bool(bead.target) and bead.probability >= MIN_CONFIDENCE
