"""Links with the words that they join and where these stand in the text: a JSON object per sentence pair."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from isogloss.alignment.decoding import Links
from isogloss.corpora import PairWords
from isogloss.io import PathLike, atomic_write


def pair_details(pair: PairWords, number: int, links: Links, row: int) -> dict[str, Any]:
    """One pair as a JSON object.

    ``pair`` counts from 1. Each side has its ``text``, its ``words`` and their ``offsets``, start and end in
    characters. A link is ``[source word, target word]``, counted from 0, or with its probability as a third.
    """
    found = slice(int(links.offsets[row]), int(links.offsets[row + 1]))
    columns = [links.source[found].tolist(), links.target[found].tolist()]
    if links.probability is not None:
        columns.append([round(float(p), 4) for p in links.probability[found]])
    sides = zip(("source", "target"), pair.texts, pair.words, pair.offsets, strict=True)
    described = {
        side: {"text": text, "words": words, "offsets": [list(span) for span in spans]}
        for side, text, words, spans in sides
    }
    return {"pair": number, **described, "links": [list(link) for link in zip(*columns, strict=True)]}


def write_details(pairs: Iterable[PairWords], links: Links, path: PathLike) -> None:
    """Write one JSON object per line, see :func:`pair_details`."""
    with atomic_write(path) as file:
        for row, pair in enumerate(pairs):
            file.write(
                json.dumps(pair_details(pair, row + 1, links, row), ensure_ascii=False).encode() + b"\n"
            )
