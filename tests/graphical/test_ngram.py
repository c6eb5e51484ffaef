"""Language models: against their definitions, as distributions, and through ARPA files."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from isogloss import io
from isogloss.exceptions import ModelFileError
from isogloss.sequences import NgramModel, count_ngrams, read_arpa, write_arpa
from isogloss.sequences._backoff import BEGIN, END, UNKNOWN
from isogloss.sequences._smoothing import discounts
from isogloss.stats import Counts
from tests.oracles.ngram import Text

ORDERS = pytest.mark.parametrize("order", [1, 2, 3, 4])
TOY = ["the black dog", "the nice dog", "the black cat", "the cat"]


@pytest.fixture
def sentences(rng):
    """Zipf's words in sentences of up to eight."""
    words = np.array(list("abcdefghij"))
    weights = 1 / np.arange(1, 11)
    return [rng.choice(words, n, p=weights / weights.sum()).tolist() for n in rng.integers(0, 9, 150)]


def contexts(text, order):
    """Contexts that were seen, contexts that were not, and such with unknown words."""
    words = [*text.vocabulary[:4], UNKNOWN]
    out = [(), (BEGIN,), ("zzz",)]
    for n in range(1, order):
        out += [gram for gram in text.grams[n] if gram[-1] != END][:6]
        out += list(itertools.product(words, repeat=n))[:10]
    return out


def models(order):
    return [NgramModel(order, smoothing=s, k=0.3) for s in ("mle", "add_k", "kneser_ney")]


@ORDERS
def test_every_context_has_a_distribution(sentences, order):
    text = Text(sentences, order)
    for model in models(order):
        model.fit(sentences)
        for context in contexts(text, order):
            p = model.model_.distribution(context)
            assert p.sum() == pytest.approx(1.0, abs=1e-12)
            assert p[model.model_.ids[BEGIN]] == 0
            for i in (0, 2, 3, 5):
                assert model.prob(model.model_.words[i], context) == pytest.approx(p[i], rel=1e-12)


@ORDERS
def test_kneser_ney_equals_its_definition(sentences, order):
    text = Text(sentences, order)
    taken = {n: discounts([text.adjusted(g) for g in text.grams[n] if g != (BEGIN,)]) for n in text.grams}
    model = NgramModel(order).fit(sentences)
    for context in contexts(text, order):
        for word in text.vocabulary[::2]:
            expected = text.kneser_ney(word, [w if w != "zzz" else UNKNOWN for w in context], taken)
            assert model.prob(word, context) == pytest.approx(expected, rel=1e-11)


@ORDERS
def test_relative_frequencies_and_add_k_equal_their_definitions(sentences, order):
    text = Text(sentences, order)
    mle, more = (model.fit(sentences) for model in models(order)[:2])
    for context in contexts(text, order):
        for word in text.vocabulary[::2]:
            expected = text.maximum_likelihood(word, context)
            assert mle.prob(word, context) == pytest.approx(expected, rel=1e-11)
            if len(context) >= order - 1 or context[:1] == (BEGIN,):
                assert more.prob(word, context) == pytest.approx(text.add_k(word, context, 0.3), rel=1e-11)


def test_discounts_from_counts_of_counts():
    t1, t2, t3, t4 = 50, 20, 10, 6
    y = t1 / (t1 + 2 * t2)
    counts = np.repeat([1, 2, 3, 4, 9], [t1, t2, t3, t4, 3])
    expected = [1 - 2 * y * t2 / t1, 2 - 3 * y * t3 / t2, 3 - 4 * y * t4 / t3]
    np.testing.assert_allclose(discounts(counts), expected)
    np.testing.assert_allclose(discounts(np.array([1, 1, 2])), 0.5)
    np.testing.assert_allclose(discounts(np.array([2, 2])), 0.5)
    np.testing.assert_allclose(discounts(np.array([1, 1])), 0.5)


def test_given_discounts(sentences):
    text, given_ = Text(sentences, 2), [0.3, 0.6, 0.9]
    model = NgramModel(2, discount=given_).fit(sentences)
    assert model.prob("b", ["a"]) == pytest.approx(text.kneser_ney("b", ["a"], {1: given_, 2: given_}))
    same = NgramModel(2, discount=0.4).fit(sentences)
    assert same.prob("b", ["a"]) == pytest.approx(text.kneser_ney("b", ["a"], {1: [0.4] * 3, 2: [0.4] * 3}))


@ORDERS
def test_score_is_the_sum_over_words(sentences, order):
    model = NgramModel(order).fit(sentences[:100])
    for sentence in (sentences[101], ["a", "zzz", "b"], []):
        marked = [BEGIN, *sentence, END]
        expected = sum(np.log(model.prob(w, marked[:i])) for i, w in enumerate(marked) if i)
        assert model.score_samples([sentence])[0] == pytest.approx(expected, rel=1e-11)
    logs = model.score_samples(sentences)
    events = sum(len(s) + 1 for s in sentences)
    assert model.score(sentences) == pytest.approx(logs.sum() / events)
    assert model.perplexity(sentences) == pytest.approx(np.exp(-logs.sum() / events))


def test_smoothing_helps_on_text_that_was_not_seen(sentences):
    train, test = sentences[:100], sentences[100:]
    perplexity = {m.smoothing: m.fit(train).perplexity(test) for m in models(3)}
    assert perplexity["kneser_ney"] < perplexity["add_k"] < perplexity["mle"] == np.inf


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), min_size=1, max_size=6), st.integers(1, 5))
def test_counts_of_parts_are_counts_of_the_whole(text, cut):
    whole = NgramModel(2, smoothing="add_k").fit(text)
    parts = NgramModel(2, smoothing="add_k").fit(text[:cut])
    if text[cut:]:
        parts.partial_fit(text[cut:])
    assert parts.counts_ == whole.counts_
    merged = count_ngrams(text[cut:], 2).merge(count_ngrams(text[:cut], 2))
    again = NgramModel(2, smoothing="add_k").fit(merged)
    for context in ([], ["<s>"], ["a"], ["b"]):
        assert parts.prob("a", context) == again.prob("a", context) == whole.prob("a", context)


def test_fitting_counts_leaves_them_alone():
    counts = count_ngrams(TOY, 2)
    model = NgramModel(2).fit(counts).partial_fit(["a dog"])
    assert counts == count_ngrams(TOY, 2) != model.counts_


def test_rare_words_are_unknown(sentences):
    rare = NgramModel(2, min_count=40, smoothing="mle").fit(sentences)
    assert 3 < len(rare.model_.words) < 13
    replaced = [[w if w in rare.model_.ids else UNKNOWN for w in s] for s in sentences]
    known = NgramModel(2, smoothing="mle").fit(replaced)
    for context in ([BEGIN], ["a"], ["j"], [UNKNOWN]):
        assert rare.prob("zzz", context) == pytest.approx(known.prob(UNKNOWN, context))
    fixed = NgramModel(2, vocabulary=["a", "b"], smoothing="mle").fit(sentences)
    assert fixed.model_.words == (UNKNOWN, BEGIN, END, "a", "b")


def test_unknown_words_in_a_closed_text():
    mle, more, smooth = (model.fit(TOY) for model in models(2))
    assert mle.prob("zebra", ["the"]) == 0.0
    assert mle.perplexity(["the zebra"]) == np.inf
    assert more.prob("zebra", ["the"]) == pytest.approx(0.3 / (4 + 0.3 * 7))
    assert 0 < smooth.prob("zebra", ["the"]) < smooth.prob("cat", ["the"])


def test_samples_follow_the_model():
    model = NgramModel(2, smoothing="mle", random_state=0).fit(TOY)
    drawn = [" ".join(sentence) for sentence in model.sample(800)]
    assert set(drawn) == {"the black dog", "the nice dog", "the black cat", "the cat"}
    assert drawn.count("the nice dog") / 800 == pytest.approx(0.25, abs=0.05)
    assert set(map(tuple, model.sample(20, context=["the", "nice"]))) == {("dog",)}
    assert all(len(s) <= 2 for s in NgramModel(2, random_state=0).fit(TOY).sample(50, longest=2))


def test_the_bigram_is_a_chain():
    model = NgramModel(2).fit(TOY)
    graph = model.network(4)
    assert graph.edges == (("X1", "X2"), ("X2", "X3"), ("X3", "X4"))
    words = ["the", "cat", END, END]
    row = {f"X{i + 1}": w for i, w in enumerate(words)}
    factors = [graph.cpd(n).table[(*(row[q] for q in graph.parents(n)), row[n])] for n in graph.names]
    assert np.log(np.prod(factors)) == pytest.approx(model.score_samples(["the cat"])[0])
    with pytest.raises(ValueError, match="order 3"):
        NgramModel(3).fit(TOY).network(2)


@ORDERS
def test_arpa_gives_back_every_bit(sentences, order, tmp_path):
    for model, name in zip(models(order), ("a.arpa", "b.arpa.gz", "c"), strict=True):
        before = model.fit(sentences).model_
        write_arpa(before, tmp_path / name)
        after = read_arpa(tmp_path / name)
        assert after.words == before.words
        for a, b in zip(after.levels, before.levels, strict=True):
            for field in ("parents", "last", "log_probs", "backoffs"):
                np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


HEADER = "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-99\t<s>\t-0.5\n-1\t</s>\n-0.3\ta\t-0.2\n-0.5\tb\n\n"
GOOD = HEADER + "\\2-grams:\n-0.2\t<s> a\n-0.1\ta b\n\n\\end\\\n"


def test_arpa_of_other_tools(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_text("made by somebody\n\n" + GOOD.replace("\t", " ").replace("\n", "\r\n"))
    model = read_arpa(path)
    assert model.prob("a", ["<s>"]) == pytest.approx(10**-0.2)
    assert model.prob("b", ["<s>"]) == pytest.approx(10 ** (-0.5 - 0.5))
    assert model.prob("a", ["b"]) == pytest.approx(10**-0.3)
    assert model.prob("zebra", ["a"]) == 0.0
    path.write_text(GOOD.replace("-0.2\t<s> a\n-0.1\ta b", "-0.1\ta b\n-0.2\t<s> a"))
    assert read_arpa(path).prob("b", ["a"]) == model.prob("b", ["a"]) == pytest.approx(10**-0.1)
    path.write_text(GOOD.replace("-0.5\tb", "-0.5\t<UNK>").replace("a b", "a <UNK>"))
    assert read_arpa(path).prob("zebra", ["a"]) == pytest.approx(10**-0.1)


def test_sentences_know_nothing_of_each_other(tmp_path):
    """Some tools count across the ends of sentences."""
    path = tmp_path / "lm.arpa"
    longer = "-0.3\t</s> <s>\n\n\\3-grams:\n-9\t</s> <s> a\n\n\\end\\\n"
    path.write_text(GOOD.replace("ngram 2=2", "ngram 2=3\nngram 3=1").replace("\n\\end\\\n", longer))
    first, second = read_arpa(path).score_sentences(["a b", "a b"])[0]
    assert first == second == pytest.approx(np.log(10) * (-0.2 - 0.1 - 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ngram 2=2", "ngram 3=2", ":3: 'ngram 3=2'; expected 'ngram 2='"),
        ("ngram 2=2\n", "", ":10: .*expected .end"),
        ("-0.3\ta\t-0.2", "x\ta\t-0.2", ":8: 'x' or '-0.2' is not a number"),
        ("-0.3\ta\t-0.2", "0.3\ta\t-0.2", ":8: the logarithms 0.3"),
        ("-0.3\ta\t-0.2", "-0.3\ta b c\t-0.2", ":8: 5 fields"),
        ("-0.5\tb", "-0.5\ta", ":9: the word 'a' is there twice"),
        ("-0.1\ta b", "-0.1\ta c", ":13: the word 'c' is not among"),
        ("-0.1\ta b", "-0.1\t<s> a", ":13: an n-gram that is there twice"),
        ("\n\\end\\\n", "", ":13: the file ends here"),
        ("\\2-grams:", "\\3-grams:", ":11: .*; expected .2-grams"),
        ("\\data\\", "data", "the file ends here"),
    ],
)
def test_bad_arpa_names_the_line(tmp_path, old, new, message):
    path = tmp_path / "lm.arpa"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        read_arpa(path)


def test_arpa_without_its_contexts(tmp_path):
    path = tmp_path / "lm.arpa"
    longer = "\\3-grams:\n-0.1\ta b a\n-0.1\tb b a\n\\end\\\n"
    path.write_text(GOOD.replace("ngram 2=2", "ngram 2=2\nngram 3=2").replace("\\end\\\n", longer))
    with pytest.raises(ModelFileError, match=r"lm.arpa:18: an n-gram whose context"):
        read_arpa(path)


def test_files_that_cannot_be(tmp_path):
    with pytest.raises(ModelFileError, match="no such file"):
        read_arpa(tmp_path / "none.arpa")
    (tmp_path / "bytes.arpa").write_bytes(b"\\data\\\nngram 1=1\n\\1-grams:\n-1\t\xff\n")
    with pytest.raises(ModelFileError, match=":4: is not UTF-8"):
        read_arpa(tmp_path / "bytes.arpa")
    spaced = NgramModel(1).fit([["New York"]]).model_
    with pytest.raises(ValueError, match="has a space"):
        write_arpa(spaced, tmp_path / "out.arpa")
    assert not (tmp_path / "out.arpa").exists()


def test_manners(tmp_path):
    model = NgramModel(3)
    with pytest.raises(NotFittedError):
        model.perplexity(TOY)
    assert clone(model).get_params() == model.get_params()
    model.fit(TOY)
    io.save(model, tmp_path / "lm.isogloss")
    loaded = io.load(tmp_path / "lm.isogloss", expected=NgramModel)
    np.testing.assert_array_equal(loaded.score_samples(TOY), model.score_samples(TOY))
    assert loaded.partial_fit(["a dog"]).counts_ == clone(model).fit([*TOY, "a dog"]).counts_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 0}, "'order'.* Got 0"),
        ({"smoothing": "laplace"}, "'smoothing'.* Got 'laplace'"),
        ({"k": 0}, "'k'.* Got 0"),
        ({"min_count": 0}, "'min_count'.* Got 0"),
        ({"discount": [0.5]}, "one number or three"),
        ({"discount": 1.5}, "at most 1, 2 and 3"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        NgramModel(**settings).fit(TOY)


def test_bad_text_is_refused():
    for text, message in (
        ("a b", "list of sentences"),
        ([], "no sentences"),
        (["a </s> b"], "marks the begin or end"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            NgramModel(2).fit(text)
    with pytest.raises(ValueError, match="up to 2 words"):
        NgramModel(2).fit(count_ngrams(TOY, 3))
    with pytest.raises(ValueError, match="without its parts"):
        NgramModel(3).fit(Counts().update([("a",), ("b",), ("a", "b"), ("b", "a", "b")]))
    with pytest.raises(ValueError, match="no sentences"):
        NgramModel(2).fit(TOY).perplexity([])
    with pytest.raises(TypeError, match="list of words"):
        NgramModel(2).fit(TOY).prob("dog", "black")
    with pytest.raises(TypeError, match="the word 3"):
        NgramModel(2).fit([[3, 4]])
