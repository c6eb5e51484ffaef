"""What an analyst asks about an event: chapters, related events, quantities that differ, who reported it.

Everything here is computed from articles and events when it is asked for; nothing is part of the stream.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
