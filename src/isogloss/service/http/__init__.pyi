from ._connections import BACKLOG as BACKLOG
from ._connections import Connections as Connections
from ._connections import HttpConnection as HttpConnection
from ._connections import connection_limit as connection_limit
from ._connections import raise_descriptor_limit as raise_descriptor_limit
