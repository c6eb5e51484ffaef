"""Documents of many languages in one space.

=============  =====================================================================
``base``       what all models share: text in, vectors of one common space out
``hub``        hub CCA, for many languages with documents missing
``cca``        CCA of two languages
``lsi``        cross-lingual LSI, plain and with pseudo-inverses
``kmeans``     coordinates in centroids of clusters
``star``       hub CCA one language at a time
``consensus``  agreement of all languages in the place of the hub
``plan``       memory and time of a fit, before it starts
``spaces``     words and weights of one language
``scarce``     languages with few documents
``proxy``      the similarity of two languages as a bilinear form
``index``      exact nearest documents in a collection that changes
``search``     the nearest documents to a text in every language, and why
``topics``     the strongest words of components, in every language
``names``      names, numbers and dates: what needs no learning
``combined``   a latent model and names together, with learned weights
``retrieval``  mate retrieval: how far up documents find their other versions
=============  =====================================================================
"""

from isogloss.similarity.base import DocumentModel
from isogloss.similarity.cca import CCASimilarity
from isogloss.similarity.combined import ChannelScores, CombinedSimilarity
from isogloss.similarity.hub import HubSimilarity
from isogloss.similarity.index import Index
from isogloss.similarity.kmeans import KMeansSimilarity
from isogloss.similarity.lsi import LSISimilarity
from isogloss.similarity.names import NameChannel
from isogloss.similarity.proxy import ProxyMatrix
from isogloss.similarity.retrieval import PairScores, RetrievalReport, compare, evaluate, mate_ranks
from isogloss.similarity.search import Found, find_similar
from isogloss.similarity.spaces import LanguageSpace
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
    "Found",
    "HubSimilarity",
    "Index",
    "KMeansSimilarity",
    "LSISimilarity",
    "LanguageSpace",
    "NameChannel",
    "PairScores",
    "ProxyMatrix",
    "RetrievalReport",
    "Topic",
    "compare",
    "evaluate",
    "find_similar",
    "find_topics",
    "mate_ranks",
    "shared_topics",
    "topics_html",
    "topics_json",
    "topics_table",
]
