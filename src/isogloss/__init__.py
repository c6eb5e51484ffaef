"""isogloss: one meaning space from many views, and the same story in every language."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("isogloss")
