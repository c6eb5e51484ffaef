"""What is known of an article as bytes: all of it comes back, and what is damaged is refused."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from isogloss.events.analyse import from_bytes, to_bytes
from isogloss.events.analyse._analysed_article import AnalysedArticle
from isogloss.events.analyse._prepared_bytes import _LENGTH, _digest
from isogloss.events.annotate import Annotator
from isogloss.events.cluster import N_TERMS, Terms
from isogloss.events.ingest import sample_news

NEWS = sample_news().articles[:40]
POINT = np.array([0.1, -2.5, 3e-30], np.float32)


def prepared(article, latent=None):
    return AnalysedArticle(article, Annotator(gazetteer=None), latent)


def arrays(one):
    return [
        *one.terms.title,
        *one.terms.body,
        *one.profile.terms.title,
        *one.profile.terms.body,
        one.fingerprint,
    ]


def same(one, other):
    assert repr(replace(one.profile, terms=None)) == repr(replace(other.profile, terms=None))
    for mine, its in zip([*arrays(one), one.latent], [*arrays(other), other.latent], strict=True):
        assert (mine is None) == (its is None)
        if mine is not None:
            assert (mine.dtype, mine.tobytes()) == (its.dtype, its.tobytes())
            assert its.flags.writeable
            assert its.flags.aligned


@pytest.mark.parametrize("latent", [None, POINT, POINT.astype(np.float64), np.empty(0, np.float32)])
def test_all_of_it_comes_back(latent):
    for article in NEWS:
        same(one := prepared(article, latent), from_bytes(article, to_bytes(article, one)))


def test_counts_that_are_large_or_broken_come_back():
    one = prepared(NEWS[0])
    ids, counts = one.terms.title
    for value in (256.0, 0.5, -1.0):
        odd = counts.copy()
        odd[0] = value
        changed = AnalysedArticle.of(one.fingerprint, Terms((ids, odd), one.terms.body), one.profile, None)
        same(changed, from_bytes(NEWS[0], to_bytes(NEWS[0], changed)))


def test_an_article_without_words():
    empty = replace(NEWS[0], title="...", body="")
    same(one := prepared(empty), from_bytes(empty, to_bytes(empty, one)))


@pytest.mark.parametrize("field", ["id", "lang", "title", "body", "time"])
def test_bytes_of_another_article_are_refused(field):
    told = to_bytes(NEWS[0], prepared(NEWS[0]))
    value = NEWS[1].time if field == "time" else "de" if field == "lang" else "other"
    with pytest.raises(ValueError, match="damaged, or of another article"):
        from_bytes(replace(NEWS[0], **{field: value}), told)


def test_damage_anywhere_is_refused():
    told = to_bytes(NEWS[0], prepared(NEWS[0], POINT))
    chance = random.Random(1)
    for place in chance.sample(range(len(told)), 200):
        flipped = bytearray(told)
        flipped[place] ^= 1 << chance.randrange(8)
        for damaged in (bytes(flipped), told[:place], told + told[:place][:1]):
            with pytest.raises(ValueError, match="damaged"):
                from_bytes(NEWS[0], damaged)


def forged(**changes):
    """Bytes with a right digest and another head."""
    rest = to_bytes(NEWS[0], prepared(NEWS[0], POINT))[16:]
    (length,) = _LENGTH.unpack_from(rest)
    head, data = json.loads(rest[4 : 4 + length]), rest[4 + length :]
    text = json.dumps({**head, **{name: change(head[name]) for name, change in changes.items()}}).encode()
    rest = _LENGTH.pack(len(text)) + text + data
    return _digest(NEWS[0], rest) + rest


@pytest.mark.parametrize(
    "changes",
    [
        {"lengths": lambda old: [old[0] + 1, *old[1:]]},
        {"lengths": lambda old: [old[0] + old[1] + 5, -5, *old[2:]]},
        {"lengths": lambda old: [sum(old)]},
        {"lengths": lambda old: "four"},
        {"small": lambda old: False},
        {"fingerprint": lambda old: 59},
        {"fingerprint": lambda old: -1},
        {"latent": lambda old: [3, "|O"]},
        {"latent": lambda old: [3, "<f8"]},
        {"latent": lambda old: None},
        {"draft": lambda old: {}},
        {"draft": lambda old: old | {"more": 1}},
        {"draft": lambda old: old | {"day": "no day"}},
        {"draft": lambda old: old | {"annotated": []}},
    ],
)
def test_what_is_no_article_is_refused(changes):
    assert from_bytes(NEWS[0], forged()).profile.title == NEWS[0].title
    with pytest.raises(ValueError, match="damaged"):
        from_bytes(NEWS[0], forged(**changes))


def test_numbers_of_terms_that_there_are_not_are_refused():
    one = prepared(NEWS[0])
    for number in (-1, N_TERMS):
        ids = one.terms.title[0].copy()
        ids[-1] = number
        odd = AnalysedArticle.of(
            one.fingerprint, Terms((ids, one.terms.title[1]), one.terms.body), one.profile, None
        )
        with pytest.raises(ValueError, match="damaged"):
            from_bytes(NEWS[0], to_bytes(NEWS[0], odd))
