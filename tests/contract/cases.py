"""One small case of every estimator: how it is made, what it is fitted on, and what it then says."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

import isogloss
from isogloss._estimator import Estimator
from isogloss.alignment import Aligner
from isogloss.corpora import InMemoryCorpus
from isogloss.events.link import Linker
from isogloss.extras import has_module
from isogloss.factor import InterBatteryFA, MultiBatteryFA, MultiViewVAE
from isogloss.graphical import BernoulliMixture, NaiveBayes, NetworkLearner, Structure, Variable
from isogloss.lexicon import Procrustes
from isogloss.mixture import GaussianMixture, KernelKMeans
from isogloss.multiview import (
    CCA,
    ColumnViews,
    GenVar,
    HubCCA,
    JoinViews,
    KernelCCA,
    KernelSumCor,
    MaxVar,
    MinVar,
    OptimalWeighting,
    RandomProjection,
    ScaleViews,
    SparseCCA,
    SSCor,
    SumCor,
)
from isogloss.sequences import DiscreteHMM, NgramModel, SpectralHMM
from isogloss.similarity import (
    CCASimilarity,
    CombinedSimilarity,
    EncodedHub,
    EncoderSimilarity,
    ESASimilarity,
    HubSimilarity,
    KMeansSimilarity,
    LinkedSimilarity,
    LocalEncoder,
    LSISimilarity,
    NameChannel,
    OPCASimilarity,
    TopicSimilarity,
    UniversalEncoder,
)
from isogloss.text import TermWeighting, TextVectoriser, Tokeniser
from isogloss.topics import LatentDirichletAllocation, PolylingualTopicModel
from isogloss.views import Views
from tests.similarity.toy_encoder import ToyEncoder


@dataclasses.dataclass(frozen=True)
class Case:
    """What the contract needs to know of an estimator; a waiver is the reason for it.

    ``data`` gives the arguments of ``fit``, ``output`` an array that depends on what was learned, and
    ``refused`` arguments of ``fit`` with the sentence that refuses them.
    """

    estimator: Any
    data: Callable[[], tuple[Any, ...]]
    output: Callable[[Any, tuple[Any, ...]], Any]
    refused: tuple[tuple[tuple[Any, ...], str], ...]
    keywords: dict[str, Any] = dataclasses.field(default_factory=dict)
    works_unfitted: str = ""
    not_saved: str = ""

    def fitted(self) -> Any:
        return clone(self.estimator).fit(*self.data(), **self.keywords)


def every_estimator() -> set[type]:
    """The classes of isogloss that are estimators and are not abstract."""
    found = set()
    for module in pkgutil.walk_packages(isogloss.__path__, "isogloss."):
        if not module.name.endswith("__main__"):
            for thing in vars(importlib.import_module(module.name)).values():
                ours = inspect.isclass(thing) and thing.__module__.startswith("isogloss.")
                if ours and issubclass(thing, BaseEstimator) and not inspect.isabstract(thing):
                    found.add(thing)
    return found - {Estimator}


# Rows: one array


def rows_data():
    rng = np.random.default_rng(7)
    return np.concatenate([rng.normal(-3, 1, (40, 3)), rng.normal(3, 1, (50, 3))])


def coins():
    return np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, np.nan, 0.0]] * 3)


def with_value(rows, value):
    rows = rows.copy()
    rows[3, 1] = value
    return rows


def rows_case(estimator, output, data=rows_data):
    empty = ((data()[:0],), "0 sample")
    infinite = ((with_value(data(), np.inf),), "infinity")
    return Case(estimator, lambda: (data(),), lambda fitted, given: output(fitted, *given), (empty, infinite))


def word_counts():
    return np.random.default_rng(7).poisson(1.0, size=(60, 8)).astype(float)


ROWS_CASES = {
    GaussianMixture: rows_case(
        GaussianMixture(2, random_state=0, tol=1e-6), lambda m, X: np.append(m.score_samples(X), m.means_)
    ),
    KernelKMeans: rows_case(KernelKMeans(3, kernel="rbf", random_state=0), lambda m, X: m.transform(X)),
    BernoulliMixture: rows_case(
        BernoulliMixture(2, smoothing=0.1, random_state=0), lambda m, X: m.predict_proba(X), coins
    ),
    LatentDirichletAllocation: rows_case(
        LatentDirichletAllocation(2, random_state=0, tol=0.1), lambda m, X: m.transform(X), word_counts
    ),
    ColumnViews: rows_case(
        ColumnViews({"left": [0, 1], "right": slice(1, None)}), lambda m, X: np.asarray(m.transform(X))
    ),
}

# Views: several aligned arrays


def views_data(n_views=3):
    rng = np.random.default_rng(7)
    latent = rng.normal(size=(120, 3))
    data = [latent @ rng.normal(size=(3, p)) + 0.5 * rng.normal(size=(120, p)) for p in (5, 4, 6)[:n_views]]
    return Views(dict(zip(("en", "de", "sl"), data, strict=False)))


def projected(fitted, data):
    given = fitted.transform(*data)
    return np.hstack(list(given)) if isinstance(given, Views) else given


def views_case(estimator, n_views=3, wrong_number="at least 2|nothing to share"):
    whole = views_data(n_views)
    arrays = list(whole)
    refused = [
        (([with_value(arrays[0], np.nan), *arrays[1:]],), "NaN"),
        (([with_value(arrays[0], np.inf), *arrays[1:]],), "inf"),
        (([x[:0] for x in arrays],), "0 (sample|row)|row"),
        (([arrays[0][:-1], *arrays[1:]],), "unequal numbers of rows"),
        ((arrays[0],), "Views|view"),
        (([arrays[0]],), wrong_number),
    ]
    if n_views == 2:
        refused.append(((views_data(3),), "two"))
    return Case(estimator, lambda: (views_data(n_views),), projected, tuple(refused))


def counts_data():
    rng = np.random.default_rng(7)
    about = rng.dirichlet([0.5, 0.5], 60)
    data = [rng.poisson(9 * about @ rng.dirichlet(np.ones(p), 2)).astype(float) for p in (5, 4, 6)]
    return Views(dict(zip(("en", "de", "sl"), data, strict=True)))


def counts_case(estimator):
    arrays = list(counts_data())
    refused = (
        (([with_value(arrays[0], np.nan), *arrays[1:]],), "NaN"),
        (([with_value(arrays[0], np.inf), *arrays[1:]],), "inf"),
        (([with_value(arrays[0], -1.0), *arrays[1:]],), "Negative values"),
        (([0 * x for x in arrays],), "all documents are empty"),
        (([x[:0] for x in arrays],), "0 (sample|row)|row"),
        (([arrays[0][:-1], *arrays[1:]],), "unequal numbers of rows"),
        ((arrays[0],), "Views|view"),
    )
    return Case(estimator, lambda: (counts_data(),), projected, refused)


VIEWS_CASES = {
    PolylingualTopicModel: counts_case(PolylingualTopicModel(2, random_state=0, tol=0.1)),
    CCA: views_case(CCA(2), 2),
    SumCor: views_case(SumCor(2, random_state=0)),
    SSCor: views_case(SSCor(2, random_state=0)),
    MaxVar: views_case(MaxVar(2)),
    GenVar: views_case(GenVar(2, random_state=0)),
    MinVar: views_case(MinVar(2)),
    SparseCCA: views_case(SparseCCA(2, l1=0.1)),
    HubCCA: views_case(HubCCA(2, random_state=0)),
    OptimalWeighting: views_case(OptimalWeighting(2)),
    KernelCCA: views_case(KernelCCA(2), 2),
    KernelSumCor: views_case(KernelSumCor(2, random_state=0)),
    RandomProjection: views_case(RandomProjection(1, random_state=0)),
    Procrustes: views_case(Procrustes()),
    InterBatteryFA: views_case(InterBatteryFA(2), 2, wrong_number="is for two"),
    MultiBatteryFA: views_case(MultiBatteryFA(2, max_iter=2000)),
}

# Words: texts, sequences, tables, corpora

PAIRS = [("the house", "la maison"), ("the flower", "la fleur"), ("blue flower", "fleur bleue")]
TEXTS = {
    "en": ["sun and sea", "sea and ship", "snow and sun", "ship and port", "snow and ice", "port and sea"],
    "de": ["sonne und meer", "meer und schiff", "schnee und sonne", "schiff und hafen"]
    + ["schnee und eis"] * 2,
}
TOPICS = {lang: [f"{lang}{row}w0" for row in range(6)] for lang in TEXTS}
CELLS = {"rain": ["no", "no", "yes", "yes", None], "wet": ["no", "no", "yes", "no", "yes"]}
LINKS = [(a, "en", b, "de") for a in TOPICS["en"] for b in TOPICS["de"]]
LINKED = [int(row % 7 == 0) for row in range(36)]
COUNTS = np.array([[2, 1, 0], [0, 1, 1]])
LIKENESS = [[0.1 * i, 10.0 * (9 - i)] for i in range(10)]


def corpus(*languages):
    texts = {code: TEXTS[code] for code in languages or TEXTS}
    return InMemoryCorpus(texts, {code: Tokeniser(code) for code in texts})


def rain_and_wet():
    rain, wet = (Variable(name, ["no", "yes"]) for name in ("rain", "wet"))
    return Structure([rain, wet], {"wet": ["rain"]})


class PrintableEncoder(ToyEncoder):
    def __repr__(self):
        return "PrintableEncoder()"


def documents_case(kind):
    return Case(
        kind(2, min_df=1, random_state=0),
        lambda: (corpus(),),
        lambda fitted, _: fitted.project(TEXTS["en"], "en"),
        (((corpus("en"),), "expected two or more"),),
    )


WORDS_CASES = {
    JoinViews: Case(
        JoinViews(),
        lambda: (views_data(),),
        lambda fitted, data: fitted.transform(*data),
        (((np.ones((3, 2)),), "expected Views"),),
    ),
    ScaleViews: Case(
        ScaleViews(),
        lambda: (views_data(),),
        projected,
        (
            ((np.ones((3, 2)),), "expected Views"),
            (([with_value(np.asarray(views_data()["en"]), np.inf)],), "inf"),
        ),
    ),
    Aligner: Case(
        Aligner(),
        lambda: (PAIRS,),
        lambda fitted, _: fitted.posterior("the house", "la maison").agreed,
        ((([],), "nothing to learn"),),
    ),
    DiscreteHMM: Case(
        DiscreteHMM(2, symbols=["H", "T"], random_state=0, max_iter=50, tol=0.1),
        lambda: ([list("HTHHT")] * 3,),
        lambda fitted, data: fitted.score_samples(*data),
        ((([],), "no sequences|not one symbol"), (([["X"]],), "'X'")),
    ),
    SpectralHMM: Case(
        SpectralHMM(2, symbols=["H", "T"], random_state=0),
        lambda: ([list("HHHHHHTTTTTTTHHHHHHTTTTT")] * 20,),
        lambda fitted, data: fitted.score_samples(*data),
        ((([],), "no sequences|not one symbol"), (([["X"]],), "'X'")),
    ),
    NaiveBayes: Case(
        NaiveBayes(smoothing=1.0),
        lambda: ([["rain"], ["rain"], ["sun"]], ["in", "in", "out"]),
        lambda fitted, data: fitted.predict_proba(data[0]),
        ((([], []), "no rows"), (([["rain"]], ["in", "out"]), "2 classes")),
    ),
    NetworkLearner: Case(
        NetworkLearner(rain_and_wet(), random_state=0),
        lambda: (CELLS,),
        lambda fitted, data: fitted.score(*data),
        ((({"rain": [], "wet": []},), "no rows"),),
    ),
    NgramModel: Case(
        NgramModel(2),
        lambda: (TEXTS["en"],),
        lambda fitted, data: fitted.score_samples(*data),
        ((([],), "no sentences"), (("a text",), "list of sentences")),
    ),
    TermWeighting: Case(
        TermWeighting(),
        lambda: (COUNTS,),
        lambda fitted, data: fitted.transform(*data).toarray(),
        ((([[1, np.nan]],), "not finite"), (([[1, -1]],), "negative"), ((["a text"],), "counts of words")),
    ),
    TextVectoriser: Case(
        TextVectoriser("en"),
        lambda: (TEXTS["en"],),
        lambda fitted, data: fitted.transform(*data).toarray(),
        ((("a text",), "expected several"),),
    ),
    HubSimilarity: documents_case(HubSimilarity),
    CCASimilarity: documents_case(CCASimilarity),
    LSISimilarity: documents_case(LSISimilarity),
    KMeansSimilarity: documents_case(KMeansSimilarity),
    OPCASimilarity: documents_case(OPCASimilarity),
    ESASimilarity: documents_case(ESASimilarity),
    TopicSimilarity: documents_case(TopicSimilarity),
    CombinedSimilarity: Case(
        CombinedSimilarity(EncoderSimilarity(PrintableEncoder())),
        lambda: (TOPICS,),
        lambda fitted, data: fitted.scores(data[0]["en"], "en", data[0]["de"], "de").combined,
        ((({"en": ["one"]},), "no two languages"),),
        not_saved="the encoder is a class of these tests",
    ),
    NameChannel: Case(
        NameChannel(),
        lambda: (TEXTS["en"],),
        lambda fitted, data: fitted.transform(*data).toarray(),
        ((([3],), "expected str"),),
        works_unfitted="without fit all letters count alike",
    ),
    LinkedSimilarity: Case(
        LinkedSimilarity(EncoderSimilarity(PrintableEncoder()), rank=1, random_state=0),
        lambda: (LINKS, LINKED),
        lambda fitted, data: fitted.predict_proba(data[0]),
        (((LINKS, [1] * len(LINKS)), "both 0 and 1"), ((LINKS[:2], [1, 0]), "too few")),
        not_saved="the encoder is a class of these tests",
    ),
    EncodedHub: Case(
        EncodedHub(HubSimilarity(2, min_df=1, random_state=0), PrintableEncoder()),
        lambda: (corpus(),),
        lambda fitted, _: fitted.project(TOPICS["en"], "en"),
        (((corpus("en"),), "texts in|expected"),),
        keywords={"texts": TOPICS},
        not_saved="the encoder is a class of these tests",
    ),
    EncoderSimilarity: Case(
        EncoderSimilarity(PrintableEncoder()),
        lambda: (),
        lambda fitted, _: fitted.project(TOPICS["en"], "en"),
        (),  # fit looks at nothing
        works_unfitted="nothing is learned",
        not_saved="the encoder is a class of these tests",
    ),
    Linker: Case(
        Linker(features=("likeness", "hours"), log_features=("hours",), given=(), C=1.0),
        lambda: (LIKENESS, [0] * 5 + [1] * 5),
        lambda fitted, data: fitted.predict_proba(data[0]),
        (((LIKENESS, [1] * 10), "expected labels 0 and 1"), (([[np.inf, 1.0]] * 10, [0, 1] * 5), "infinite")),
    ),
}

WITHOUT_FIT = {UniversalEncoder: UniversalEncoder(), LocalEncoder: LocalEncoder("e5")}
"""Encoders, whose weights are read from files, and what needs a package that is not installed."""
if has_module("torch"):
    VIEWS_CASES[MultiViewVAE] = views_case(MultiViewVAE(2, max_iter=3, validation_fraction=0, random_state=0))
else:
    WITHOUT_FIT[MultiViewVAE] = MultiViewVAE()

CASES = ROWS_CASES | VIEWS_CASES | WORDS_CASES
