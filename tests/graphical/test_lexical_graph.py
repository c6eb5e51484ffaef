"""IBM Model 1 as a graph gives the posteriors of the closed form and of the aligner."""

import itertools

import numpy as np
import pytest

from isogloss.alignment import Aligner
from isogloss.graphical import Inference, lexical_network
from isogloss.graphical._lexical_graph import OTHER_WORDS

LEXICON = {
    "das": {"the": 0.7, "that": 0.15, "which": 0.075, "who": 0.05, "this": 0.025},
    "Haus": {"house": 0.8, "building": 0.16, "home": 0.02, "family": 0.015, "shell": 0.005},
    "ist": {"is": 0.8, "'s": 0.16, "exists": 0.02, "has": 0.015, "are": 0.005},
    "klein": {"small": 0.4, "little": 0.4, "short": 0.1, "minor": 0.06, "petty": 0.04},
    "NULL": {"the": 0.3, "is": 0.2},
}
SOURCE, TARGET = ["das", "Haus", "ist", "klein"], ["the", "house", "is", "small"]


def evidence(target):
    return {f"F{j}": word for j, word in enumerate(target, 1)}


def posteriors(graph, target):
    inference = Inference(graph)
    rows = [inference.query(f"A{j}", evidence(target)).values for j in range(1, len(target) + 1)]
    return np.array(rows)


def test_likelihood_is_a_product_of_sums():
    """Of 4 + 1 positions for each of 4 words: (l + 1)^-m times the product over j of the sum over i of t."""
    graph = lexical_network(SOURCE, TARGET, LEXICON)
    sums = [sum(LEXICON[e].get(f, 0.0) for e in ["NULL", *SOURCE]) for f in TARGET]
    assert Inference(graph).probability(evidence(TARGET)) == pytest.approx(np.prod(sums) / 5**4, rel=1e-12)


def test_the_best_alignment_of_the_worked_example():
    graph = lexical_network(SOURCE, TARGET, LEXICON)
    row = evidence(TARGET) | {f"A{j}": f"{j} {word}" for j, word in enumerate(SOURCE, 1)}
    joint = np.prod([graph.cpd(n).table[(*(row[q] for q in graph.parents(n)), row[n])] for n in graph.names])
    assert joint == pytest.approx(0.1792 / 5**4, rel=1e-12)


def test_posteriors_equal_the_closed_form():
    target = ["the", "the", "is", "shell"]
    t = np.array([[LEXICON[e].get(f, 0.0) for e in ["NULL", *SOURCE]] for f in target])
    expected = t / t.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        posteriors(lexical_network(SOURCE, target, LEXICON), target), expected, atol=1e-12
    )


def test_the_graph_equals_the_aligner():
    text = [
        ("the black dog", "o cao preto"),
        ("the nice dog", "o cao amigo"),
        ("the black cat", "o gato preto"),
        ("the cat", "o gato"),
    ]
    pairs = [(e.split(), f.split()) for e, f in text]
    aligner = Aligner("1:4", agreement=None, spelling=0, null=None).fit(pairs)
    lexicon = {}
    table, t = aligner.table_, aligner.parameters_.lexicon[:, 0]
    for e, f, p in zip(table.sources, table.columns, t, strict=True):
        lexicon.setdefault(aligner.source_words_[e], {})[aligner.target_words_[f]] = float(p)
    lexicon["NULL"] = dict(
        zip(aligner.target_words_, map(float, aligner.parameters_.null_forward), strict=True)
    )
    for source, target in pairs:
        found = posteriors(lexical_network(source, target, lexicon), target)
        np.testing.assert_allclose(found[:, 1:].T, aligner.posterior(source, target).forward, atol=2e-6)


def test_pairs_of_variables_are_independent():
    graph = lexical_network(SOURCE[:2], TARGET[:2], LEXICON, null=None)
    inference = Inference(graph)
    both = inference.joint(["A1", "A2"], evidence(TARGET[:2])).values
    alone = [inference.query(f"A{j}", evidence(TARGET[:2])).values for j in (1, 2)]
    np.testing.assert_allclose(both / both.sum(), np.outer(*alone), atol=1e-14)
    for a, b in itertools.product(("A1", "F1"), ("A2", "F2")):
        assert (a, b) not in graph.edges


def test_words_that_nothing_translates():
    graph = lexical_network(["das"], ["the", "moon"], LEXICON, null=None)
    assert graph.cpd("F2").table["1 das", "moon"] == 0.0
    assert graph.cpd("F2").table["1 das", OTHER_WORDS] == pytest.approx(0.3)
    assert (
        lexical_network(["Mond"], ["moon"], LEXICON, null=None).cpd("F1").table["1 Mond", OTHER_WORDS] == 1.0
    )


def test_bad_sentences_are_refused():
    for source, target in (([], ["a"]), (["a"], []), ("das", ["a"])):
        with pytest.raises(ValueError, match="two lists of words"):
            lexical_network(source, target, LEXICON)
    with pytest.raises(ValueError, match=r"the translations of 'das' sum to 1\.4"):
        lexical_network(["das"], ["a", "b"], {"das": {"a": 0.7, "b": 0.7}}, null=None)
