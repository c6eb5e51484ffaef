"""Exports: tables of events and of their articles as CSV, JSON lines and Parquet.

``_tables`` has the columns and the rows, ``_formats`` the writers, which produce a file chunk by chunk.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
