"""The store: articles, their journal and the events made from them, in SQLite or PostgreSQL.

:class:`Store` is what the service, the worker and the command line use; its methods run the queries of
the ``queries`` sub-package, each in its own transaction. Articles are appended to a journal and never lost;
the worker turns the journal into the read model, the tables of clusters, links and events. There are also
:func:`delete_articles` (on request), :func:`prune_before` (retention), :func:`back_up`, :func:`restore` and
:func:`check_store`.

Layers, top down: ``_backup``, ``_deletion`` and ``_pruning``; ``_store``; ``schema`` (migrations);
``queries``; ``sqlite`` and ``postgres``; ``interface``. Errors are :class:`~isogloss.exceptions.StoreError`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
