from ._event_search import EventSearch as EventSearch
from ._event_search import TitleIndex as TitleIndex
from ._neighbours import NeighbourIndex as NeighbourIndex
from ._neighbours import create_neighbour_index as create_neighbour_index
from ._query_terms import clean_query as clean_query
from ._query_terms import language_codes as language_codes
from ._query_terms import resolve_terms as resolve_terms
