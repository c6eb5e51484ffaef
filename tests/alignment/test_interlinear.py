"""Glossed text for FLEx and ELAN: well-formed, complete, and refused where links are of another text."""

from xml.etree import ElementTree

import pytest

from isogloss.alignment import Links, write_interlinear
from isogloss.corpora.readers._words import PairWords
from isogloss.exceptions import CorpusError

PAIRS = [
    PairWords(
        ("The <old> house!", "La vieille maison."),
        (["The", "old", "house"], ["La", "vieille", "maison"]),
        ([(0, 3), (5, 8), (10, 15)], [(0, 2), (3, 10), (11, 17)]),
    ),
    PairWords(("...", "..."), ([], []), ([], [])),
    PairWords(("cat\x0b", "le chat"), (["cat"], ["le", "chat"]), ([(0, 3)], [(0, 2), (3, 7)])),
]
LINKS = Links.from_sets([{(0, 0), (2, 2)}, set(), {(0, 1), (0, 0)}])


def write(path, links=LINKS, pairs=PAIRS):
    write_interlinear(pairs, links, path, languages=("seh", "fr"))
    return ElementTree.parse(path).getroot()


def test_flex_gets_words_with_glosses_punctuation_and_translations(tmp_path):
    root = write(tmp_path / "story.flextext")
    assert root.find(".//interlinear-text/item").text == "story"
    phrases = root.findall(".//phrase")
    assert [phrase.find("item[@type='segnum']").text for phrase in phrases] == ["1", "3"]
    words = [[(item.get("type"), item.text) for item in word] for word in phrases[0].find("words")]
    assert words == [
        [("txt", "The"), ("gls", "La")], [("punct", "<")], [("txt", "old")], [("punct", ">")],
        [("txt", "house"), ("gls", "maison")], [("punct", "!")],
    ]  # fmt: skip
    assert phrases[0].find("item[@type='gls']").text == "La vieille maison."
    assert phrases[1].find(".//word/item[@type='gls']").text == "le chat"
    languages = {one.get("lang"): one.get("vernacular") for one in root.find(".//languages")}
    assert languages == {"seh": "true", "fr": None}
    assert {item.get("lang") for item in root.iter("item")} == {"seh", "fr"}


def test_elan_gets_tiers_whose_annotations_refer_to_their_parents(tmp_path):
    root = write(tmp_path / "story.eaf")
    tiers = {tier.get("TIER_ID"): tier for tier in root.findall("TIER")}
    parents = {name: tier.get("PARENT_REF") for name, tier in tiers.items()}
    assert parents == {
        "text@seh": None, "words@seh": "text@seh", "gloss@fr": "words@seh", "translation@fr": "text@seh",
    }  # fmt: skip
    values = {name: [one.text for one in tier.iter("ANNOTATION_VALUE")] for name, tier in tiers.items()}
    assert values["words@seh"] == ["The", "old", "house", "cat"]
    assert values["gloss@fr"] == ["La", "maison", "le chat"]
    assert values["text@seh"] == ["The <old> house!", "cat"]
    ids = [one.get("ANNOTATION_ID") for one in root.iter() if one.get("ANNOTATION_ID")]
    assert len(ids) == len(set(ids)) == 11
    for name, parent in parents.items():
        own = {one.get("ANNOTATION_ID") for one in tiers[parent].iter() if parent} if parent else set()
        assert {one.get("ANNOTATION_REF") for one in tiers[name].iter("REF_ANNOTATION")} <= own
    times = [int(slot.get("TIME_VALUE")) for slot in root.iter("TIME_SLOT")]
    assert times == [0, 1500, 1500, 2000]
    types = {one.get("LINGUISTIC_TYPE_ID"): one.get("CONSTRAINTS") for one in root.iter("LINGUISTIC_TYPE")}
    assert types["words"] == "Symbolic_Subdivision"
    assert types["text"] is None
    assert {one.get("STEREOTYPE") for one in root.iter("CONSTRAINT")} == set(types.values()) - {None}


def test_words_of_a_sentence_follow_each_other(tmp_path):
    root = write(tmp_path / "story.eaf")
    words = [*root.findall("TIER")[1].iter("REF_ANNOTATION")]
    before = [word.get("PREVIOUS_ANNOTATION") for word in words]
    assert before == [None, words[0].get("ANNOTATION_ID"), words[1].get("ANNOTATION_ID"), None]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (Links.from_sets([set()]), "1 lines of links, but another number"),
        (Links.from_sets([set()] * 4), "4 lines of links, but another number"),
        (Links.from_sets([{(3, 0)}, set(), set()]), "pair 1: a link goes beyond the 3 and 3 words"),
    ],
)
def test_links_of_another_text_are_refused_and_leave_no_file(tmp_path, links, message):
    with pytest.raises(CorpusError, match=message):
        write(tmp_path / "story.eaf", links)
    assert not list(tmp_path.iterdir())


def test_the_name_says_the_format(tmp_path):
    with pytest.raises(CorpusError, match=r"expected a name that ends in \.flextext or \.eaf"):
        write_interlinear(PAIRS, LINKS, tmp_path / "story.xml")
