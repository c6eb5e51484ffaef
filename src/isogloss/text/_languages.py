"""The known languages: codes, names, scripts, writing directions, stop words.

To add a language, add a line to ``languages.tsv``; ``docs/design/architecture.rst`` lists further tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Literal

from isogloss.text._extras import need_extra

Segmenter = Literal["words", "unspaced"]


@dataclass(frozen=True)
class Language:
    """A language: its codes, name and script.

    Attributes
    ----------
    code : str
        The ISO 639-1 code, or the ISO 639-3 code of a language that has none.
    code3 : str
        The ISO 639-3 code.
    name : str
        The name in English.
    script : str
        The ISO 15924 code of the usual script; ``Jpan`` is the mixed script of Japanese.
    segmenter : {'words', 'unspaced'}
        Whether the script puts spaces between words.
    direction : {'ltr', 'rtl'}
        The direction of writing.
    """

    code: str
    code3: str
    name: str
    script: str

    @property
    def segmenter(self) -> Segmenter:
        """``words`` if spaces separate words, ``unspaced`` if a dictionary is needed to find them."""
        return "unspaced" if self.script in _UNSPACED else "words"

    @property
    def direction(self) -> Literal["ltr", "rtl"]:
        """Writing direction: from left to right, or from right to left."""
        return "rtl" if self.script in _RIGHT_TO_LEFT else "ltr"


def language(code: str) -> Language:
    """Return the language with an ISO 639-1 or 639-3 code, or with the code of a Wikipedia.

    A region or script after the code is ignored.

    Parameters
    ----------
    code : str
        ``sl``, ``slv``, ``pt-BR``, ``zh_Hant`` or ``zh-min-nan``, in any case.

    Raises
    ------
    ValueError
        No language has this code; the message suggests similar ones.

    Examples
    --------
    >>> language("sl").name, language("srp-Latn").code, language("pt-BR").code3
    ('Slovenian', 'sr', 'por')
    >>> language("ar").direction, language("th").segmenter
    ('rtl', 'unspaced')
    >>> language("slovak")
    Traceback (most recent call last):
    ValueError: the language 'slovak' is not known; near ones: sk (Slovak), sl (Slovenian), ...
    """
    if not isinstance(code, str):
        raise TypeError(f"got {code!r:.80} as a language; expected a code such as 'en' or 'slv'")
    tag = code.strip().lower().replace("_", "-")
    base = _OTHER_TAGS.get(tag) or tag.partition("-")[0]
    found = _index().get(base)
    if found is None:
        near = ", ".join(f"{one.code} ({one.name})" for one in _near(base))
        near = f"; near ones: {near}" if near else ""
        raise ValueError(
            f"the language {code!r:.40} is not known{near}; "
            "give an ISO 639 code, which isogloss.text.known_languages() lists"
        )
    return found


def known_languages() -> tuple[Language, ...]:
    """Return all known languages, sorted by code.

    Examples
    --------
    >>> len(known_languages()) > 100
    True
    """
    return tuple(sorted(set(_index().values()), key=lambda one: one.code))


@cache
def stopwords(code: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case, from the package ``stopwordsiso``.

    Raises
    ------
    ValueError
        There is no list for the language; leave out the most frequent words of a corpus instead.
    ModuleNotFoundError
        The extra ``isogloss[text]`` is not installed.

    Examples
    --------
    >>> "the" in stopwords("en"), "und" in stopwords("deu"), "ni" in stopwords("sl")
    (True, True, True)
    """
    found = language(code)
    lists = need_extra("stopwordsiso")
    listed = _STOP_LIST.get(found.code, found.code)
    if not lists.has_lang(listed):
        raise ValueError(
            f"there is no list of stop words for {found.name} ({found.code}); drop the most frequent "
            "words of the corpus instead (drop_top=100)"
        )
    return frozenset(word.lower() for word in lists.stopwords(listed))


def _near(base: str) -> list[Language]:
    index = _index()
    names = {one.name.lower(): one for one in known_languages()}
    by_name = [names[name] for name in get_close_matches(base, names, n=3, cutoff=0.5)]
    by_code = [index[other] for other in get_close_matches(base, index, n=3, cutoff=0.6)]
    return list(dict.fromkeys(by_name if len(base) > 4 else by_code + by_name))[:3]


@cache
def _index() -> dict[str, Language]:
    """Map every code, including those of dialects, to its language."""
    table = files("isogloss.text").joinpath("languages.tsv").read_text(encoding="utf-8")
    rows = (row.split("\t") for row in table.splitlines())
    found = [Language(code, code3, name, script) for code, code3, script, name in rows]
    index = {code: one for one in found for code in (one.code, one.code3)}
    return index | {other: index[code] for other, code in _OTHER_CODES.items()}


_UNSPACED = frozenset({"Hans", "Jpan", "Khmr", "Laoo", "Mymr", "Thai"})
_RIGHT_TO_LEFT = frozenset({"Arab", "Hebr", "Thaa"})
_STOP_LIST = {"nb": "no", "nn": "no", "wuu": "zh", "yue": "zh", "gan": "zh", "arz": "ar", "ary": "ar"}
"""Languages that use the stop words of another."""

_OTHER_CODES = {
    "arb": "ar", "azj": "az", "cmn": "zh", "ekk": "et", "fil": "tl",
    "in": "id", "iw": "he", "ji": "yi", "khk": "mn", "kmr": "ku", "lvs": "lv", "mo": "ro", "npi": "ne",
    "ory": "or", "pes": "fa", "plt": "mg", "prs": "fa", "swh": "sw", "uzn": "uz", "ydd": "yi",
    "zsm": "ms", "als": "sq", "gug": "gn", "quz": "qu", "pbt": "ps",
    "ajp": "ar", "apc": "ar", "bih": "bho", "bh": "bho", "ckm": "hr", "diq": "ku", "zza": "ku", "hyw": "hy",
    "kok": "gom", "ksh": "de", "nor": "no", "pfl": "de", "pdc": "de", "rmy": "ro", "rue": "uk", "scc": "sr",
    "scr": "hr", "simple": "en", "vls": "nl", "zea": "nl", "zlm": "ms", "nrm": "fr", "pcd": "fr", "eml": "it",
}  # fmt: skip
"""Codes of members of a macrolanguage, obsolete codes, and small languages treated as a large one."""

_OTHER_TAGS = {
    "bat-smg": "sgs", "be-x-old": "be", "cbk-zam": "es", "fiu-vro": "vro", "map-bms": "jv", "roa-rup": "ro",
    "roa-tara": "nap", "zh-cdo": "zh", "zh-classical": "lzh", "zh-min-nan": "nan", "zh-nan": "nan",
    "zh-wuu": "wuu", "zh-yue": "yue",
}  # fmt: skip
"""Codes of Wikipedias and extended tags whose first part is not their language."""
