import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer

from isogloss.text import TermWeighting


@pytest.fixture
def counts(rng):
    return sparse.csr_matrix(rng.poisson(0.4, size=(40, 25)) + np.eye(40, 25, dtype=int))


def test_tfidf_is_that_of_section_6_1(counts):
    dense, (n, _) = counts.toarray(), counts.shape
    expected = dense * np.log(n / (dense > 0).sum(axis=0))
    found = TermWeighting(norm=None).fit_transform(counts)
    assert found.dtype == np.float32
    assert found.format == "csr"
    assert_allclose(found.toarray(), expected, rtol=1e-6)
    unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    assert_allclose(TermWeighting().fit_transform(counts).toarray(), unit, rtol=1e-5)


@pytest.mark.parametrize("scheme", ["tfidf", "log"])
@pytest.mark.parametrize("norm", ["l2", None])
def test_the_smooth_kind_is_that_of_scikit_learn(counts, scheme, norm):
    peer = TfidfTransformer(norm=norm, sublinear_tf=scheme == "log").fit_transform(counts)
    found = TermWeighting(scheme, smooth=True, norm=norm).fit_transform(counts)
    assert_allclose(found.toarray(), peer.toarray(), rtol=1e-5)


def test_bm25_equals_its_formula(counts):
    k1, b = 1.6, 0.6
    dense, (n, _) = counts.toarray().astype(float), counts.shape
    df, lengths = (dense > 0).sum(axis=0), dense.sum(axis=1)
    expected = np.zeros_like(dense)
    for d, k in zip(*dense.nonzero(), strict=True):
        tf = dense[d, k] * (k1 + 1) / (dense[d, k] + k1 * (1 - b + b * lengths[d] / lengths.mean()))
        expected[d, k] = tf * np.log(1 + (n - df[k] + 0.5) / (df[k] + 0.5))
    found = TermWeighting("bm25", norm=None, k1=k1, b=b).fit_transform(counts)
    assert_allclose(found.toarray(), expected, rtol=1e-5)


def test_counts_stay_counts(counts):
    assert (TermWeighting("counts", norm=None).fit_transform(counts) != counts).nnz == 0


@pytest.mark.parametrize("scheme", ["tfidf", "log", "bm25"])
def test_words_and_documents_without_counts_weigh_nothing(scheme):
    train = sparse.csr_matrix([[1, 0, 2], [0, 0, 1], [1, 0, 0], [0, 0, 0]])
    found = TermWeighting(scheme, smooth=True).fit(train).transform([[0, 5, 0], [0, 0, 0], [1, 1, 0]])
    assert_allclose(found.toarray(), [[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    assert found.nnz == 1


def test_the_matrix_of_the_caller_is_not_changed():
    counts = sparse.csr_matrix([[1, 2, 0], [1, 0, 3]])  # the word in all documents weighs nothing
    before = counts.copy()
    assert TermWeighting().fit_transform(counts).nnz == 2
    assert_allclose(counts.toarray(), before.toarray())


def test_frequencies_counted_elsewhere_give_the_same_weights(counts):
    df = (counts.toarray() > 0).sum(axis=0)
    for scheme in ("tfidf", "bm25"):
        own = TermWeighting(scheme).fit(counts)
        other = clone(own).fit_frequencies(df, 40, counts.sum())
        assert_allclose(other.idf_, own.idf_)
        assert other.mean_length_ == own.mean_length_


def test_bad_input_is_refused(counts):
    with pytest.raises(NotFittedError):
        TermWeighting().transform(counts)
    with pytest.raises(ValueError, match="got counts of 24 words; the weights were learned for 25"):
        TermWeighting().fit(counts).transform(counts[:, :24])
    with pytest.raises(ValueError, match="negative or not finite"):
        TermWeighting().fit([[1.0, np.nan]])
    with pytest.raises(ValueError, match="negative or not finite"):
        TermWeighting().fit([[1, -1]])
    with pytest.raises(TypeError, match="expected counts of words"):
        TermWeighting().fit(["a text"])
    for wrong in ({"scheme": "tf"}, {"norm": "l1"}, {"b": 2}, {"k1": -1}):
        with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of TermWeighting must be"):
            TermWeighting(**wrong).fit(counts)


def test_no_documents_are_no_accident():
    weighting = TermWeighting("bm25").fit(sparse.csr_matrix((0, 3)))
    assert weighting.transform([[1, 0, 2]]).nnz == 0
