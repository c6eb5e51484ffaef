from .base import DocumentModel as DocumentModel
from .cca import CCASimilarity as CCASimilarity
from .combined import (
    ChannelScores as ChannelScores,
)
from .combined import (
    CombinedSimilarity as CombinedSimilarity,
)
from .combined import (
    Nearest as Nearest,
)
from .drift import Drift as Drift
from .drift import find_drift as find_drift
from .encoder import (
    Encoder as Encoder,
)
from .encoder import (
    EncoderSimilarity as EncoderSimilarity,
)
from .encoder import (
    Reranked as Reranked,
)
from .encoder import (
    UniversalEncoder as UniversalEncoder,
)
from .encoder import (
    rerank as rerank,
)
from .encoder_view import EncodedHub as EncodedHub
from .extra_views import ExtraView as ExtraView
from .extra_views import ViewProjection as ViewProjection
from .hub import HubSimilarity as HubSimilarity
from .index import Index as Index
from .index_graph import GraphIndex as GraphIndex
from .kmeans import KMeansSimilarity as KMeansSimilarity
from .lsi import LSISimilarity as LSISimilarity
from .names import NameChannel as NameChannel
from .names import Shared as Shared
from .proxy import ProxyMatrix as ProxyMatrix
from .retrieval import (
    PairScores as PairScores,
)
from .retrieval import (
    RetrievalReport as RetrievalReport,
)
from .retrieval import (
    compare as compare,
)
from .retrieval import (
    evaluate as evaluate,
)
from .retrieval import (
    mate_ranks as mate_ranks,
)
from .search import (
    Found as Found,
)
from .search import (
    find_similar as find_similar,
)
from .search import (
    index_corpus as index_corpus,
)
from .search import (
    rerank_found as rerank_found,
)
from .spaces import LanguageSpace as LanguageSpace
from .together import NearRows as NearRows
from .together import search_each as search_each
from .topics import (
    Topic as Topic,
)
from .topics import (
    find_topics as find_topics,
)
from .topics import (
    shared_topics as shared_topics,
)
from .topics import (
    topics_html as topics_html,
)
from .topics import (
    topics_json as topics_json,
)
from .topics import (
    topics_table as topics_table,
)
