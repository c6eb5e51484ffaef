"""Every estimator can be listed, printed, copied and pickled, as notebooks do all the time."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import isogloss.alignment.aligner
from isogloss.alignment import Aligner
from isogloss.corpora import InMemoryCorpus
from isogloss.graphical import BernoulliMixture, NaiveBayes, NetworkLearner, Structure, Variable
from isogloss.lexicon import Procrustes
from isogloss.multiview import SumCor
from isogloss.sequences import DiscreteHMM, NgramModel
from isogloss.similarity import (
    CCASimilarity,
    CombinedSimilarity,
    EncodedHub,
    EncoderSimilarity,
    HubSimilarity,
    KMeansSimilarity,
    LSISimilarity,
    NameChannel,
)
from isogloss.text import TermWeighting, TextVectoriser, Tokeniser
from tests.contract.test_estimators import CASES, OF_WORDS, data_for
from tests.similarity.toy_encoder import ToyEncoder

PAIRS = [("the house", "la maison"), ("the flower", "la fleur"), ("blue flower", "fleur bleue")]
TEXTS = {
    "en": ["sun and sea", "sea and ship", "snow and sun", "ship and port", "snow and ice", "port and sea"],
    "de": ["sonne und meer", "meer und schiff", "schnee und sonne", "schiff und hafen"]
    + ["schnee und eis"] * 2,
}


def corpus():
    return InMemoryCorpus(TEXTS, {code: Tokeniser(code) for code in TEXTS})


def procrustes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    return Procrustes().fit({"en": x, "de": x @ np.linalg.qr(rng.normal(size=(3, 3)))[0]})


def network_learner():
    rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    rows = {"rain": ["no", "no", "yes", "yes", None], "wet": ["no", "no", "yes", "no", "yes"]}
    return NetworkLearner(Structure([rain, wet], {"wet": ["rain"]})).fit(rows)


class PrintableEncoder(ToyEncoder):
    def __repr__(self):
        return "PrintableEncoder()"


def encoded_hub():
    texts = {lang: [f"{lang}{row}w0" for row in range(len(TEXTS[lang]))] for lang in TEXTS}
    hub = HubSimilarity(2, min_df=1, random_state=0)
    return EncodedHub(hub, PrintableEncoder()).fit(corpus(), texts=texts)


def document_model(kind):
    return kind(2, min_df=1, random_state=0).fit(corpus())


FITTED_ON_WORDS = {
    "Aligner": lambda: Aligner().fit(PAIRS),
    "BernoulliMixture": lambda: BernoulliMixture(2, smoothing=0.1, random_state=0).fit(
        [[1, 1, 0], [0, 0, 1]] * 3
    ),
    "CCASimilarity": lambda: document_model(CCASimilarity),
    "CombinedSimilarity": lambda: CombinedSimilarity(document_model(HubSimilarity)).fit(TEXTS),
    "DiscreteHMM": lambda: DiscreteHMM(2, symbols=["H", "T"], random_state=0, max_iter=50, tol=0.1).fit(
        [list("HTHHT")] * 3
    ),
    "DocumentModel": lambda: document_model(HubSimilarity),  # abstract; one of its subclasses
    "EncodedHub": lambda: encoded_hub(),
    "EncoderSimilarity": lambda: EncoderSimilarity().fit(),
    "HubSimilarity": lambda: document_model(HubSimilarity),
    "KMeansSimilarity": lambda: document_model(KMeansSimilarity),
    "LSISimilarity": lambda: document_model(LSISimilarity),
    "NaiveBayes": lambda: NaiveBayes(smoothing=1).fit([["rain"], ["rain"], ["sun"]], ["in", "in", "out"]),
    "NameChannel": lambda: NameChannel().fit(TEXTS["en"]),
    "NetworkLearner": network_learner,
    "NgramModel": lambda: NgramModel(2).fit(TEXTS["en"]),
    "Procrustes": procrustes,
    "TermWeighting": lambda: TermWeighting().fit(sparse.csr_matrix([[2, 1, 0], [0, 1, 1]])),
    "TextVectoriser": lambda: TextVectoriser("en").fit(TEXTS["en"]),
}
FITTED = {
    kind.__name__: lambda kind=kind: clone(CASES[kind]).fit(data_for(kind)) for kind in CASES
} | FITTED_ON_WORDS


@pytest.fixture(scope="module", params=FITTED)
def fitted(request):
    return FITTED[request.param]()


def test_every_estimator_is_here():
    assert set(FITTED_ON_WORDS) == OF_WORDS


def test_every_name_can_be_asked_for(fitted):
    for one in (fitted, clone(fitted)):
        for name in {*dir(one), *dir(type(one))}:
            hasattr(one, name)  # raises if the attribute fails with anything but AttributeError


def test_it_can_be_printed(fitted):
    assert type(fitted).__name__ in repr(fitted)
    assert type(fitted).__name__ in fitted._repr_html_()


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_has_what_was_learned(fitted, copied):
    again = copied(fitted)
    assert repr(again) == repr(fitted)
    learned = {name for name in vars(fitted) if name.endswith("_")}
    assert learned <= set(vars(again))


def test_listing_the_names_computes_nothing(monkeypatch):
    """scikit-learn's own ``__dir__`` reads every property, and some of ours take minutes on large data."""

    def fail(*_):
        raise AssertionError("dir() has computed a property")

    aligner, sumcor = FITTED["Aligner"](), FITTED["SumCor"]()
    monkeypatch.setattr(isogloss.alignment.aligner, "lexicon_rows", fail)
    monkeypatch.setattr(SumCor, "_judge_fit", fail)
    assert "translation_table_" in dir(aligner)
    assert "certificate_" in dir(sumcor)
