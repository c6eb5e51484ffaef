"""Near-duplicates in a window."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events import Article
from isogloss.events.ingest import DuplicateIndex, fingerprint
from isogloss.events.ingest._duplicates import _HASH_FACTORS, _SHINGLE_FACTORS, _character_tables
from isogloss.kernels import find_copy, min_hashes
from tests.elsewhere import same_elsewhere
from tests.oracles import words as oracle

START = datetime(2031, 3, 5, tzinfo=UTC)


def text(rng, words=300):
    return [f"w{i}" for i in rng.zipf(1.3, size=words)]


def edited(rng, words, rate):
    return [f"new{rng.integers(1 << 30)}" if rng.random() < rate else word for word in words]


def article(key, words, hours=0.0, lang="en"):
    return Article(str(key), lang, "", " ".join(words), START + timedelta(hours=hours))


def test_the_same_article_a_thousand_times_is_one(rng):
    seen, words = DuplicateIndex(), text(rng)
    found = [seen.find(article(i, words, i / 60)) for i in range(1000)]
    assert found[0] is None
    assert set(found[1:]) == {"0"}
    assert len(seen) == 1


def test_small_changes_are_found_and_other_texts_are_not(rng):
    seen = DuplicateIndex()
    originals = [text(rng) for _ in range(200)]
    assert [seen.find(article(i, words)) for i, words in enumerate(originals)] == [None] * 200
    copies = [article(f"copy {i}", edited(rng, words, 0.04)) for i, words in enumerate(originals)]
    found = [seen.find(copy) for copy in copies]
    assert sum(one is not None for one in found) >= 195
    assert all(one in (None, str(i)) for i, one in enumerate(found))
    half = [article(f"half {i}", edited(rng, words, 0.4)) for i, words in enumerate(originals)]
    assert [seen.find(one) for one in half] == [None] * 200


def test_estimates_are_jaccard_indices(rng):
    """The share of equal places in signatures has the mean and the variance that MinHash promises."""
    errors, variances = [], []
    for _ in range(200):
        one = text(rng)
        other = edited(rng, one, rng.random() * 0.3)
        sets = [set(zip(w, w[1:], w[2:], strict=False)) for w in (one, other)]
        true = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
        signatures = [fingerprint(" ".join(w)) for w in (one, other)]
        errors.append((signatures[0] == signatures[1]).mean() - true)
        variances.append(true * (1 - true) / len(signatures[0]))
    assert abs(np.mean(errors)) < 4 * np.sqrt(np.mean(variances) / 200)
    assert 0.6 < np.var(errors) / np.mean(variances) < 1.6


@given(st.text(st.characters(codec="utf-16") | st.sampled_from("ab cd 京都タワ é.,")))
def test_fingerprints_are_those_of_the_slow_twin(line):
    letters = np.frombuffer(line.encode("utf-16-le"), np.uint16)
    arrays = (letters, *_character_tables(), _SHINGLE_FACTORS, _HASH_FACTORS)
    np.testing.assert_array_equal(min_hashes(*arrays), oracle.min_hashes(*arrays))


def test_a_kernel_of_fingerprints_knows_all_letters_and_three_steps():
    letters, (kinds, numbers) = np.zeros(3, np.uint16), _character_tables()
    with pytest.raises(ValueError, match="not all letters"):
        min_hashes(letters, kinds[:9], numbers, _SHINGLE_FACTORS, _HASH_FACTORS)
    with pytest.raises(ValueError, match="three steps"):
        min_hashes(letters, kinds, numbers, _SHINGLE_FACTORS[:2], _HASH_FACTORS)


def ring(capacity, bands=4, rows=2, slots=4):
    """A table, signatures and times of no texts yet."""
    return (
        np.zeros((bands, slots), np.int32),
        np.zeros((capacity, bands * rows), np.uint32),
        np.zeros(capacity, np.int64),
    )


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=8, max_size=8), st.integers(0, 20)), max_size=40),
    st.integers(1, 7),
    st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    st.sampled_from([3.0, 8.0, np.inf]),
)
def test_copies_are_those_of_the_slow_twin(texts, capacity, threshold, within):
    factors, seen = _SHINGLE_FACTORS[:2], 0
    quick, slow = ring(capacity), ring(capacity)
    for numbers, time in texts:
        asked = np.array(numbers, np.uint32), time, factors, seen, threshold, within
        found = find_copy(*asked, *quick)
        assert found == oracle.find_copy(*asked, *slow)
        for one, other in zip(quick, slow, strict=True):
            np.testing.assert_array_equal(one, other)
        seen += found < 0


def test_a_kernel_of_copies_refuses_what_does_not_fit():
    factors, signature = _SHINGLE_FACTORS[:2], np.zeros(8, np.uint32)
    with pytest.raises(ValueError, match="another length"):
        find_copy(signature[:7], 0, factors, 0, 0.5, 1.0, *ring(3))
    with pytest.raises(ValueError, match="shapes differ"):
        find_copy(signature, 0, factors, 0, 0.5, 1.0, *ring(3, slots=3))
    with pytest.raises(ValueError, match="negative"):
        find_copy(signature, 0, factors, -1, 0.5, 1.0, *ring(3))


def test_old_texts_are_forgotten_by_time_and_by_number(rng):
    words = text(rng)
    seen = DuplicateIndex(within=timedelta(hours=10))
    assert seen.find(article("a", words)) is None
    assert seen.find(article("b", words, 9)) == "a"
    assert seen.find(article("c", words, 11)) is None
    assert seen.find(article("d", words, 12)) == "c"

    seen = DuplicateIndex(capacity=5)
    assert seen.find(article("a", words)) is None
    assert [seen.find(article(i, text(rng))) for i in range(4)] == [None] * 4
    assert seen.find(article("b", words)) == "a"
    assert seen.find(article("more", text(rng))) is None
    assert seen.find(article("c", words)) is None
    assert len(seen) == 5


def test_a_chain_of_changes_does_not_join_what_is_different(rng):
    seen, words = DuplicateIndex(), text(rng)
    firsts = set()
    for step in range(40):
        firsts.add(seen.find(article(step, words)) or str(step))
        words = edited(rng, words, 0.03)
    assert len(firsts) > 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "地震が北海道で発生し、二人が負傷したと気象庁が発表した。",
            "地震が北海道で発生し、二人が負傷したと気象庁が発表した",
        ),
        (
            "Ночью буря сорвала две крыши и повалила деревья",
            "Ночью буря сорвала две крыши, и повалила деревья!",
        ),
        ("Storm", "storm"),
    ],
)
def test_scripts_and_short_texts(one, other):
    seen = DuplicateIndex()
    assert seen.find(article("a", [one])) is None
    assert seen.find(article("b", [other])) == "a"
    assert seen.find(article("c", ["something else entirely"])) is None


def test_texts_without_words_are_never_duplicates():
    seen = DuplicateIndex()
    assert [seen.find(article(i, ["... !"])) for i in range(3)] == [None] * 3
    assert len(seen) == 0


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40), st.integers(0, 40), st.integers(1, 8))
def test_going_on_from_a_state_is_going_on(stories, cut, capacity):
    rng = np.random.default_rng(0)
    texts = [text(rng, 40) for _ in range(13)]
    articles = [article(i, edited(rng, texts[story], 0.03), i) for i, story in enumerate(stories)]
    whole = DuplicateIndex(capacity=capacity)
    expected = [whole.find(one) for one in articles]
    first = DuplicateIndex(capacity=capacity)
    found = [first.find(one) for one in articles[:cut]]
    second = DuplicateIndex.from_state(first.state_dict())
    assert found + [second.find(one) for one in articles[cut:]] == expected
    assert second.state_dict()["ids"] == whole.state_dict()["ids"]


def test_a_state_keeps_the_order_of_its_texts(rng):
    """Five texts in a window of three: the oldest one left is the next to go, before and after saving."""
    seen, texts = DuplicateIndex(capacity=3), [text(rng) for _ in range(6)]
    for key, words in enumerate(texts[:5]):
        assert seen.find(article(key, words)) is None
    again = DuplicateIndex.from_state(seen.state_dict())
    assert again.state_dict()["ids"] == ["2", "3", "4"]
    assert again.find(article("5", texts[5])) is None
    assert [again.find(article(f"copy {n}", texts[n])) for n in (3, 4, 5)] == ["3", "4", "5"]
    assert again.find(article("copy 2", texts[2])) is None


SCRIPT = """
import json
from datetime import datetime, timedelta, UTC
from isogloss.events import Article
from isogloss.events.ingest import DuplicateIndex
seen = DuplicateIndex(capacity=50)
start = datetime(2031, 3, 5, tzinfo=UTC)
articles = [
    Article(str(i), "en", f"story {i % 37}", f"text of {i % 37} and {i % 41}", start) for i in range(200)
]
found = [seen.find(article) for article in articles]
state = seen.state_dict()
print(json.dumps([found, state["ids"], state["signatures"].tolist()]))
"""


def test_every_process_finds_the_same():
    assert any(json.loads(same_elsewhere(SCRIPT))[0])


@pytest.mark.parametrize("bad", [{"threshold": 0}, {"threshold": 1.5}, {"capacity": 0}])
def test_settings_are_checked(bad):
    with pytest.raises(ValueError, match="expected"):
        DuplicateIndex(**bad)
