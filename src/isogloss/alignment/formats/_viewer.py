"""A corpus and its links as one HTML page: a threshold to move, links to correct, corrections to download.

The page loads nothing: script, styles and data are in it, and its content security policy allows no others.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from importlib.resources import files

from isogloss.alignment.decoding import Links
from isogloss.alignment.formats._corrections import Corrections
from isogloss.alignment.formats._details import pair_details
from isogloss.corpora import PairWords
from isogloss.io import PathLike, atomic_write

_BODY = """<header><h1>Word alignment</h1><div>
<label>Threshold <input id="threshold" type="range" min="0.05" max="0.95" step="0.01"> <output id="value"></output></label>
<label>Find <input id="find" type="search"></label>
<span><button id="back" type="button">Back</button> <span id="place"></span> <button id="next" type="button">Next</button></span>
<span><button id="save" type="button">Save corrections</button> <span id="count" role="status"></span></span>
</div><p class="text">Click a cell to correct it, and again to undo; shift-click to confirm it as it is.</p></header>
<main id="pairs"></main>
"""  # noqa: E501


def write_viewer(
    pairs: Iterable[PairWords],
    links: Links,
    path: PathLike,
    *,
    threshold: float = 0.5,
    corrections: Corrections | None = None,
) -> None:
    """Write the page.

    Parameters
    ----------
    pairs : iterable of PairWords
        The sentence pairs; those without words are left out.
    links : Links
        Links with probabilities, from a threshold as low as that of the page should go.
    path : path
        The file.
    threshold : float
        The threshold when the page is opened.
    corrections : Corrections, optional
        Corrections made before, which the page shows and saves again.
    """
    fixed = [] if corrections is None else corrections.as_lists()
    style, script = (
        files(__package__).joinpath(f"viewer.{kind}").read_text("utf-8") for kind in ("css", "js")
    )
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    with atomic_write(path) as file:
        file.write(
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width"><title>Word alignment</title>'
            f'<style>{style}</style></head>\n<body>\n{_BODY}<script id="data" type="application/json">'
            f'{{"threshold": {threshold}, "fixed": {_safe(fixed)}, "pairs": [\n'.encode()
        )
        for number, line in enumerate(_lines(pairs, links)):
            file.write(((",\n" if number else "") + line).encode())
        file.write(f"\n]}}</script>\n<script>{script}</script></body></html>\n".encode())


def _lines(pairs: Iterable[PairWords], links: Links) -> Iterator[str]:
    for row, pair in enumerate(pairs):
        if all(pair.words):
            found = pair_details(pair, row + 1, links, row)["links"]
            source, target = pair.words
            yield _safe(
                {"pair": row + 1, "texts": pair.texts, "source": source, "target": target, "links": found}
            )


def _safe(value: object) -> str:
    """JSON that can stand in an HTML script element."""
    return json.dumps(value, ensure_ascii=False).translate(
        {ord("<"): "\\u003c", 0x2028: "\\u2028", 0x2029: "\\u2029"}
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
