from ._graph_index import GraphIndex as GraphIndex
from ._index import Index as Index
