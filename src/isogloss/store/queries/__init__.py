"""The SQL of the store, by subject; every function takes a :class:`~isogloss.store.Session`.

``_articles`` holds articles, revisions and the journal; ``_events`` searches events and looks up clusters,
links and verdicts, ``_story`` compares an event with others, and ``_export`` walks through events and their
articles; ``_read_model`` writes clusters, links, events and checkpoints, and ``_rebuild`` replaces them;
``_attempts`` holds failed attempts and the quarantine; ``_points`` is the vector table; ``_texts`` finds
articles by words; ``_saved_searches`` holds searches that users saved, ``_alerts`` alerts and their outbox,
``_feeds`` feeds and the number of articles of each source.

Statements use the SQL that SQLite and PostgreSQL share (``_points`` needs pgvector). Times are microseconds
since 1970; ``progress`` holds named numbers, such as the journal line that the read model stands at.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
