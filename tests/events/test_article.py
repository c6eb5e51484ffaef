"""Records that become articles, repaired where that is possible."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events import Article, parse_article
from isogloss.events._html import has_markup, html_to_text
from isogloss.events.article import MAX_BODY_CHARS, MAX_MARKUP_TAGS
from isogloss.exceptions import ArticleError, IsoglossError
from tests.waiting import cpu_at_most

NOW = datetime(2031, 4, 1, tzinfo=UTC)
GOOD = {
    "id": "n1",
    "lang": "en",
    "title": "Storm",
    "body": "Roofs flew.",
    "time": "2031-03-05T08:40:00+01:00",
}

GERMAN = (
    "Der Sturm hat in der Nacht zum Mittwoch zwei Dächer abgedeckt und eine Straße gesperrt; die Feuerwehr "
    "war bis zum Morgen im Einsatz, wie ein Sprecher der Stadt am Vormittag mitteilte."
)
RUSSIAN = (
    "Ночью буря сорвала две крыши и повалила деревья, пожарные работали до самого утра, сообщил "
    "представитель городской администрации на встрече, где были журналисты."
)


def made(**fields):
    notes = Counter()
    return parse_article(GOOD | fields, now=NOW, notes=notes), notes


def test_a_good_record_needs_no_repair():
    article, notes = made(source="Gull", url="https://gull.example/1")
    assert article == Article(
        "n1",
        "en",
        "Storm",
        "Roofs flew.",
        datetime(2031, 3, 5, 7, 40, tzinfo=UTC),
        "Gull",
        "https://gull.example/1",
    )
    assert article.key == "Gull https://gull.example/1"
    assert not notes


def test_an_article_is_its_record():
    article, _ = made(source="Gull")
    record = json.loads(json.dumps(article.as_record()))
    assert parse_article(record, now=NOW) == article


@pytest.mark.parametrize("tag", ["en", "EN", "en-US", "en_GB", "eng"])
def test_language_tags_are_normalised(tag):
    assert made(lang=tag)[0].lang == "en"


@pytest.mark.parametrize("tag", [None, "", "und", "xx", "no such language", 7])
def test_missing_and_unknown_languages_are_identified(tag):
    article, notes = made(lang=tag, title="", body=GERMAN)
    assert article.lang == "de"
    assert notes["language identified"] == 1


@pytest.mark.parametrize(("tag", "body", "found"), [("en", GERMAN, "de"), ("fr", RUSSIAN, "ru")])
def test_wrong_tags_are_found(tag, body, found):
    article, notes = made(lang=tag, body=body)
    assert article.lang == found
    assert notes["language tag wrong"] == 1


def test_tags_are_believed_for_relatives_and_short_texts():
    assert made(lang="uk", body=RUSSIAN)[0].lang == "uk"
    assert made(lang="en", title="Sturm", body="Dächer flogen.")[0].lang == "en"


def test_a_text_in_no_language_needs_a_tag():
    with pytest.raises(ArticleError) as caught:
        made(lang=None, title="...", body="12 34")
    assert caught.value.reason == "without language"
    assert isinstance(caught.value, IsoglossError)


@pytest.mark.parametrize(
    "time",
    [
        "2031-03-05T07:40:00Z",
        "2031-03-05 08:40:00+01:00",
        "20310305T074000Z",
        "Wed, 05 Mar 2031 07:40:00 +0000",
        "Wed, 05 Mar 2031 08:40:00 +0100",
        1930462800,
        1930462800.0,
        1930462800000,
        datetime(2031, 3, 5, 8, 40, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_times_in_many_forms(time):
    article, notes = made(time=time)
    assert article.time == datetime(2031, 3, 5, 7, 40, tzinfo=UTC)
    assert article.time.tzinfo is UTC
    assert not notes


def test_a_time_without_zone_is_utc_and_noted():
    article, notes = made(time="2031-03-05 07:40:00")
    assert article.time == datetime(2031, 3, 5, 7, 40, tzinfo=UTC)
    assert notes == {"time without zone": 1}


def test_times_in_the_future_are_now():
    article, notes = made(time="2031-04-01T00:00:01Z")
    assert article.time == NOW
    assert notes == {"time in the future": 1}
    assert made(time="2031-04-01T00:00:00Z")[1] == {}


@pytest.mark.parametrize("time", [None, ""])
def test_a_missing_time_is_an_error(time):
    with pytest.raises(ArticleError, match='field "time" is missing') as caught:
        made(time=time)
    assert caught.value.reason == "without time"


@pytest.mark.parametrize(
    "time", ["soon", "2031-13-45", True, [], {}, 1e300, float("nan"), -1e18, "0001-01-01"]
)
def test_bad_times_are_errors(time):
    with pytest.raises(ArticleError) as caught:
        made(time=time)
    assert caught.value.reason == "bad time"


@pytest.mark.parametrize("empty", [None, "", "  \n", "<p></p>", "<script>x()</script>"])
def test_a_record_without_text_is_an_error_and_half_of_one_is_not(empty):
    with pytest.raises(ArticleError, match="are empty"):
        made(title=empty, body=empty)
    assert made(body=empty)[0].text == "Storm\n"
    assert made(title=empty)[0].text == "\nRoofs flew."


def test_ten_megabytes_are_cut():
    article, notes = made(body="roof " * 2_000_000)
    assert len(article.body) <= MAX_BODY_CHARS
    assert notes["text cut"] == 1


def test_a_missing_id_is_the_address_or_a_digest():
    assert made(id=None, url="https://gull.example/1")[0].id == "https://gull.example/1"
    one, other, same = made(id=None)[0], made(id=None, body="Trees fell.")[0], made(id=None)[0]
    assert one.id == same.id != other.id
    assert made(id=17)[0].id == "17"


@pytest.mark.parametrize(
    "fields", [{"title": 7}, {"body": ["x"]}, {"id": True}, {"url": {}}, {"id": "x" * 3000}]
)
def test_fields_of_the_wrong_kind_are_errors(fields):
    with pytest.raises(ArticleError, match="expected"):
        made(**fields)


def test_other_names_of_fields():
    article = parse_article(
        {"text": "Roofs flew.", "language": "en", "published": 1930462800, "link": "u"}, now=NOW
    )
    assert (article.body, article.lang, article.url) == ("Roofs flew.", "en", "u")


def test_what_is_no_record_is_an_error():
    with pytest.raises(ArticleError, match="expected an object"):
        parse_article(["x"])  # type: ignore[arg-type]


def test_characters_that_no_file_takes_are_replaced():
    article, notes = made(title="Sto\ud800rm\0", id="a\udfff")
    assert article.title == "Sto?rm"
    assert article.id == "a?"
    assert notes["characters replaced"] == 2
    json.dumps(article.as_record()).encode()


def test_html_soup():
    soup = (
        "<!DOCTYPE html><HTML><head><title>x</title></head><body onload='evil()'><!-- no > comment -->"
        '<P>Two <b>dea</b>d &amp; ten hurt<br/>in <a href="x>y">R&eacute;union</a>'
        "<script>if (a<b) alert('</p>')</script><style>p{}</style><ul><li>one<li>two</ul>3 < 4"
    )
    article, notes = made(body=soup)
    assert article.body == "Two dead & ten hurt\nin Réunion\none\ntwo\n3 < 4"
    assert notes["markup removed"] == 1


BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;">
<!ENTITY xxe SYSTEM "file:///etc/passwd">]><p>&lol2; &xxe; storm</p>"""


def test_entities_that_a_text_declares_are_never_expanded():
    article, _ = made(body=BOMB)
    assert "root:" not in article.body
    assert "lollol" not in article.body
    assert "storm" in article.body


@pytest.mark.parametrize("digits", ["9" * 5_000, "0" * 6_000 + "65", "x" + "f" * 5_000])
def test_a_reference_with_thousands_of_digits_is_read(digits):
    assert made(title=f"R&amp;D &#{digits}; hit")[0].title.startswith("R&D ")


def test_text_that_is_not_markup_stays():
    for text in ("1 < 2 and 3 > 2", "AT&T & co", "x<-3", "a <= b", "I <3 you"):
        assert not has_markup(text)
        assert made(body=text)[0].body == text


@given(st.text(alphabet="<>!-/\"'&;=abps crit\n", max_size=200))
def test_any_soup_is_text(soup):
    plain = html_to_text(soup)
    assert len(plain) <= len(soup)
    assert plain == plain.strip()


def test_no_input_is_slow_to_read():
    """Each of these takes minutes where time grows with the square of the length."""
    for piece in ("<", "<a", "<a '", '<a "', "<!--", "<script>", "&", "&#", "<div>", " \n", "<![CDATA["):
        with cpu_at_most(10):
            html_to_text(piece * (400_000 // len(piece)))


def test_without_identification_known_tags_are_believed(monkeypatch):
    def missing(text):
        raise ModuleNotFoundError("identifying a language needs py3langid; pip install 'isogloss[text]'")

    monkeypatch.setattr("isogloss.events._language_tags.identify", missing)
    long = {"id": 1, "title": "Storm", "body": "Das Haus steht am Ufer. " * 20, "time": "2031-03-05T08:40Z"}
    assert parse_article({**long, "lang": "en-GB"}).lang == "en"
    with pytest.raises(ArticleError, match=r"isogloss\[text\]") as refused:
        parse_article(long)
    assert refused.value.reason == "without language"


@pytest.mark.parametrize("piece", ["<b>", "<p>", "&amp;", "<script>"])
def test_text_after_very_many_tags_or_entities_is_cut_off(piece):
    """Removing a tag takes microseconds, and eight megabytes hold millions of them."""
    with cpu_at_most(8):
        article, notes = made(body=piece * MAX_MARKUP_TAGS * 3 + "behind")
    assert "behind" not in article.body
    assert notes["text cut"] >= 1
    article, notes = made(body=piece.replace("script", "i") * 1000 + "behind")
    assert article.body.endswith("behind")
    assert notes["text cut"] == 0
