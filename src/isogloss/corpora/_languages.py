"""Codes of languages, compared as people write them."""

from __future__ import annotations


def same_language(one: str, other: str) -> bool:
    """Return whether two codes mean one language, or one of them a variety of the other.

    Examples
    --------
    >>> same_language("en", "en-GB"), same_language("PT_br", "pt-BR"), same_language("pt-PT", "pt-BR")
    (True, True, False)
    """
    left, right = (code.lower().replace("_", "-").split("-") for code in (one, other))
    return all(a == b for a, b in zip(left, right, strict=False))
