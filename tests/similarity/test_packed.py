"""Packed models project like the ones they were made of, from files that are read where a text has words."""

import pickle
import shutil

import numpy as np
import pytest

from isogloss import io
from isogloss.exceptions import ModelFileError
from isogloss.similarity import (
    EncodedHub,
    HubSimilarity,
    LSISimilarity,
    PackedSimilarity,
    evaluate,
    find_similar,
    find_topics,
    load_model,
    pack_model,
)
from isogloss.similarity.packed import PackedLanguage
from isogloss.similarity.packed._language import PackedProjector, strongest
from isogloss.similarity.packed._words import PackedVocabulary, PackedWords
from tests.similarity.data import comparable_corpus, comparable_texts


@pytest.fixture(scope="module")
def parts():
    return comparable_corpus(n=300).split(100, random_state=1)


@pytest.fixture(scope="module")
def model(parts):
    return HubSimilarity(10, random_state=0).fit(parts[0])


@pytest.fixture(scope="module", params=["int8", "float16"])
def packed(request, model, tmp_path_factory):
    return pack_model(model, tmp_path_factory.mktemp("packed") / "model", storage=request.param)


def test_points_and_retrieval_are_those_of_the_model(model, packed, parts):
    texts = comparable_texts(n=20, seed=3)["de"]
    whole, rounded = model.project(texts, "de"), packed.project(texts, "de")
    assert (whole * rounded).sum(axis=1).min() > 0.9999
    np.testing.assert_allclose(
        packed.project_corpus(parts[1], "fr"), model.project_corpus(parts[1], "fr"), atol=0.02
    )
    assert evaluate(packed, parts[1]).amrr == pytest.approx(evaluate(model, parts[1]).amrr, abs=0.01)
    assert packed.project(["nothing known", ""], "de").any() == np.False_


def test_a_packed_model_can_be_searched_with_and_explained(model, packed, parts):
    asked = {"corpus": parts[1], "text": "en2w1 en2w3 en5w0", "lang": "en", "k": 3, "csls": 0}
    found, expected = find_similar(packed, **asked), find_similar(model, **asked)
    assert [one.id for one in found] == [one.id for one in expected]
    assert [one.because for one in found] == [one.because for one in expected]
    for topic, same in zip(find_topics(packed.words, words=6), find_topics(model, words=6), strict=True):
        assert topic.strength == same.strength
        for lang in model.languages:
            assert [word for word, _ in topic.positive[lang]] == [word for word, _ in same.positive[lang]]
            np.testing.assert_allclose(
                [pull for _, pull in topic.negative[lang]],
                [pull for _, pull in same.negative[lang]],
                rtol=1e-4,
            )
    many = find_topics(packed.words, components=[2], words=40)[0].positive["en"]
    stored = find_topics(packed.words, components=[2], words=20)[0].positive["en"]
    np.testing.assert_allclose([pull for _, pull in many[:20]], [pull for _, pull in stored], rtol=0.02)
    assert len(many) > 20
    assert packed.similarity("en", "de").translations("en2w1", 3)[0][0].startswith("de2")


def test_files_are_mapped_and_only_when_they_are_needed(packed):
    again = PackedSimilarity(packed.folder)
    assert again.projectors_._made == {}
    again.project(["de2w1"], "de")
    assert list(again.projectors_._made) == ["de"]
    assert isinstance(again.projectors_["de"].rows, np.memmap)
    assert not again.projectors_["de"].rows.flags.writeable
    assert isinstance(again.spaces_["de"].weighting.idf_, np.memmap)
    other = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(other.project(["de2w1"], "de"), again.project(["de2w1"], "de"))
    again.verify()


def test_a_file_takes_a_quarter_or_half(model, tmp_path):
    sizes = {}
    for storage in ("int8", "float16"):
        packed = pack_model(model, tmp_path / storage, storage=storage)
        sizes[storage] = sum(packed.projectors_[lang].rows.nbytes for lang in packed.languages)
    whole = sum(projector.nbytes for projector in model.projectors_.values())
    assert sizes == {"int8": whole // 4, "float16": whole // 2}


def test_other_models_of_words_can_be_packed_and_encoders_cannot(parts, tmp_path):
    lsi = LSISimilarity(8, drop_first=2, normalise=False, random_state=0).fit(parts[0])
    packed = pack_model(lsi, tmp_path / "lsi", storage="float16")
    np.testing.assert_allclose(
        packed.project_corpus(parts[1], "sl"), lsi.project_corpus(parts[1], "sl"), atol=0.01
    )
    assert [t.strength for t in find_topics(packed.words)] == [t.strength for t in find_topics(lsi)]
    with pytest.raises(TypeError, match=r"EncodedHub; expected a model that projects words alone"):
        pack_model(EncodedHub(), tmp_path / "encoded")


def test_nothing_is_overwritten_and_half_a_folder_never_remains(model, tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    with pytest.raises(ModelFileError, match="exists already"):
        pack_model(model, tmp_path / "there")
    with pytest.raises(ValueError, match="storage='int4'"):
        pack_model(model, tmp_path / "new", storage="int4")

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(io, "save", fails)
    with pytest.raises(OSError, match="No space"):
        pack_model(model, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]


def test_damage_is_told_with_the_file(model, tmp_path):
    packed = pack_model(model, tmp_path / "model")
    assert isinstance(load_model(tmp_path / "model"), PackedSimilarity)
    with pytest.raises(ValueError, match="does not know the language 'xx'"):
        packed.project(["a"], "xx")
    shutil.copytree(tmp_path / "model", tmp_path / "other")
    (tmp_path / "other" / "de.isogloss").unlink()
    with pytest.raises(ModelFileError, match=r"has no file 'de.isogloss'"):
        PackedSimilarity(tmp_path / "other")
    shutil.copy(tmp_path / "model" / "fr.isogloss", tmp_path / "other" / "de.isogloss")
    with pytest.raises(ModelFileError, match="the file of 'de' holds 'fr'"):
        PackedSimilarity(tmp_path / "other").project(["a"], "de")
    data = bytearray((tmp_path / "model" / "de.isogloss").read_bytes())
    data[-1] ^= 1
    (tmp_path / "model" / "de.isogloss").write_bytes(data)
    with pytest.raises(ModelFileError, match=r"de.isogloss: was changed or damaged"):
        PackedSimilarity(tmp_path / "model").verify()
    (tmp_path / "model" / "de.isogloss").write_bytes(data[:-1])
    with pytest.raises(ModelFileError, match=r"has .* bytes, not the"):
        PackedSimilarity(tmp_path / "model").project(["a"], "de")
    with pytest.raises(ModelFileError, match=r"has no model\.isogloss"):
        PackedSimilarity(tmp_path)


def test_words_are_found_without_a_dictionary():
    words = ("sea", "ship", "näve", "", "\udcff", "Straße")
    vocabulary = PackedVocabulary(PackedWords.of(words))
    assert tuple(vocabulary.words) == vocabulary.words[:] == words
    assert [vocabulary.index[word] for word in words] == list(range(6))
    assert vocabulary.columns(["ship", "shore"]).tolist() == [1, -1]
    assert "Straße" in vocabulary
    assert "strasse" not in vocabulary
    assert len(vocabulary) == len(list(vocabulary.index)) == 6
    assert vocabulary.words[-1] == "Straße"
    with pytest.raises(IndexError):
        vocabulary.words[6]
    with pytest.raises(KeyError):
        vocabulary.index["shore"]
    with pytest.raises(ValueError, match="occurs twice"):
        PackedWords.of(("sea", "sea"))


def test_a_word_with_the_hash_of_another_is_not_taken_for_it():
    packed = PackedWords.of(("sea", "ship"))
    other = PackedWords.of(("shore", "ship"))
    swapped = packed._replace(hashes=other.hashes, columns=other.columns)
    assert swapped.find("shore") == -1


def test_the_strongest_words_are_those_of_all_words(rng):
    projector, idf = rng.normal(size=(50, 40)), rng.random(50)
    columns, pulls = strongest(projector, idf, 7)
    whole = projector * idf[:, None]
    for component in (0, 17, 39):
        for end, sign in enumerate((1, -1)):
            best = np.argsort(-sign * whole[:, component], kind="stable")[:7]
            assert columns[component, end].tolist() == best.tolist()
            np.testing.assert_allclose(
                pulls[component, end], np.maximum(sign * whole[best, component], 0), rtol=1e-6
            )
    assert strongest(projector[:3], idf[:3], 7)[0].shape == (40, 2, 3)


def test_rows_of_zeros_stay_zero():
    packed = PackedProjector.of(np.array([[0.0, 0.0], [2.0, -1.0]]), "int8")
    np.testing.assert_allclose(packed.toarray(), [[0, 0], [2, -1]], atol=0.01)
    assert packed.shape == (2, 2)


def test_mapped_files_hold_what_read_ones_do(model, packed):
    path = packed.folder / "en.isogloss"
    whole, mapped = (
        io.load(path, expected=PackedLanguage),
        io.load(path, expected=PackedLanguage, mapped=True),
    )
    for name in ("rows", "scales", "letters", "ends", "hashes", "columns", "top_words", "top_pulls"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(mapped, name))
        assert isinstance(getattr(mapped, name), np.memmap) or not getattr(mapped, name).size
    assert whole.space().tokeniser == mapped.space().tokeniser == model.spaces_["en"].tokeniser
