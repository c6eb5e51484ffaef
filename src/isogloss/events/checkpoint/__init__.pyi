from ._cluster_state import from_state as from_state
from ._cluster_state import state_dict as state_dict
from ._stream_state import restore_stream as restore_stream
from ._stream_state import save_stream as save_stream
