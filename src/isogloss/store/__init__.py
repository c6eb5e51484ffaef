"""The store: articles, journal and events in SQLite or PostgreSQL, behind one small interface.

===============  ====================================================================
``database``     what is asked of a database: transactions and statements
``sqlite``       one file, one writer
``postgres``     a server
``arrays``       one statement for many rows, for the server
``schema``       the tables, and the steps from one version to the next
``attempts``     failed attempts at journal lines, and the quarantine for lines that keep failing
``articles``     what came, once and in order, with earlier texts
``projection``   clusters, links and events, up to a line of the journal
``points``       where articles are in a common space, with pgvector
``queries``      questions about events, page by page
``store``        all of it
``pruning``      delete old stories
``rebuilding``   make clusters and events anew, with the ids they had
``deletion``     delete articles on request, with their traces
``upkeep``       backups, restoring them, consistency checks
===============  ====================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
