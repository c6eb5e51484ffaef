from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.text import DocumentFrequencies, FrequencyWindow

documents = st.lists(st.lists(st.sampled_from("abcd"), max_size=5), max_size=8)
DAY = date(2024, 2, 25)


def seen(docs):
    return DocumentFrequencies().update_many(docs)


@given(documents, documents)
def test_merging_equals_counting_all(left, right):
    one_by_one = DocumentFrequencies()
    for words in left + right:
        one_by_one.update(words)
    assert seen(left).merge(seen(right)) == seen(left + right) == one_by_one
    assert one_by_one.n_documents == len(left + right)
    for word in "abcd":
        assert one_by_one[word] == sum(word in words for words in left + right)
        assert one_by_one.occurrences[word] == sum(words.count(word) for words in left + right)


@given(documents, documents)
def test_what_was_added_can_be_taken_away(left, right):
    assert seen(left + right).subtract(seen(right)) == seen(left)


def test_taking_away_what_was_not_counted_is_refused_and_changes_nothing():
    counted = seen([["a"], ["b"]])
    with pytest.raises(ValueError, match="cannot take away"):
        counted.subtract(seen([["c"]]))
    assert counted == seen([["a"], ["b"]])


def test_a_text_is_no_list_of_words():
    with pytest.raises(TypeError, match="a Tokeniser makes words of it"):
        DocumentFrequencies().update("a text")


@given(documents)
def test_arrays_give_it_back(docs):
    assert DocumentFrequencies.from_arrays(seen(docs).arrays()) == seen(docs)


@given(st.lists(st.tuples(st.integers(0, 12), st.lists(st.sampled_from("ab"), max_size=3)), max_size=25))
def test_a_window_holds_its_days_and_no_others(stream):
    window = FrequencyWindow(days=3)
    for n, words in stream:
        window.update(words, DAY + timedelta(days=n))
    latest, kept = -1, []
    for n, words in stream:
        latest = max(latest, n)
        kept = [(m, other) for m, other in [*kept, (n, words)] if m > latest - 3]
    assert window.total == seen([words for _, words in kept])
    again = FrequencyWindow.from_arrays(window.arrays())
    assert (again.total, again.latest, again.days) == (window.total, window.latest, 3)
    far = DAY + timedelta(days=40)
    assert window.advance(far).total == again.advance(far).total == DocumentFrequencies()


def test_a_window_takes_days():
    window = FrequencyWindow(days=1).update(["a"], datetime(2024, 2, 25, 23, 59))
    assert window.latest == DAY
    assert window.update(["b"], DAY).total.n_documents == 2
    assert FrequencyWindow().latest is None
    with pytest.raises(TypeError, match=r"got '2024-02-25' as a day; expected a datetime\.date"):
        window.update(["a"], "2024-02-25")
    with pytest.raises(ValueError, match="got days=0"):
        FrequencyWindow(days=0)
