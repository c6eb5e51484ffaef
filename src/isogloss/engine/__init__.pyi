from ._base import Engine as Engine
from ._base import Source as Source
from ._base import tree_reduce as tree_reduce
from ._local import LocalEngine as LocalEngine
from ._sources import Batches as Batches
from ._sources import Files as Files
from ._sources import Rows as Rows
