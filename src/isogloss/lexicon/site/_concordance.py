"""The data of concordances: occurrences of headwords, and sentence pairs in shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from isogloss.lexicon.aligned import AlignedText, Entry

MAX_LINES = 200
"""Occurrences of one headword, spread evenly over the text."""
SHARD = 200
"""Sentence pairs per file."""


class ConcordanceLines:
    """Finds the lines of a concordance.

    A line has its sentence, the start and end of the word, then starts and ends of what it is linked with.
    """

    def __init__(self, text: AlignedText) -> None:
        self._text = text
        self._order = np.lexsort((text.target_token, text.source_token))
        self._linked = text.source_token[self._order]

    def of(self, entries: Mapping[int, Entry]) -> dict[str, Any]:
        """The lines of some entries, for a script."""
        return {"size": SHARD, "entries": {str(k): self._of_entry(entry) for k, entry in entries.items()}}

    def _of_entry(self, entry: Entry) -> dict[str, Any]:
        source, target = self._text.source, self._text.target
        chosen = entry.tokens
        if len(chosen) > MAX_LINES:
            chosen = chosen[np.linspace(0, len(chosen) - 1, MAX_LINES).astype(int)]
        ranges = (np.searchsorted(self._linked, chosen, side).tolist() for side in ("left", "right"))
        rows = []
        for token, first, last in zip(chosen.tolist(), *ranges, strict=True):
            linked = self._text.target_token[self._order[first:last]]
            spans = np.stack([target.starts[linked], target.ends[linked]], axis=1).ravel().tolist()
            place = [int(column[token]) for column in (source.sentence, source.starts, source.ends)]
            rows.append([*place, *spans])
        return {"word": entry.headword, "total": entry.frequency, "rows": rows}


def text_shards(text: AlignedText) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Sentence pairs in files of equal size, with the names of the files."""
    pairs = list(zip(text.source.texts, text.target.texts, strict=True))
    for k in range(0, len(pairs), SHARD):
        yield f"text-{k // SHARD}", pairs[k : k + SHARD]
