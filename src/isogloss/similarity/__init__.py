"""Documents of many languages in one space.

================  ========================================================================
``base``          what all models share: text in, vectors of one common space out
``hub``           hub CCA, for many languages with documents missing
``cca``           CCA of two languages
``lsi``           cross-lingual LSI, plain and with pseudo-inverses
``kmeans``        coordinates in centroids of clusters
``star``          hub CCA one language at a time
``spokes``        its step 1, over blocks of rows
``consensus``     agreement of all languages in the place of the hub
``plan``          memory and time of a fit, before it starts
``speeds``        what this machine does in a second, in trials of the shape of a fit
``spaces``        words and weights of one language
``shards``        weighted documents by blocks of rows, in memory, on disk or on a cluster
``scarce``        languages with few documents
``proxy``         the similarity of two languages as a bilinear form
``encoder``       sentence encoders as a model and to rank again
``encoder_view``  an encoder as one more view of hub CCA
``extra_views``   vectors beside words as views of hub CCA
``collection``    what all indexes share
``index_graph``   approximate search in large collections
``graph_links``   the graph of such an index as plain arrays
``index``         exact nearest documents in a collection that changes
``together``      one question to several indexes at once
``search``        the nearest documents to a text in every language, and why
``topics``        the strongest words of components, in every language
``names``         names, numbers and dates: what needs no learning
``combined``      a latent model and names together, with learned weights
``retrieval``     mate retrieval: how far up documents find their other versions
``drift``         whether the two sides of a pair of languages tell as much
================  ========================================================================
"""

from isogloss.similarity.base import DocumentModel
from isogloss.similarity.cca import CCASimilarity
from isogloss.similarity.combined import ChannelScores, CombinedSimilarity, Nearest
from isogloss.similarity.drift import Drift, find_drift
from isogloss.similarity.encoder import Encoder, EncoderSimilarity, Reranked, UniversalEncoder, rerank
from isogloss.similarity.encoder_view import EncodedHub
from isogloss.similarity.extra_views import ExtraView, ViewProjection
from isogloss.similarity.hub import HubSimilarity
from isogloss.similarity.index import Index
from isogloss.similarity.index_graph import GraphIndex
from isogloss.similarity.kmeans import KMeansSimilarity
from isogloss.similarity.lsi import LSISimilarity
from isogloss.similarity.names import NameChannel, Shared
from isogloss.similarity.proxy import ProxyMatrix
from isogloss.similarity.retrieval import PairScores, RetrievalReport, compare, evaluate, mate_ranks
from isogloss.similarity.search import Found, find_similar, index_corpus, rerank_found
from isogloss.similarity.spaces import LanguageSpace
from isogloss.similarity.together import NearRows, search_each
from isogloss.similarity.topics import (
    Topic,
    find_topics,
    shared_topics,
    topics_html,
    topics_json,
    topics_table,
)

__all__ = [
    "CCASimilarity",
    "ChannelScores",
    "CombinedSimilarity",
    "DocumentModel",
    "Drift",
    "EncodedHub",
    "Encoder",
    "EncoderSimilarity",
    "ExtraView",
    "Found",
    "GraphIndex",
    "HubSimilarity",
    "Index",
    "KMeansSimilarity",
    "LSISimilarity",
    "LanguageSpace",
    "NameChannel",
    "NearRows",
    "Nearest",
    "PairScores",
    "ProxyMatrix",
    "Reranked",
    "RetrievalReport",
    "Shared",
    "Topic",
    "UniversalEncoder",
    "ViewProjection",
    "compare",
    "evaluate",
    "find_drift",
    "find_similar",
    "find_topics",
    "index_corpus",
    "mate_ranks",
    "rerank",
    "rerank_found",
    "search_each",
    "shared_topics",
    "topics_html",
    "topics_json",
    "topics_table",
]
