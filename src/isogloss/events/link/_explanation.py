"""Why two clusters were linked, or were not."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any, NamedTuple

from isogloss.events.link._linker import Linker
from isogloss.events.link._links import Link
from isogloss.events.link._signature import Signature

__all__ = ["Explanation", "Reason", "explain_link"]


class Reason(NamedTuple):
    """A feature and what it adds to the log odds.

    Attributes
    ----------
    feature : str
        Its name; ``(constant)`` for what is there without any.
    value : float or None
        Its value; None when it cannot be said.
    contribution : float
        What it adds to the log odds; positive speaks for one story.
    """

    feature: str
    value: float | None
    contribution: float


class Explanation(NamedTuple):
    """Why two clusters were linked, or were not.

    Attributes
    ----------
    a, b : int
        The clusters.
    probability : float
        That they tell one story.
    reasons : tuple of Reason
        All features, those that decide first; the contributions add up to the log odds.
    pairs : tuple of (str, str, float)
        Titles of the most similar articles of both, with their similarity.
    """

    a: int
    b: int
    probability: float
    reasons: tuple[Reason, ...]
    pairs: tuple[tuple[str, str, float], ...]

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        return {
            "a": self.a,
            "b": self.b,
            "probability": self.probability,
            "reasons": [reason._asdict() for reason in self.reasons],
            "pairs": [{"a": a, "b": b, "similarity": similarity} for a, b, similarity in self.pairs],
        }

    def __str__(self) -> str:
        lines = [f"clusters {self.a} and {self.b}: one story with probability {self.probability:.2f}", ""]
        lines.append(f"{'feature':<20}{'value':>8}{'log odds':>10}")
        for name, value, contribution in self.reasons:
            shown = "-" if value is None else f"{value:.2f}"
            lines.append(f"{name:<20}{shown:>8}{contribution:>+10.2f}")
        lines += ["", *(f"{similarity:.2f}  {a}  =  {b}" for a, b, similarity in self.pairs)]
        return "\n".join(lines)


def explain_link(link: Link, linker: Linker, signatures: Mapping[str, Signature]) -> Explanation:
    """Why a link has its probability.

    Parameters
    ----------
    link : Link
        The link, see :meth:`LinkState.link() <isogloss.events.link._links.LinkState.link>`.
    linker : Linker
        What gave its probability.
    signatures : mapping of str to Signature
        The articles by id.
    """
    reasons = [
        Reason(name, _known(link.features.get(name)), contribution)
        for name, contribution in linker.contributions(link.features).items()
    ]
    pairs = tuple((signatures[a].title, signatures[b].title, similarity) for a, b, similarity in link.pairs)
    decisive = sorted(reasons, key=lambda reason: (-abs(reason.contribution), reason.feature))
    return Explanation(link.a, link.b, link.probability, tuple(decisive), pairs)


def _known(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value
