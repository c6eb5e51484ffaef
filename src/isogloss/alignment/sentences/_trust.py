"""Diagnostics of a sentence alignment: signs that the texts do not correspond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from isogloss.alignment.sentences._beads import Bead, SentenceAlignment

MIN_ORDER = 0.5
"""Gain per sentence over the reversed text below which texts do not seem to be translations."""

MAX_UNALIGNED = 0.3
"""Share of sentences without a partner above which it is warned of them."""

MIN_RUN = 10
"""Sentences in a row without a partner, of which it is warned."""

MIN_SENTENCES = 50
"""Fewer sentences teach no lexicon."""

MIN_ORDERED = 30
"""Fewer sentences say too little about the order of two texts."""


@dataclass(frozen=True)
class Trust:
    """Counts and scores of the alignments of a text.

    Parameters
    ----------
    sentences : pair of int
        Source and target sentences.
    kinds : dict of str to int
        Numbers of beads by kind, such as ``1-1``, the most frequent first.
    one_to_one : float
        Share of the sentences that are in beads of one sentence on each side.
    unaligned : pair of float
        Shares of the source and of the target sentences without a partner.
    probability : float
        Mean probability of the beads with both sides.
    order : float
        How much likelier, as a logarithm per sentence, the text is than with the target sentences in reverse
        order, by lengths and words that are spelt alike. About 0 for texts that have nothing to do with
        each other, and negative if one of them is reversed.
    runs : tuple of (int, range, range)
        Long stretches without partners: the number of the document, and source and target sentences.
    warnings : tuple of str
        What to look into.
    """

    sentences: tuple[int, int]
    kinds: dict[str, int]
    one_to_one: float
    unaligned: tuple[float, float]
    probability: float
    order: float
    runs: tuple[tuple[int, range, range], ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, alignments: Sequence[SentenceAlignment]) -> Trust:
        """Assess the documents of a text together.

        Examples
        --------
        >>> from isogloss.alignment.sentences import align_sentences
        >>> trust = Trust.of([align_sentences(["The house is old."], ["Das Haus ist alt."])])
        >>> trust.kinds, trust.one_to_one, trust.warnings
        ({'1-1': 1}, 1.0, ('1 source and 1 target sentences are too few to learn from; ...',))
        """
        beads = [bead for one in alignments for bead in one]
        sizes = sum(len(one.source) for one in alignments), sum(len(one.target) for one in alignments)
        counts = Counter(bead.kind for bead in beads)
        paired = [bead.probability for bead in beads if bead.source and bead.target]
        alone = tuple(
            sum(kind[side] * n for kind, n in counts.items() if not kind[1 - side]) / max(sizes[side], 1)
            for side in (0, 1)
        )
        weights = [min(len(one.source), len(one.target)) for one in alignments]
        order = sum(one.order * w for one, w in zip(alignments, weights, strict=True)) / max(sum(weights), 1)
        runs = tuple((k, *run) for k, one in enumerate(alignments) for run in find_runs(one))
        return cls(
            sentences=sizes,
            kinds={f"{a}-{b}": n for (a, b), n in counts.most_common()},
            one_to_one=2 * counts[1, 1] / max(sum(sizes), 1),
            unaligned=(alone[0], alone[1]),
            probability=sum(paired) / max(len(paired), 1),
            order=order,
            runs=runs,
            warnings=tuple(_warnings(sizes, order, (alone[0], alone[1]), runs)),
        )


def find_runs(beads: Iterable[Bead], least: int = MIN_RUN) -> list[tuple[range, range]]:
    """Stretches of sentences without partners that are long on at least one side."""
    runs = []
    for alone, group in groupby(beads, key=lambda bead: not (bead.source and bead.target)):
        if alone:
            run = list(group)
            source = range(run[0].source.start, run[-1].source.stop)
            target = range(run[0].target.start, run[-1].target.stop)
            if max(len(source), len(target)) >= least:
                runs.append((source, target))
    return runs


def _warnings(
    sizes: tuple[int, int],
    order: float,
    unaligned: tuple[float, float],
    runs: Sequence[tuple[int, range, range]],
) -> Iterator[str]:
    if not all(sizes):
        side = "source" if sizes[1] else "target"
        yield f"the {side} text has no sentences; nothing corresponds"
        return
    if order < -MIN_ORDER and min(sizes) >= MIN_ORDERED:
        yield "the texts fit better with one of them reversed; are its sentences or files in reverse order?"
    elif order < MIN_ORDER and min(sizes) >= MIN_ORDERED:
        yield "the texts do not seem to be translations of each other, or not in the same order"
    if min(sizes) < MIN_SENTENCES:
        yield (
            f"{sizes[0]} source and {sizes[1]} target sentences are too few to learn from; check the result, "
            "add more text or give a dictionary"
        )
    for share, side in zip(unaligned, ("source", "target"), strict=True):
        if share > MAX_UNALIGNED:
            yield f"{share:.0%} of the {side} sentences have no partner"
    source = max((run[1] for run in runs), key=len, default=range(0))
    target = max((run[2] for run in runs), key=len, default=range(0))
    if min(len(source), len(target)) >= MIN_RUN:
        yield (
            f"source sentences {_numbers(source)} and target sentences {_numbers(target)} have no partners; "
            "is a passage in another place?"
        )


def _numbers(sentences: range) -> str:
    """Numbers from 1, as people count."""
    return f"{sentences.start + 1}-{sentences.stop}"
