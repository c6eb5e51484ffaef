"""Scripts of a text."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache

MIN_SHARE = 0.05
"""Share of the letters from which on a script counts as one of the text's own, not as that of a few names."""

_WIDTHS = ("FULLWIDTH", "HALFWIDTH")

_CODES = {
    "ARABIC": "Arab", "ARMENIAN": "Armn", "BENGALI": "Beng", "BOPOMOFO": "Bopo", "CANADIAN": "Cans",
    "CHEROKEE": "Cher", "CJK": "Hani", "COPTIC": "Copt", "CYRILLIC": "Cyrl", "DEVANAGARI": "Deva",
    "ETHIOPIC": "Ethi", "GEORGIAN": "Geor", "GLAGOLITIC": "Glag", "GOTHIC": "Goth", "GREEK": "Grek",
    "GUJARATI": "Gujr", "GURMUKHI": "Guru", "HANGUL": "Hang", "HEBREW": "Hebr", "HIRAGANA": "Hira",
    "JAVANESE": "Java", "KANNADA": "Knda", "KATAKANA": "Kana", "KHMER": "Khmr", "LAO": "Laoo",
    "LATIN": "Latn", "MALAYALAM": "Mlym", "MONGOLIAN": "Mong", "MYANMAR": "Mymr", "NKO": "Nkoo",
    "OGHAM": "Ogam", "ORIYA": "Orya", "RUNIC": "Runr", "SINHALA": "Sinh", "SYRIAC": "Syrc",
    "TAMIL": "Taml", "TELUGU": "Telu", "THAANA": "Thaa", "THAI": "Thai", "TIBETAN": "Tibt",
    "TIFINAGH": "Tfng", "YI": "Yiii",
}  # fmt: skip
"""ISO 15924 codes by the first word of Unicode names."""

_SHARED_SCRIPTS = {"Hani": "Jpan", "Hira": "Jpan", "Kana": "Jpan", "Bopo": "Hani"}


def count_scripts(text: str) -> dict[str, int]:
    """Count the letters of each script, the most frequent first.

    Scripts have their ISO 15924 codes; ``Zyyy`` are letters of scripts without one here.

    Examples
    --------
    >>> count_scripts("Београд, Beograd!")
    {'Cyrl': 7, 'Latn': 7}
    """
    counts: Counter[str] = Counter()
    for character, number in Counter(text).items():
        script = _script(character)
        if script is not None:
            counts[script] += number
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def mixed_scripts(text: str) -> dict[str, int]:
    """Return the scripts that a text is written in, if it is in more than one.

    Kanji and kana are one script, and so are Hangul and the Chinese characters of Korean. A script with less
    than a twentieth of the letters is not counted.

    Examples
    --------
    >>> mixed_scripts("Београд је главни град. Beograd je glavni grad.")
    {'Cyrl': 19, 'Latn': 19}
    >>> mixed_scripts("東京タワーの高さ")
    {}
    """
    counts = count_scripts(text)
    main = _SHARED_SCRIPTS if {"Hira", "Kana"} & set(counts) else {"Hani": "Hang"} if "Hang" in counts else {}
    merged: Counter[str] = Counter()
    for script, number in counts.items():
        merged[main.get(script, script)] += number
    enough = {script: n for script, n in merged.most_common() if n >= MIN_SHARE * merged.total()}
    return enough if len(enough) > 1 else {}


@cache
def _script(character: str) -> str | None:
    """The script of a letter; None for other characters and for letters of no script."""
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lo"):
        return None
    words = unicodedata.name(character, "").split(" ")
    return _CODES.get(words[1] if words[0] in _WIDTHS else words[0], "Zyyy")
