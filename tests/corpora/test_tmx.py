"""Translation memories."""

import gzip

import pytest

from isogloss.corpora import TmxPairs
from isogloss.corpora.readers import _tmx as tmx
from isogloss.exceptions import CorpusError


def memory(*units, head='<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'):
    return f'{head}<tmx version="1.4"><header/><body>\n' + "\n".join(units) + "\n</body></tmx>\n"


def unit(**segments):
    sides = (f'<tuv xml:lang="{k.replace("_", "-")}"><seg>{v}</seg></tuv>' for k, v in segments.items())
    return f"<tu>{''.join(sides)}</tu>"


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "m.tmx"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def test_languages_are_matched_loosely_and_exactly_first(write):
    path = write(memory(unit(en_US="color", en_GB="colour", FR="la couleur"), unit(fr="x", en="y", de="z")))
    assert list(TmxPairs(path, "en", "fr")) == [(["color"], ["la", "couleur"]), (["y"], ["x"])]
    assert next(iter(TmxPairs(path, "en-gb", "fr-FR"))) == (["colour"], ["la", "couleur"])
    path = write(memory(unit(en_GB="colour", en="color", fr="x")))
    assert list(TmxPairs(path, "en", "fr")) == [(["color"], ["x"])]


def test_formatting_is_not_text(write):
    seg = '<bpt i="1">&lt;b></bpt>bold<ept i="1">&lt;/b></ept> and <hi>high</hi><ph>{1}</ph> &amp; low'
    assert next(iter(TmxPairs(write(memory(unit(en=seg, fr="x"))), "en", "fr"))) == (
        ["bold", "and", "high", "&", "low"],
        ["x"],
    )


def test_other_encodings_and_the_old_attribute(write):
    text = memory(
        '<tu><tuv lang="en"><seg>naïve</seg></tuv><tuv lang="fr"><seg>naïf</seg></tuv></tu>', head=""
    )
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        head = f'<?xml version="1.0" encoding="{encoding}"?>'
        path = write((head + text).encode(encoding))
        assert list(TmxPairs(path, "en", "fr")) == [(["naïve"], ["naïf"])]
    path = write(gzip.compress(text.encode()))
    assert list(TmxPairs(path, "en", "fr")) == [(["naïve"], ["naïf"])]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
def test_units_do_not_depend_on_how_the_file_is_cut(write, monkeypatch, chunk):
    monkeypatch.setattr(tmx, "CHUNK_BYTES", chunk)
    path = write(memory(*(unit(en=f"a {k} é", fr=f"b &#233; {k}") for k in range(20))))
    corpus = TmxPairs(path, "en", "fr")
    assert list(corpus) == [(["a", str(k), "é"], ["b", "é", str(k)]) for k in range(20)]
    assert list(corpus) == list(corpus)


def test_units_without_a_language_are_bad(write):
    path = write(memory(unit(en="a", fr="b"), unit(en="c"), unit(en="", fr="d")))
    with pytest.raises(CorpusError, match=r"m\.tmx:5: the unit does not have both 'en' and 'fr'"):
        list(TmxPairs(path, "en", "fr"))
    corpus = TmxPairs(path, "en", "fr", on_bad="skip")
    assert list(corpus) == [(["a"], ["b"]), ([], []), ([], [])]
    assert corpus.report.problems == {"incomplete": 1, "empty": 1}


def test_a_language_that_is_nowhere_is_refused_with_those_there_are(write):
    path = write(memory(unit(en="a", fr="b")))
    with pytest.raises(CorpusError, match="no unit has both 'en' and 'de'; the file has en, fr"):
        list(TmxPairs(path, "en", "de", on_bad="skip"))


def test_entities_are_refused_whatever_they_say(write):
    laughs = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    outside = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "secret.txt">]>'
    for head in (laughs, outside):
        with pytest.raises(CorpusError, match="declares the entity 'a'"):
            list(TmxPairs(write(memory(unit(en="&a;", fr="b"), head=head)), "en", "fr", on_bad="skip"))


def test_xml_that_is_not_well_formed_is_named_with_its_line(write):
    whole = memory(unit(en="a", fr="b"), unit(en="a", fr="b"))
    for text, line in [(whole[:-30], 5), (whole.replace("<tu>", "<tu", 1), 4), ("plain text", 1)]:
        with pytest.raises(CorpusError, match=rf"m\.tmx:{line}: is not well-formed"):
            list(TmxPairs(write(text), "en", "fr", on_bad="skip"))
    with pytest.raises(CorpusError, match="not well-formed"):
        list(TmxPairs(write(whole.encode().replace(b"a<", b"\xff<")), "en", "fr", on_bad="skip"))


def test_a_segment_without_end_is_refused(write):
    with pytest.raises(CorpusError, match="a segment is longer"):
        list(TmxPairs(write(memory(unit(en="x " * 600_000, fr="b"))), "en", "fr", on_bad="skip"))
