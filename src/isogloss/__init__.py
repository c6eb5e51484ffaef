"""isogloss: one meaning space from many views, and the same story in every language."""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # takes as long as the rest of the package

    return version("isogloss")
