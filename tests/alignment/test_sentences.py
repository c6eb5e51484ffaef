"""Alignment of sentences: recovery on generated text, and what always holds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isogloss.alignment import Priors
from isogloss.alignment.sentences import SentenceOptions, align_documents, align_sentences
from isogloss.alignment.sentences._bands import LatticeBand, _consistent, _longest_chain
from isogloss.text.raw import SplitText


def make_bitext(rng, n, *, share=0.1, words=200):
    """Sentences of made-up words, some left out, some merged; and the beads that are right."""
    frequencies = 1 / np.arange(2, words + 2)
    source, target, gold = [], [], set()
    k = 0
    while k < n:
        ids = [rng.choice(words, rng.integers(4, 14), p=frequencies / frequencies.sum()) for _ in range(2)]
        left = [" ".join(f"q{w:03d}ax" for w in one) for one in ids]
        right = [" ".join(f"w{w:03d}or" for w in rng.permutation(one)) for one in ids]
        draw = rng.uniform()
        if draw < share:
            source.append(left[0])
        elif draw < 2 * share:
            target.append(right[0])
        elif draw < 3 * share:
            source.append(" ".join(left))
            target += right
            gold.add((len(source) - 1, len(source), len(target) - 2, len(target)))
        else:
            source.append(left[0])
            target.append(right[0])
            gold.add((len(source) - 1, len(source), len(target) - 1, len(target)))
        k += 1
    return source, target, gold


def found_beads(aligned):
    return {
        (b.source.start, b.source.stop, b.target.start, b.target.stop)
        for b in aligned
        if b.source and b.target
    }


def f1(found, gold):
    return 2 * len(found & gold) / (len(found) + len(gold))


def test_the_lexicon_finds_what_lengths_do_not(rng):
    source, target, gold = make_bitext(rng, 400)
    by_length = align_sentences(source, target, options=SentenceOptions(passes=0))
    by_words = align_sentences(source, target)
    assert f1(found_beads(by_words), gold) > 0.97
    assert f1(found_beads(by_words), gold) > f1(found_beads(by_length), gold) + 0.1


def test_a_dictionary_helps_a_short_text(rng):
    source, target, gold = make_bitext(rng, 30, share=0.15)
    known = Priors.from_rows(lexicon=[(f"q{w:03d}ax", f"w{w:03d}or", 1.0) for w in range(200)])
    plain = align_sentences(source, target, options=SentenceOptions(passes=0))
    helped = align_sentences(source, target, lexicon=known, options=SentenceOptions(passes=0))
    assert f1(found_beads(helped), gold) > max(f1(found_beads(plain), gold) + 0.2, 0.9)


def test_documents_share_a_lexicon(rng):
    parts = [make_bitext(rng, 12) for _ in range(40)]
    together = align_documents([(s, t) for s, t, _ in parts])
    alone = [align_sentences(s, t) for s, t, _ in parts]
    scores = [
        np.mean([f1(found_beads(a), gold) for a, (_, _, gold) in zip(each, parts, strict=True)])
        for each in (together, alone)
    ]
    assert scores[0] > scores[1]
    assert scores[0] > 0.9


def test_a_long_text_with_a_missing_chapter_is_followed(rng):
    source, target, gold = make_bitext(rng, 2500, share=0.02)
    cut = slice(900, 1300)
    target = target[: cut.start] + target[cut.stop :]
    lost = cut.stop - cut.start
    gold = {g for g in gold if g[3] <= cut.start} | {
        (a, b, c - lost, d - lost) for a, b, c, d in gold if c >= cut.stop
    }
    aligned = align_sentences(source, target)
    assert f1(found_beads(aligned), gold) > 0.95


def test_ends_of_paragraphs_help(rng):
    lines = [" ".join(["x" * 9] * rng.integers(3, 6)) for _ in range(60)]
    source, target, paragraphs = [], [], ([], [])
    gold = set()
    for k, line in enumerate(lines):
        if k % 7:
            gold.add((len(source), len(source) + 1, len(target), len(target) + 1))
            target.append(line.replace("x", "y"))
            paragraphs[1].append(k // 3)
        source.append(line)
        paragraphs[0].append(k // 3)
    texts = SplitText(tuple(source), tuple(paragraphs[0])), SplitText(tuple(target), tuple(paragraphs[1]))
    assert f1(found_beads(align_sentences(*texts)), gold) > f1(
        found_beads(align_sentences(source, target)), gold
    )


SENTENCES = st.lists(st.text(max_size=30), max_size=12)


@settings(deadline=None, max_examples=60)
@given(source=SENTENCES, target=SENTENCES)
def test_every_sentence_is_in_one_bead_in_order(source, target):
    aligned = align_sentences(source, target)
    assert [i for bead in aligned for i in bead.source] == list(range(len(source)))
    assert [j for bead in aligned for j in bead.target] == list(range(len(target)))
    assert all(0 <= bead.probability <= 1 for bead in aligned)


def test_a_side_with_nothing_has_no_partners():
    aligned = align_sentences(["a b", "c"], [])
    assert [bead.kind for bead in aligned] == [(1, 0), (1, 0)]
    assert aligned.pairs() == []


def test_text_that_is_not_split_is_refused():
    with pytest.raises(TypeError, match="split_text"):
        align_sentences("One. Two.", "Eins. Zwei.")


def test_pairs_join_sentences_and_leave_out_doubtful_ones():
    aligned = align_sentences(["The house.", "It stands there."], ["Das Haus, es steht dort."])
    assert aligned.pairs() == [("The house. It stands there.", "Das Haus, es steht dort.")]
    assert aligned.pairs(1.1) == []


@given(
    rows=st.lists(st.tuples(st.integers(-5, 30), st.integers(-5, 30)), min_size=1, max_size=20),
    m=st.integers(0, 25),
)
def test_a_band_rises_and_reaches_both_corners(rows, m):
    low, high = np.array(rows).T
    band = LatticeBand.of(low, np.maximum(low, high), m)
    assert band.starts[0] == 0
    assert band.stops[-1] == m + 1
    assert (np.diff(band.starts) >= 0).all()
    assert (np.diff(band.stops) >= 0).all()
    assert (band.starts[1:] < band.stops[:-1]).all()


def test_the_longest_chain_rises_in_both(rng):
    points = sorted({(int(i), int(j)) for i, j in rng.integers(0, 12, (25, 2))}, key=lambda p: (p[0], -p[1]))
    chain = _longest_chain(points)
    best = {}
    for i, j in points:
        best[i, j] = 1 + max((v for (a, b), v in best.items() if a < i and b < j), default=0)
    assert len(chain) == max(best.values())
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(chain))


def test_an_anchor_far_from_its_neighbours_is_dropped():
    chain = np.stack([np.arange(0, 400, 10), np.arange(0, 400, 10)], axis=1)
    chain[20:] += [0, 500]
    assert len(_consistent(chain)) == 40
    chain[10, 1] = 190
    assert 190 not in _consistent(chain)[:, 1][:15]
