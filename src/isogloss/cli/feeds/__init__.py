"""Commands about feeds: ``watch``, ``feeds`` and ``newsroom``."""
