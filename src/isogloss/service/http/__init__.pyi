from ._connections import ACCEPT_BACKLOG as ACCEPT_BACKLOG
from ._connections import ConnectionLimiter as ConnectionLimiter
from ._connections import LimitedHttpProtocol as LimitedHttpProtocol
from ._connections import connection_limit as connection_limit
from ._connections import raise_descriptor_limit as raise_descriptor_limit
from ._middleware import SECURITY_HEADERS as SECURITY_HEADERS
from ._middleware import HeadMiddleware as HeadMiddleware
from ._middleware import RequestLimitsMiddleware as RequestLimitsMiddleware
