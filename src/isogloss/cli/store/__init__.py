"""Commands about a store: ``init``, ``ingest``, ``watch``, ``prune``, ``delete``, ``backup``, ``doctor``."""
