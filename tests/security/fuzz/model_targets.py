"""Readers of files that models are made of: bilingual text, links, dictionaries, networks, tables."""

from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from isogloss.exceptions import (
    CorpusError,
    DictionaryError,
    ModelFileError,
    NetworkFileError,
    VectorFileError,
)
from tests.security.fuzz import generators as make
from tests.security.fuzz.base import WithFolder


class FileTarget(WithFolder):
    """Files of several kinds, each with a sound example and a method that reads it."""

    SOUND: ClassVar = {}
    PLACES: tuple[bytes, ...] = ()
    """What hostile text replaces."""

    def generate(self, rng):
        """A kind of file, and its content."""
        kind = rng.choice(list(self.SOUND))
        return kind, make.filled(rng, self.SOUND[kind], self.PLACES)

    def run(self, given):
        """Read the file to its end."""
        kind, content = given
        getattr(self, f"_read_{kind}")(self.file(f"en-fr.{kind}", content))


class BilingualText(FileTarget):
    """Sentence pairs of raw text in every form, split into words as ``isogloss align`` does."""

    name = "bitext"
    allowed = (CorpusError,)
    SOUND: ClassVar = {
        "tsv": b"source\ttarget\nThe house, the cat.\tLa maison, le chat.\n\tvide\nDogs\tdes chiens\n",
        "txt": b"The house , the cat . ||| la maison , le chat .\nDogs ||| \n ||| vide\n",
        "en": "The house, the cat.\n台風が東京に上陸した。\nสวัสดีกรุงเทพ\n".encode(),
        "tmx": b"""<?xml version="1.0"?><tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>the <hi>
house</hi></seg></tuv><tuv xml:lang="fr"><seg>la maison<ph>{1}</ph></seg></tuv></tu></body></tmx>""",
    }
    PLACES = (b"house", b"\t", b"|||", b"\n", b"cat", b"seg", b"en")

    def run(self, given):
        """Read the pairs with their words and offsets, and the text as sentences."""
        from isogloss.cli.align._input import open_text
        from isogloss.io import read_text
        from isogloss.text.raw import split_text

        kind, content = given
        with suppress(CorpusError):
            raw = read_text(self.file("raw.txt", content)).text
            found = split_text(raw, "en")
            assert len(found.sentences) == len(found.paragraphs)
        path = self.file(f"text.{kind}", content)
        other = self.file("other.fr", b"la maison , le chat .\n" * 3) if kind == "en" else None
        columns = "source,target" if content.startswith(b"source") else "0,1"
        pairs = open_text(path, other, "auto", columns, "en,fr", False, 100)
        for pair in pairs:
            assert len(pair) == 2
        for pair in pairs.with_offsets():
            for text, words, offsets in zip(*pair, strict=True):
                assert len(words) == len(offsets)
                assert all(0 <= start <= end <= len(text) for start, end in offsets)


class LinkFiles(FileTarget):
    """Word alignments, priors, and corrections that the viewer saves."""

    name = "links"
    allowed = (CorpusError,)
    SOUND: ClassVar = {
        "pharaoh": b"0-0 1-2\n\n0-1 2-2\n",
        "scored": b"0-0:0.75 1-2:5e-1\n\n0-1:1\n",
        "gold": b"0-0 1p2\n2?2\n",
        "naacl": b"1 1 1 S\n1 2 3 P\n0002 1 1\n",
        "lexicon": b"source\ttarget\tcount\ndog\tperro\t5\n",
        "jumps": b"direction\torigin\tword\tjump\tcount\nforward\tbegin\t\t1\t5.5\n",
        "fertility": b"direction\tword\tfertility\tcount\nforward\tdog\t1\t5\n",
        "corrections": b'{"pair": 1, "source": ["a", "b"], "target": ["x"], "add": [[0, 0]], "remove": []}\n',
    }
    PLACES = (b"0", b"1", b"-", b"\t", b"dog", b"5", b"[", b"\n", b'"a"', b"add", b"count")

    def _read_pharaoh(self, path):
        from isogloss.alignment import read_pharaoh

        read_pharaoh(path).to_lists()
        read_pharaoh(path, first=1)

    _read_scored = _read_pharaoh

    def _read_gold(self, path):
        from isogloss.alignment import read_gold

        read_gold(path)

    def _read_naacl(self, path):
        from isogloss.alignment import read_naacl

        read_naacl(path)
        read_naacl(path, n=3)

    def _read_priors(self, path):
        from isogloss.alignment import read_priors

        read_priors(**{path.suffix[1:]: path})

    _read_lexicon = _read_jumps = _read_fertility = _read_priors

    def _read_corrections(self, path):
        from isogloss.alignment import read_corrections

        read_corrections(path)


class Lexicons(FileTarget):
    """Word vectors and dictionaries."""

    name = "lexicon"
    allowed = (VectorFileError, DictionaryError)
    SOUND: ClassVar = {
        "vec": b"2 3\ncat 1 0 .5\ndog 1e-3 0 .25\n",
        "txt": b"cat gatto\ndog\tcane\n",
        "dictionary": b"src\ttgt\tsplit\ncat\tgatto\ttrain\ndog\tcane\ttest\n",
        "induced": b"source\ttarget\tscore\trank\tmargin\ncat\tgatto\t0.5\t1\t0.25\n",
        "npz": b"",
    }
    PLACES = (b"cat", b"1", b"\n", b" ", b"\t", b"split", b"3")

    def generate(self, rng):
        """A kind of file, and its content; vectors of NumPy are made anew, because their names are random."""
        kind = rng.choice(list(self.SOUND))
        if kind != "npz":
            return kind, make.filled(rng, self.SOUND[kind], self.PLACES)
        return kind, make.mutated(rng, self._npz(), 10)

    def _npz(self):
        import io

        import numpy as np

        file = io.BytesIO()
        np.savez(file, words=np.array(["cat", "dog"]), vectors=np.eye(2, dtype=np.float32))
        return file.getvalue()

    def _read_vec(self, path):
        from isogloss.lexicon import read_vectors, read_vectors_with_report

        str(read_vectors_with_report(path)[1])
        read_vectors(path)

    _read_npz = _read_vec

    def _read_txt(self, path):
        from isogloss.lexicon import read_dictionary

        read_dictionary(path)

    def _read_dictionary(self, path):
        from isogloss.lexicon import read_dictionary

        read_dictionary(path, split="train")

    def _read_induced(self, path):
        from isogloss.lexicon import read_induced, write_induced

        path.with_suffix(".sound").write_bytes(b"")
        write_induced(read_induced(path), path.with_suffix(".sound"))


class Networks(FileTarget):
    """Bayesian networks and observations."""

    name = "network"
    allowed = (NetworkFileError, CorpusError)
    SOUND: ClassVar = {
        "bif": b"""network unknown { }
variable I { type discrete [ 2 ] { i0, i1 }; }
variable S { type discrete [ 2 ] { s0, s1 }; }
probability ( I ) { table 0.7, 0.3; }
probability ( S | I ) { (i0) 0.95, 0.05; (i1) 0.2, 0.8; }
""",
        "xml": b"""<?xml version="1.0"?><BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>I</NAME><OUTCOME>i0</OUTCOME><OUTCOME>i1</OUTCOME></VARIABLE>
<DEFINITION><FOR>I</FOR><TABLE>0.7 0.3</TABLE></DEFINITION></NETWORK></BIF>""",
        "json": b'{"variables": {"I": ["i0", "i1"], "S": ["s0", "s1"]}, "cpds": {"I": {"values": [0.7, 0.3]}'
        b', "S": {"parents": ["I"], "values": [[0.95, 0.05], [0.2, 0.8]]}}}',
        "csv": b"I,S,G\ni0,s1,g1\ni1,,g2\n,s0,NA\n",
    }
    PLACES = (b"I", b"i0", b"0.7", b"2", b"\n", b"{", b"table", b"TABLE", b",", b"OUTCOME")

    def _read_bif(self, path):
        from isogloss.graphical import read_network

        repr(read_network(path))

    _read_xml = _read_json = _read_bif

    def _read_csv(self, path):
        from isogloss.graphical import read_rows, student

        read_rows(path)
        read_rows(path, student())


class Ngrams(FileTarget):
    """Language models in ARPA files."""

    name = "arpa"
    allowed = (ModelFileError,)
    share = 0.5
    SOUND: ClassVar = {
        "arpa": b"""\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.3
-0.5\t</s>
-0.4\tcat\t-0.2

\\2-grams:
-0.1\t<s> cat
-0.2\tcat </s>

\\end\\
"""
    }
    PLACES = (b"cat", b"-0.5", b"4", b"2", b"\t", b"\n\n", b"ngram", b"<s>")

    def _read_arpa(self, path):
        from isogloss.sequences import read_arpa

        read_arpa(path).prob("cat", ["<s>"])


class Tables(FileTarget):
    """Labelled articles and queries, a journal, and views that are joined from tables."""

    name = "table"
    share = 0.5
    SOUND: ClassVar = {
        "articles": b'{"id": "1", "lang": "en", "title": "Fog", "time": "2031-03-05T08:00Z", "event": "e"}\n',
        "queries": b'{"q": "storm", "articles": ["7", "9"], "events": ["e1"], "lang": "en"}\n',
        "views": b"a 1 2\nb 3 nan\n",
        "csv": b"id,blood.a,blood.b,scan.a\n1,0.5,NA,7\n2,,1e3,-1\n",
        "npz": b"",
    }
    PLACES = (b'"1"', b'"7"', b"1", b'["e1"]', b"nan", b"a", b'"e"', b"\n")

    @property
    def allowed(self):
        """What the readers document."""
        from isogloss.exceptions import ArticleError, TableError

        return (CorpusError, ArticleError, TableError)

    def generate(self, rng):
        """A kind of file, and its content; arrays are made anew, because the names in archives are random."""
        kind, content = super().generate(rng)
        return kind, make.mutated(rng, self._npz(), 10) if kind == "npz" else content

    def _npz(self):
        import io

        import numpy as np

        file = io.BytesIO()
        np.savez(file, blood=np.eye(3), scan=np.arange(6, dtype=np.float32).reshape(3, 2))
        return file.getvalue()

    def _read_csv(self, path):
        from isogloss.cli.views._input import _read_table

        _read_table(path, None)
        _read_table(path, "id")

    def _read_npz(self, path):
        from isogloss.cli.views._input import _read_archive

        _read_archive(path)

    def _read_articles(self, path):
        from isogloss.events.checkpoint._journal import read_journal
        from isogloss.events.training import read_labelled_news

        try:
            read_labelled_news(path)
        except CorpusError:
            list(read_journal(path))

    def _read_queries(self, path):
        from isogloss.service.search import read_queries

        lines = Path(path).read_text("utf-8", "replace").split("\n")
        read_queries(lines, "queries.jsonl", {"e1": frozenset({"7"})})

    def _read_views(self, path):
        from isogloss.views import Views

        rows = [line.split() for line in path.read_text("utf-8", "replace").splitlines()[:200]]
        width = max(map(len, rows), default=0)
        table = [[_number(cell) for cell in row[1:] + ["nan"] * (width - len(row))] for row in rows]
        try:
            views = Views.from_tables(
                {"one": ([row[0] if row else "" for row in rows], table), "two": ((), table[:0])}
            )
            views[: len(views) // 2].dims  # noqa: B018
        except (ValueError, TypeError):  # what it documents for values
            pass


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text
