"""Commands about a store: ``init``, ``ingest``, ``prune``, ``delete``, ``backup``, ``doctor``."""
