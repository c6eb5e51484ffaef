"""What is fuzzed: each target makes an input from random numbers, and runs a part of isogloss on it.

A run may raise the exceptions that the part documents, and no other. What a run asserts beyond that is part
of the target: a batch with one bad record keeps the good ones, an answer of the service is never a 5xx.
"""

import bz2
import gzip
import json
import os
import zipfile
from functools import cached_property
from pathlib import Path

from isogloss.exceptions import ArticleError, CorpusError, FeedError, ModelFileError
from tests.security.fuzz import generators as make
from tests.security.fuzz.base import GOOD, Target, WithFolder
from tests.security.fuzz.model_targets import BilingualText, Lexicons, LinkFiles, Networks, Ngrams, Tables
from tests.security.fuzz.product_targets import FeedLists, Outputs, Queries, Requests, Robots, WebPages


class Texts(Target):
    """Words of any text in any language."""

    name = "text"
    share = 3

    def generate(self, rng):
        """A language and a text."""
        return rng.choice(make.LANGUAGES), make.text(rng)

    def run(self, given):
        """Tokenise, identify, find dates."""
        from datetime import date

        from isogloss.events.annotate._dates import find_dates
        from isogloss.events.annotate._words import TokenisedText
        from isogloss.text import Tokeniser, identify

        lang, text = given
        Tokeniser(lang)(text)
        identify(text)
        words = TokenisedText.of(text, lang)
        for day in (date(2024, 3, 5), date.min, date.max):
            find_dates(text, words, lang, day)


class Html(Target):
    """Text of a piece of HTML."""

    name = "html"
    share = 3

    def generate(self, rng):
        """Markup of any kind."""
        return make.text(rng, 50_000)

    def run(self, given):
        """Remove the markup."""
        from isogloss.events._html import has_markup, html_to_text

        has_markup(given)
        html_to_text(given)


class Pipeline(Target):
    """A record on its way from the reader through analysis into the stream."""

    name = "pipeline"
    allowed = (ArticleError,)
    share = 4
    LONGEST = 300
    """Articles after which a new stream begins."""

    @cached_property
    def _annotator(self):
        from isogloss.events.annotate import Annotator

        return Annotator()

    def generate(self, rng):
        """A record."""
        return make.record(rng)

    def run(self, given):
        """Check a record, analyse the article, and fold it into the stream."""
        from isogloss.events import EventStream, parse_article

        stream = vars(self).get("_stream")
        if stream is None or stream.count > self.LONGEST:
            stream = self._stream = EventStream(annotator=self._annotator)
        article = parse_article(given)
        json.dumps(article.as_record(), ensure_ascii=False).encode()
        stream.add([article])
        if stream.count % 16 == 0:
            stream.update()
            for event in stream.events():
                str(event)


class Lines(WithFolder):
    """A file of JSON lines with bad records among good ones."""

    name = "lines"
    share = 2

    def generate(self, rng):
        """Some lines of a file, packed now and then."""
        bad = [make.as_json(rng, make.record(rng)).replace(b"\n", b" ") for _ in range(rng.randrange(1, 4))]
        good = json.dumps(GOOD).encode()
        content = b"\n".join([good, *bad, good.replace(b"good", b"last"), b""])
        packing = rng.randrange(8)
        if packing == 0:
            return make.mutated(rng, gzip.compress(content)), False
        return content, not any(b"\n" in line for line in bad)

    def run(self, given):
        """Read the articles; the good ones are among them."""
        from isogloss.events.ingest import ArticleReader

        content, sound = given
        ids = [article.id for article in ArticleReader(self.file("news.jsonl", content))]
        if sound:
            assert ids[:1] == ["good"], "the good article before a bad record was lost"
            assert "last" in ids, "the good article after a bad record was lost"


class Warc(WithFolder):
    """Web archives and their pages."""

    name = "warc"
    allowed = (CorpusError, ArticleError)

    @cached_property
    def _parse(self):
        from isogloss.events.ingest._warc import PageParser

        return PageParser()

    def generate(self, rng):
        """An archive of one page, sound or changed."""
        page = make.text(rng, 5_000).encode("utf-8", "surrogatepass")
        if rng.random() < 0.5:
            start = b"<html lang='" + make.text(rng, 8).encode("utf-8", "replace") + b"'><title>"
            page = start + page + b"</title><time datetime='" + rng.choice(make.DATES).encode() + b"'>"
        kind = rng.choice(["text/html", "text/html; charset=utf-16", "text/html; charset=nonsense", "html"])
        more = rng.choice(["", "", "Content-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\n"])
        if "gzip" in more:
            page = gzip.compress(page)
        http = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(page)}\r\n\r\n".encode()
        )
        url = rng.choice(["https://a.example/1", "http://[", make.text(rng, 30).replace("\n", "")])
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: {url}\r\n"
            f"WARC-Date: {rng.choice(make.DATES)}\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(http) + len(page)}\r\n\r\n"
        ).encode("utf-8", "replace")
        content = head + http + page + b"\r\n\r\n"
        if rng.random() < 0.4:
            content = make.mutated(rng, content)
        if rng.random() < 0.3:
            content = gzip.compress(content)
        return content

    def run(self, given):
        """Read every page."""
        from isogloss.events import parse_article
        from isogloss.events.ingest._warc import web_pages

        for _, page in web_pages(self.file("crawl.warc", given), 1 << 20):
            parse_article(self._parse(page))

    def close(self):
        """End the parser."""
        if "_parse" in vars(self):
            self._parse.__exit__()
        super().close()


class Feeds(Target):
    """RSS, Atom and sitemaps, parsed in this process."""

    name = "feed"
    allowed = (FeedError,)
    share = 2
    SOUND = (
        b"""<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>Daily</title>
<language>en</language><item><guid>7</guid><title>Rain</title><link>https://daily.example/7</link>
<description>&lt;p&gt;It rains.&lt;/p&gt;</description><pubDate>Mon, 03 Mar 2031 08:00:00 +0100</pubDate>"""
        b"""</item>
</channel></rss>""",
        b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Blatt</title>
<entry><id>tag:7</id><title>Regen</title><updated>2031-03-03T09:00:00+01:00</updated><content type="html">
&lt;p&gt;Es regnet.&lt;/p&gt;</content><link href="https://blatt.example/7"/></entry></feed>""",
        b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>
<loc>https://a.example/1</loc><lastmod>2031-03-02</lastmod></url></urlset>""",
    )

    def generate(self, rng):
        """A changed feed, or hostile text where a feed has an item."""
        if rng.random() < 0.5:
            return make.mutated(rng, rng.choice(self.SOUND), 12)
        inside = make.encoded(rng, make.text(rng, 4_000))
        return rng.choice(self.SOUND).replace(
            rng.choice([b"Rain", b"2031", b"7", b"item", b"https"]), inside, 1
        )

    def run(self, given):
        """Parse it as a feed and as a sitemap; what comes out can be stored."""
        from isogloss.feeds import parse_feed, parse_sitemap

        for parse in (parse_feed, parse_sitemap):
            try:
                found = parse(given)
            except FeedError:
                continue
            if isinstance(found, list):
                json.dumps(found, ensure_ascii=False).encode()


class Watching(Target):
    """Feeds of up to a megabyte, parsed in the child process: what the process of the watcher pays."""

    name = "watch"
    allowed = (FeedError,)
    share = 0.2

    @cached_property
    def _reader(self):
        from isogloss.feeds import FeedReader

        return FeedReader(deadline=1.0)

    def generate(self, rng):
        """A long feed."""
        inside = make.run(rng, 1_000_000, make.MARKUP).encode("utf-8", "replace")
        return rng.choice(Feeds.SOUND).replace(rng.choice([b"Rain", b"Regen", b"2031"]), inside, 1)

    def run(self, given):
        """Parse it as the watcher does."""
        try:
            self._reader.read(given, "https://a.example/")
        finally:
            self._reader.read_sitemap(given)

    def close(self):
        """End the process."""
        if "_reader" in vars(self):
            self._reader.stop()


class Api(WithFolder):
    """Requests to the service, in process."""

    name = "api"
    share = 2
    PATHS = ("/articles", "/similarity", "/similar", "/align", "/tokens", "/events/e1/verdicts", "/search")

    @cached_property
    def _client(self):
        from fastapi.testclient import TestClient

        from isogloss.service.app import create_app
        from isogloss.store import Store
        from tests.service import data

        self._store = Store(Path(self._temporary.name) / "news.db")
        data.fill(self._store)
        settings = data.settings(body_bytes=1 << 20, backlog=10**9)
        client = TestClient(
            create_app(settings, self._store, models=data.models()),
            base_url=data.BASE,
            raise_server_exceptions=False,
        )
        client.__enter__()
        return client

    def generate(self, rng):
        """A method, a path and a body; or a batch whose first and last articles are good."""
        if rng.random() < 0.5:
            batch = [GOOD, *(make.record(rng) for _ in range(rng.randrange(1, 4))), GOOD | {"id": "last"}]
            body = make.as_json(rng, batch)
            try:
                parsed = json.loads(body.decode("utf-8"))
                sound = isinstance(parsed, list) and [parsed[0], parsed[-1]] == [batch[0], batch[-1]]
            except (ValueError, RecursionError):
                sound = False
            return "POST", "/api/v1/articles", body, sound
        path = "/api/v1" + rng.choice(self.PATHS)
        if rng.random() < 0.4:
            query = make.text(rng, 300).encode("utf-8", "replace").hex(" ").replace(" ", "%")
            name = rng.choice(["q", "text", "cursor", "limit", "event", "since", "lang", "before"])
            path = f"/api/v1{rng.choice(['/events', '/articles', '/search', '/similar'])}?{name}=%{query}"
        return rng.choice(["GET", "POST", "POST"]), path, make.as_json(rng, make.value(rng)), False

    def run(self, given):
        """Send it; the answer is no failure of the service, and good articles are taken."""
        method, path, body, sound = given
        answer = self._client.request(
            method, path, content=body, headers={"content-type": "application/json"}
        )
        assert answer.status_code < 500, f"{answer.status_code} {answer.text[:200]}"
        if sound and answer.status_code not in (400, 413):  # nested too deep, or too large, as a whole
            assert answer.status_code == 202, f"{answer.status_code} {answer.text[:200]}"
            taken = {receipt["at"] for receipt in answer.json()["receipts"]}
            assert {0, len(taken) + len(answer.json()["refused"]) - 1} <= taken, "a good article was refused"

    def close(self):
        """Stop the service."""
        if "_client" in vars(self):
            self._client.__exit__(None, None, None)
            self._store.close()
        super().close()


class Corpora(WithFolder):
    """Readers of documents, of parallel text, of dumps and of tables of links."""

    name = "corpus"
    allowed = (CorpusError,)
    share = 3
    DUMP = (
        b"""<mediawiki><siteinfo><dbname>slwiki</dbname><namespaces><namespace key="6">Slika</namespace>
</namespaces></siteinfo><page><title>Bled</title><ns>0</ns><id>1</id><revision><text>Bled je [[kraj]].</text>
</revision></page><page><title>Veldes</title><ns>0</ns><id>2</id><redirect title="Bled" /></page>"""
        b"""\
</mediawiki>"""
    )
    TMX = b"""<?xml version="1.0"?><tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>the <hi>house
</hi></seg></tuv><tuv xml:lang="fr"><seg>la maison<ph>{1}</ph></seg></tuv></tu></body></tmx>"""
    SQL = rb"""CREATE TABLE `langlinks` (
  `ll_from` int unsigned NOT NULL,
  `ll_lang` varbinary(35) NOT NULL,
  `ll_title` varbinary(255) NOT NULL
);
INSERT INTO `langlinks` VALUES (7,'de','Bled'),(8,'fr','L\'Isle (Jura), et');
"""
    ITEMS = b'[\n{"id":"Q1","sitelinks":{"enwiki":{"title":"Bled"},"slwiki":{"title":"Bled"}}},\n]\n'
    KINDS = ("jsonl", "build", "lines", "tsv", "bars", "pairs", "tmx", "dump", "sql", "items", "zip")

    def generate(self, rng):
        """A kind of file, and its content."""
        kind = rng.choice(self.KINDS)
        if kind in ("jsonl", "build"):
            good = b'{"id": "a", "text": "one two three"}'
            lines = [make.as_json(rng, {"id": make.value(rng), "text": make.value(rng)}) for _ in range(2)]
            return kind, b"\n".join([good, *lines])
        if kind in ("lines", "tsv", "bars", "pairs"):
            joint = rng.choice(["\t", " ||| ", "\n", "|||"])
            return kind, make.encoded(rng, joint.join(make.text(rng, 2_000) for _ in range(4)))
        sound = {
            "tmx": self.TMX,
            "dump": self.DUMP,
            "sql": self.SQL,
            "items": self.ITEMS,
            "zip": self._zip(),
        }[kind]
        if rng.random() < 0.4:
            inside = make.encoded(rng, make.text(rng, 5_000))
            if rng.random() < 0.05:  # a bomb, once it is packed
                inside = rng.choice(make.MARKUP + make.NASTY).encode("utf-8", "replace") * (1 << 20)
            found = sound.replace(rng.choice([b"Bled", b"7", b"house", b"ns", b"1", b"kraj"]), inside, 1)
        else:
            found = make.mutated(rng, sound, 10)
        packing = rng.randrange(12)
        return kind, bz2.compress(found) if packing == 0 else gzip.compress(found) if packing == 1 else found

    def _zip(self):
        path = Path(self._temporary.name) / "sound.zip"
        if not path.exists():
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("Books.en-fr.en", "the house\nthe cat\n")
                archive.writestr("Books.en-fr.fr", "la maison\nle chat\n")
        return path.read_bytes()

    def run(self, given):
        """Read the file to its end."""
        kind, content = given
        getattr(self, f"_read_{kind}")(self.file(f"file.{kind}", content))

    def _read_jsonl(self, path):
        from isogloss.corpora import JsonLines

        list(JsonLines(path, lang="en", on_bad="skip"))

    def _read_build(self, path):
        from isogloss.corpora import JsonLines, build_corpus

        corpus = Path(self._temporary.name) / f"corpus{os.urandom(4).hex()}"
        build_corpus({"en": JsonLines(path, on_bad="skip")}, corpus, str.split, min_words=1, restart=True)

    def _read_lines(self, path):
        from isogloss.corpora import AlignedLines

        list(AlignedLines(path, on_bad="skip"))

    def _read_tsv(self, path):
        from isogloss.corpora import ColumnPairs

        list(ColumnPairs(path, on_bad="skip"))
        list(ColumnPairs(path, "en", "fr", on_bad="skip"))

    def _read_bars(self, path):
        from isogloss.corpora import BarPairs

        list(BarPairs(path, on_bad="skip"))

    def _read_pairs(self, path):
        from isogloss.corpora import LinePairs

        list(LinePairs(path, self.file("other", b"la maison\n" * 4), on_bad="skip"))

    def _read_tmx(self, path):
        from isogloss.corpora import TmxPairs

        list(TmxPairs(path, "en", "fr", on_bad="skip"))

    def _read_zip(self, path):
        from isogloss.corpora import ZipPairs

        list(ZipPairs(path, "en", "fr", on_bad="skip"))

    def _read_dump(self, path):
        from isogloss.corpora import PageIndex, WikipediaDump

        dump = WikipediaDump(path, on_bad="skip")
        list(dump.raw())
        dump.preparer()
        PageIndex.from_dump(dump)

    def _read_sql(self, path):
        from isogloss.corpora import LanguageLinks, PageIndex, read_langlinks

        links = LanguageLinks({"en": PageIndex({7: "Bled"}), "de": PageIndex({5: "Bled"})})
        links.add("en", read_langlinks(path))
        links.concepts()

    def _read_items(self, path):
        from isogloss.corpora import Concepts

        Concepts.from_sitelinks(path, ["en", "sl"]).fingerprint()


class Wordnets(WithFolder):
    """Files of wordnets, and the concept dictionaries that are made of them."""

    name = "wordnet"
    allowed = (CorpusError,)
    share = 0.5
    LINES = "# Demo\t{0}\t-\tCC0\n07428954-n\t{0}:lemma\t{1}\n07428955-a\t{0}:lemma\t{1} of {1}\n"
    SOUND = (("eng", "earthquake"), ("deu", "Erdbeben"), ("jpn", "地震"), ("tha", "แผ่นดินไหว"))

    def generate(self, rng):
        """A wordnet that was changed, or a change to a file of a dictionary; and a text to look up."""
        text = make.text(rng, 2_000)
        if rng.random() < 0.3:
            return "dictionary", (rng.randrange(100), rng.random()), text
        lang, lemma = rng.choice(self.SOUND)
        kind = rng.randrange(3)
        if kind == 0:
            found = make.mutated(rng, self.LINES.format(lang, lemma).encode(), 10)
        elif kind == 1:
            lines = (make.text(rng, 3_000).replace("\n", " ") for _ in range(rng.randrange(1, 20)))
            found = make.encoded(rng, "".join(self.LINES.format(lang, line) for line in lines))
        else:
            found = self.LINES.format(make.text(rng, 30), lemma).encode("utf-8", "surrogatepass")
        packing = rng.randrange(8)
        return "wordnet", gzip.compress(found) if packing == 0 else found, text

    def run(self, given):
        """Make a dictionary, change a file of it if that is asked for, and look words up."""
        import shutil

        from isogloss.events.annotate import ConceptDictionary
        from isogloss.events.annotate.concepts._wordnets import build_wordnet_concepts

        kind, content, text = given
        files = [
            self.file(f"{lang}.tab", self.LINES.format(lang, lemma).encode()) for lang, lemma in self.SOUND
        ]
        if kind == "wordnet":
            packed = content[:2] == b"\x1f\x8b"
            files.append(self.file("hostile.tab.gz" if packed else "hostile.tab", content))
        folder = Path(self._temporary.name) / "dictionary"
        try:
            build_wordnet_concepts(files, folder)
            if kind == "dictionary":
                self._change(folder, *content)
            concepts = ConceptDictionary(folder)
            for lang in concepts.languages:
                list(concepts.find(text.lower().split(), lang))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _change(self, folder, place, where):
        """Change one byte of one file, or cut it there."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        path = paths[place % len(paths)]
        data = bytearray(path.read_bytes())
        if data:
            at = int(where * len(data))
            data[at] ^= 1 << place % 8
            path.write_bytes(data if place % 2 else data[:at])


class Embeddings(Target):
    """A stream whose sentence encoder returns whatever it likes."""

    name = "encoder"
    share = 0.5
    VALUES = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e38, -1e38, float("nan"), float("inf"), float("-inf"))

    dimension, languages = 4, None

    def generate(self, rng):
        """Records, and for each the shape and the values of its embedding, or an exception."""
        made = []
        for number in range(rng.randrange(2, 12)):
            record = GOOD | {
                "id": str(number),
                "lang": rng.choice(make.LANGUAGES),
                "title": make.sentence(rng),
            }
            shape = rng.choice([4] * 8 + [0, 1, 3, 5, -1])
            values = self.VALUES if rng.random() < 0.5 else (0.5, -0.25, 1.0)
            made.append((record, [rng.choice(values) for _ in range(shape)] if shape >= 0 else None))
        return made

    def run(self, given):
        """Fold the articles into a stream; none is lost but those that the encoder fails at."""
        from isogloss.events import EventStream, parse_article

        self._vectors = {record["title"]: vector for record, vector in given}
        articles = {record["title"]: parse_article(record) for record, _ in given}
        failed = []
        with EventStream(encoder=self) as stream:
            told = stream.add(articles.values(), on_error=lambda article, _: bool(failed.append(article.id)))
            stream.update()
            list(stream.events())
        assert len(told) + len(failed) == len(articles), "an article was lost"
        assert len(failed) <= list(self._vectors.values()).count(None), "an article failed for its embedding"

    def encode(self, texts, lang):
        """The vectors of the input."""
        import numpy as np

        rows = [self._vectors[text.partition("\n")[0]] for text in texts]
        if None in rows:
            raise ValueError("the encoder failed")
        return np.array(rows, np.float32)


class Markup(Target):
    """Pages of wikis, in the child process."""

    name = "markup"
    share = 0.5

    @cached_property
    def allowed(self):
        from isogloss.io import ParserFailure

        return (ParserFailure,)

    @cached_property
    def _parse(self):
        from isogloss.corpora.readers._markup import _without_markup
        from isogloss.io import ParserProcess

        return ParserProcess(_without_markup, seconds=1.0)

    def generate(self, rng):
        """A page."""
        return make.text(rng, 2_000)

    def run(self, given):
        """Remove the markup."""
        self._parse(["file"], given)

    def close(self):
        """End the process."""
        if "_parse" in vars(self):
            self._parse.close()


class Models(WithFolder):
    """Model files: changed bytes, and changed descriptions under a right digest."""

    name = "model"
    allowed = (ModelFileError,)
    share = 2

    @cached_property
    def _sound(self):
        import isogloss.events.link
        from isogloss.io import save
        from tests.service import data

        found = [Path(isogloss.events.link.__file__).with_name("linker.isogloss").read_bytes()]
        for model in (data.models().similarity, data.models().aligners["en", "de"]):
            path = self.file("sound.isogloss", b"")
            save(model, path)
            found.append(path.read_bytes())
        return found

    def generate(self, rng):
        """A file that is no longer what it was."""
        sound = rng.choice(self._sound)
        return self._forged(rng, sound) if rng.random() < 0.6 else make.mutated(rng, sound)

    def _forged(self, rng, sound):
        """A file whose header was changed somewhere, and has its digest right."""
        import hashlib

        size = int.from_bytes(sound[:8], "little")
        header = json.loads(sound[8 : 8 + size])
        description = json.loads(header["__metadata__"]["isogloss"])
        del description["digest"]
        make.bend(rng, description)
        text = json.dumps(description, separators=(",", ":"))
        description["digest"] = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
        header["__metadata__"]["isogloss"] = json.dumps(description)
        if rng.random() < 0.3:
            make.bend(rng, header)
        written = json.dumps(header).encode()
        return len(written).to_bytes(8, "little") + written + sound[8 + size :]

    def run(self, given):
        """Describe and load it."""
        from isogloss.io import describe, load

        path = self.file("bent.isogloss", given)
        try:
            describe(path)
        finally:
            load(path)


TARGETS = {
    each.name: each
    for each in (
        Texts,
        Html,
        Pipeline,
        Lines,
        Warc,
        Feeds,
        Watching,
        Api,
        Corpora,
        Wordnets,
        Embeddings,
        Markup,
        Models,
        FeedLists,
        Robots,
        WebPages,
        Queries,
        Requests,
        Outputs,
        BilingualText,
        LinkFiles,
        Lexicons,
        Networks,
        Ngrams,
        Tables,
    )
}
