"""Topics of a model's components: the strongest words of every language side by side."""

from __future__ import annotations

import html
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.linalg import check_count
from isogloss.similarity.models import DocumentModel
from isogloss.threads import thread_bound

Words = list[tuple[str, float]]


@dataclass(frozen=True)
class Topic:
    """One component, in all languages.

    Attributes
    ----------
    component : int
        Its column in projections.
    strength : float
        How much languages agree on it, see :class:`DocumentModel`.
    positive, negative : dict of str to list of (str, float)
        For each language the words that move a document most towards one end and the other, with the
        weights they do it with.
    """

    component: int
    strength: float
    positive: dict[str, Words]
    negative: dict[str, Words]


@thread_bound
def find_topics(model: DocumentModel, *, components: int | list[int] = 10, words: int = 10) -> list[Topic]:
    """The strongest words of components in every language.

    A word counts as much as a document that holds only this word would move: its weight in the projector
    times its weight in documents.

    Parameters
    ----------
    model : DocumentModel
        Fitted.
    components : int or list of int
        How many of the first components, or which ones.
    words : int
        Words for each end of a component.
    """
    width = next(iter(model.projectors_.values())).shape[1] if model.languages else 0
    chosen = list(range(min(components, width))) if isinstance(components, int) else components
    for component in chosen:
        check_count(component, "components", 0, width - 1, f"columns of projections, {width} of them")
    n = check_count(words, "words", 1, 10**6, "words for each end of a component")
    ends = {lang: model.strongest_words(lang, chosen, n) for lang in model.languages}
    strengths = model.strengths_[model.drop_first :]
    return [
        Topic(
            component,
            float(strengths[component]),
            *({lang: found[at][end] for lang, found in ends.items()} for end in (0, 1)),
        )
        for at, component in enumerate(chosen)
    ]


def shared_topics(
    model: DocumentModel, a: NDArray[Any], b: NDArray[Any], *, k: int = 3, words: int = 5
) -> list[tuple[Topic, float]]:
    """Why two projected documents are similar: the components that add most to their inner product.

    Parameters
    ----------
    model : DocumentModel
        What projected them.
    a, b : arrays (components,)
        The documents.
    k, words : int
        How many components, and words of each.

    Returns
    -------
    list of (Topic, float)
        Components with their part of the inner product; ``positive`` holds the words of the end that both
        documents are at.
    """
    parts = np.asarray(a, dtype=np.float64) * np.asarray(b, dtype=np.float64)
    best = [int(c) for c in np.argsort(-parts, kind="stable")[:k] if parts[c] > 0]
    found = find_topics(model, components=best, words=words)
    return [(_turned(topic, float(a[topic.component])), float(parts[topic.component])) for topic in found]


def topics_table(found: list[Topic]) -> list[list[str]]:
    """Rows of text: component, strength, then the words of each language; a line for each end."""
    languages = list(found[0].positive) if found else []
    rows = [["component", "strength", *languages]]
    for topic in found:
        for sign, side in _ends(topic):
            words_of = [", ".join(word for word, _ in side[lang]) for lang in languages]
            rows.append([f"{topic.component}{sign}", f"{topic.strength:.3f}", *words_of])
    return rows


def topics_html(found: list[Topic]) -> str:
    """A table in HTML that stands alone, words larger the more they weigh."""
    header, *rows = topics_table(found)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    sides = [side for topic in found for _, side in _ends(topic)]
    body = "".join(
        f"<tr><td>{row[0]}</td><td>{row[1]}</td>{''.join(map(_cell, side.values()))}</tr>"
        for row, side in zip(rows, sides, strict=True)
    )
    return f'<table class="topics"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _ends(topic: Topic) -> list[tuple[str, dict[str, Words]]]:
    """The ends of a component with their signs; those of a topic model have one end, without a sign."""
    if not any(topic.negative.values()):
        return [("", topic.positive)]
    return [("+", topic.positive), ("-", topic.negative)]


def topics_json(found: list[Topic]) -> str:
    """Everything as JSON text."""
    return json.dumps([asdict(topic) for topic in found], ensure_ascii=False)


def _turned(topic: Topic, sign: float) -> Topic:
    if sign >= 0:
        return topic
    return Topic(topic.component, topic.strength, topic.negative, topic.positive)


def _cell(words: Words) -> str:
    largest = max((weight for _, weight in words), default=1.0)
    spans = (
        f'<span style="font-size:{70 + round(60 * weight / largest)}%">{html.escape(word)}</span>'
        for word, weight in words
    )
    return f"<td>{' '.join(spans)}</td>"
