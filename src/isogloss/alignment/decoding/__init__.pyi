from ._decode import Reader as Reader
from ._links import Links as Links
from ._links import link_keys as link_keys
from ._links import widths as widths
from ._symmetrisation import Heuristic as Heuristic
from ._symmetrisation import symmetrise as symmetrise
