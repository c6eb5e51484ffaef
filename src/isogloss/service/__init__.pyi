from ._background import SIGNALS as SIGNALS
from ._logs import Logged as Logged
from ._logs import log_to_stderr as log_to_stderr
from ._logs import logs_json as logs_json
