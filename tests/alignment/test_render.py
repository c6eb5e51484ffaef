"""Pictures of a sentence pair."""

import re
from xml.dom import minidom

import pytest

from isogloss.alignment import AlignmentPicture, Links


@pytest.fixture
def picture():
    links = Links.from_sets([{(0, 0), (1, 1)}])
    posterior = [[0.9, 0.1, 0.0], [0.0, 0.6, 0.4]]
    return AlignmentPicture(
        ["the", "house"],
        ["la", "maison", "là"],
        links[0],
        posterior=posterior,
        sure=[(0, 0)],
        possible=[(1, 2)],
    )


def test_the_terminal_shows_shades_links_and_gold(picture):
    *heads, the, house = picture.text().splitlines()
    assert the == "  the [█] ·  ·"
    assert house == "house  ·  ▓ (▒)"
    assert [head.rstrip()[-1] for head in heads] == ["m", "a", "i", "s", "l", "à"]


def test_a_link_is_never_fainter_than_a_cell_without_one():
    picture = AlignmentPicture(["a"], ["b", "c"], [(0, 0)], posterior=[[0.1, 0.9]])
    assert picture.text().splitlines()[-1] == "a  ▓  ▒"


def test_wide_and_combining_letters_take_the_room_they_need():
    picture = AlignmentPicture(["日本", "a"], ["語", "e\u0301"], [(0, 0), (1, 1)])
    *heads, wide, narrow = picture.text().splitlines()
    assert heads == ["      語 e\u0301"]
    assert wide == "日本  █  ·"
    assert narrow == "   a  ·  █"


def test_svg_is_well_formed_and_has_every_cell(picture):
    root = minidom.parseString(picture.svg()).documentElement
    frames = [r for r in root.getElementsByTagName("rect") if r.getAttribute("fill") == "none"]
    assert len(root.getElementsByTagName("rect")) == 6 + 2
    assert [bool(frame.getAttribute("stroke-dasharray")) for frame in frames] == [False, True]
    assert len(root.getElementsByTagName("circle")) == 2
    titles = [t.firstChild.data for t in root.getElementsByTagName("title")]
    assert titles[0] == "the | la: 0.90, linked, sure"
    assert titles[5] == "house | là: 0.40, possible"
    assert picture._repr_svg_() == picture.svg()


def test_html_is_a_page_of_its_own(picture):
    page = picture.html()
    assert page.startswith("<!doctype html>")
    assert page.count("<td") == 6 + 1
    assert page.count("●") == 2
    assert page.count('class="sure"') == 1
    assert not re.search(r"(src|href)=", page)


def test_words_cannot_steer_the_terminal_or_the_page():
    picture = AlignmentPicture(["<script>&\x1b[31m"], ['"\x00\u202e'], [(0, 0)])
    assert "\x1b" not in picture.text()
    assert "\u202e" not in picture.text()
    for page in (picture.svg(), picture.html()):
        assert "<script" not in page
        assert "\x00" not in page
    minidom.parseString(picture.svg())


def test_empty_sentences_have_pictures():
    picture = AlignmentPicture([], [])
    assert picture.text() == ""
    minidom.parseString(picture.svg())
    assert "<table>" in picture.html()


def test_links_and_posteriors_must_fit_the_words():
    with pytest.raises(ValueError, match="link 1-0 in a pair of 1 and 1 words"):
        AlignmentPicture(["a"], ["b"], [(1, 0)])
    with pytest.raises(ValueError, match=r"expected \(1, 2\)"):
        AlignmentPicture(["a"], ["b", "c"], posterior=[[0.5]])
