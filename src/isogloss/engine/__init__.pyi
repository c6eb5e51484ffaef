from .base import Engine as Engine
from .base import Source as Source
from .base import tree_reduce as tree_reduce
from .local import LocalEngine as LocalEngine
from .sources import Batches as Batches
from .sources import Files as Files
from .sources import Rows as Rows
