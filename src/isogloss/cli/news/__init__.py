"""Commands about news without a store: ``events``, ``link``, ``concepts``, ``evaluate clusters``."""
