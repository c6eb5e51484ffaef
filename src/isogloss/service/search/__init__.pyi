from ._facets import language_codes as language_codes
from ._facets import named_terms as named_terms
from ._facets import sound as sound
from ._neighbours import Neighbours as Neighbours
from ._search import Search as Search
from ._stored_neighbours import neighbours_of as neighbours_of
from ._titles import Titles as Titles
