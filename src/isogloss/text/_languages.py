"""The known languages: codes, names, scripts, writing directions, stop words.

To add a language, add a line to ``_TABLE``. ``docs/design/architecture.rst`` lists further tables to extend.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
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
    rows = (row.split(maxsplit=3) for row in _TABLE.strip().splitlines())
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

_TABLE = """
aa aar Latn Afar
ab abk Cyrl Abkhaz
ace ace Latn Acehnese
ae ave Latn Avestan
af afr Latn Afrikaans
ak aka Latn Akan
am amh Ethi Amharic
an arg Latn Aragonese
ar ara Arab Arabic
ary ary Arab Moroccan Arabic
arz arz Arab Egyptian Arabic
as asm Beng Assamese
ast ast Latn Asturian
av ava Cyrl Avar
ay aym Latn Aymara
az aze Latn Azerbaijani
azb azb Arab South Azerbaijani
ba bak Cyrl Bashkir
ban ban Latn Balinese
bar bar Latn Bavarian
bcl bcl Latn Central Bikol
be bel Cyrl Belarusian
bg bul Cyrl Bulgarian
bho bho Deva Bhojpuri
bi bis Latn Bislama
bm bam Latn Bambara
bn ben Beng Bengali
bo bod Tibt Tibetan
br bre Latn Breton
bs bos Latn Bosnian
ca cat Latn Catalan
ce che Cyrl Chechen
ceb ceb Latn Cebuano
ch cha Latn Chamorro
ckb ckb Arab Central Kurdish
co cos Latn Corsican
cr cre Cans Cree
crh crh Latn Crimean Tatar
cs ces Latn Czech
cu chu Cyrl Church Slavonic
cv chv Cyrl Chuvash
cy cym Latn Welsh
da dan Latn Danish
de deu Latn German
dsb dsb Latn Lower Sorbian
dv div Thaa Dhivehi
dz dzo Tibt Dzongkha
ee ewe Latn Ewe
el ell Grek Greek
en eng Latn English
eo epo Latn Esperanto
es spa Latn Spanish
et est Latn Estonian
eu eus Latn Basque
ext ext Latn Extremaduran
fa fas Arab Persian
ff ful Latn Fulah
fi fin Latn Finnish
fj fij Latn Fijian
fo fao Latn Faroese
fr fra Latn French
frp frp Latn Arpitan
fur fur Latn Friulian
fuv fuv Latn Nigerian Fulfulde
fy fry Latn Western Frisian
ga gle Latn Irish
gan gan Hans Gan Chinese
gcf gcf Latn Guadeloupean Creole
gcr gcr Latn Guianese Creole
gd gla Latn Scottish Gaelic
gl glg Latn Galician
gn grn Latn Guarani
gom gom Deva Goan Konkani
grc grc Grek Ancient Greek
gsw gsw Latn Alemannic German
gu guj Gujr Gujarati
guw guw Latn Gun
gv glv Latn Manx
ha hau Latn Hausa
hak hak Latn Hakka Chinese
hbo hbo Hebr Ancient Hebrew
he heb Hebr Hebrew
hi hin Deva Hindi
ho hmo Latn Hiri Motu
hr hrv Latn Croatian
hsb hsb Latn Upper Sorbian
ht hat Latn Haitian Creole
hu hun Latn Hungarian
hy hye Armn Armenian
hz her Latn Herero
ia ina Latn Interlingua
id ind Latn Indonesian
ie ile Latn Interlingue
ig ibo Latn Igbo
ii iii Yiii Nuosu
ik ipk Latn Inupiaq
ilo ilo Latn Ilocano
io ido Latn Ido
is isl Latn Icelandic
it ita Latn Italian
iu iku Cans Inuktitut
ja jpn Jpan Japanese
jv jav Latn Javanese
ka kat Geor Georgian
kaa kaa Latn Karakalpak
kab kab Latn Kabyle
kg kon Latn Kongo
ki kik Latn Kikuyu
kj kua Latn Kuanyama
kk kaz Cyrl Kazakh
kl kal Latn Kalaallisut
km khm Khmr Khmer
kn kan Knda Kannada
ko kor Kore Korean
kr kau Latn Kanuri
ks kas Arab Kashmiri
ku kur Latn Kurdish
kv kom Cyrl Komi
kw cor Latn Cornish
ky kir Cyrl Kyrgyz
la lat Latn Latin
lb ltz Latn Luxembourgish
lg lug Latn Ganda
li lim Latn Limburgish
lij lij Latn Ligurian
lmo lmo Latn Lombard
ln lin Latn Lingala
lo lao Laoo Lao
lt lit Latn Lithuanian
ltg ltg Latn Latgalian
lu lub Latn Luba-Katanga
lv lav Latn Latvian
lzh lzh Hans Literary Chinese
mai mai Deva Maithili
mg mlg Latn Malagasy
mh mah Latn Marshallese
mi mri Latn Maori
min min Latn Minangkabau
mk mkd Cyrl Macedonian
ml mal Mlym Malayalam
mn mon Cyrl Mongolian
mr mar Deva Marathi
ms msa Latn Malay
mt mlt Latn Maltese
my mya Mymr Burmese
mzn mzn Arab Mazanderani
na nau Latn Nauruan
nan nan Latn Southern Min
nap nap Latn Neapolitan
nb nob Latn Norwegian Bokmal
nd nde Latn Northern Ndebele
nds nds Latn Low German
ne nep Deva Nepali
new new Deva Newar
ng ndo Latn Ndonga
nl nld Latn Dutch
nn nno Latn Norwegian Nynorsk
no nor Latn Norwegian
nr nbl Latn Southern Ndebele
nso nso Latn Northern Sotho
nv nav Latn Navajo
ny nya Latn Chichewa
oc oci Latn Occitan
oj oji Latn Ojibwe
om orm Latn Oromo
or ori Orya Odia
os oss Cyrl Ossetian
pa pan Guru Punjabi
pam pam Latn Kapampangan
pcm pcm Latn Nigerian Pidgin
pi pli Deva Pali
pl pol Latn Polish
pms pms Latn Piedmontese
pnb pnb Arab Western Punjabi
ps pus Arab Pashto
pt por Latn Portuguese
qu que Latn Quechua
rm roh Latn Romansh
rn run Latn Rundi
ro ron Latn Romanian
ru rus Cyrl Russian
rw kin Latn Kinyarwanda
sa san Deva Sanskrit
sah sah Cyrl Yakut
sc srd Latn Sardinian
scn scn Latn Sicilian
sco sco Latn Scots
sd snd Arab Sindhi
sdh sdh Arab Southern Kurdish
se sme Latn Northern Sami
sg sag Latn Sango
sgs sgs Latn Samogitian
sh hbs Latn Serbo-Croatian
si sin Sinh Sinhala
sk slk Latn Slovak
sl slv Latn Slovenian
sm smo Latn Samoan
sn sna Latn Shona
so som Latn Somali
sq sqi Latn Albanian
sr srp Cyrl Serbian
ss ssw Latn Swati
st sot Latn Southern Sotho
su sun Latn Sundanese
sv swe Latn Swedish
sw swa Latn Swahili
szl szl Latn Silesian
ta tam Taml Tamil
te tel Telu Telugu
tg tgk Cyrl Tajik
th tha Thai Thai
ti tir Ethi Tigrinya
tk tuk Latn Turkmen
tl tgl Latn Tagalog
tn tsn Latn Tswana
to ton Latn Tongan
tpi tpi Latn Tok Pisin
tr tur Latn Turkish
ts tso Latn Tsonga
tt tat Cyrl Tatar
tw twi Latn Twi
ty tah Latn Tahitian
udm udm Cyrl Udmurt
ug uig Arab Uyghur
uk ukr Cyrl Ukrainian
ur urd Arab Urdu
uz uzb Latn Uzbek
uzs uzs Arab Southern Uzbek
ve ven Latn Venda
vec vec Latn Venetian
vi vie Latn Vietnamese
vo vol Latn Volapuk
vro vro Latn Voro
wa wln Latn Walloon
war war Latn Waray
wo wol Latn Wolof
wuu wuu Hans Wu Chinese
xh xho Latn Xhosa
xmf xmf Geor Mingrelian
yi yid Hebr Yiddish
yo yor Latn Yoruba
yue yue Hans Cantonese
za zha Latn Zhuang
zh zho Hans Chinese
zu zul Latn Zulu
"""
