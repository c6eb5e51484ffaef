"""Alerts: changes of events and saved searches, sent by webhook and e-mail.

``_messages`` builds what is sent, ``_channels`` sends it, ``_sender`` is the thread that empties the outbox.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
