"""The routes of the API, by what they are about."""

__all__ = ["PREFIX"]

PREFIX = "/api/v1"
"""Where all of them begin."""
