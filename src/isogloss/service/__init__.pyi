from ._background import SIGNALS as SIGNALS
from ._logs import AccessLogMiddleware as AccessLogMiddleware
from ._logs import log_to_stderr as log_to_stderr
from ._logs import logs_json as logs_json
