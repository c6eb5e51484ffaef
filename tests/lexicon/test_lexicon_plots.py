"""Pictures of words hold what they are given."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from isogloss.lexicon import WordVectors, evaluate_space, neighbourhood
from isogloss.plotting import plot_neighbourhood, plot_precision, save_picture
from tests.lexicon.data import dictionary, languages


def test_a_neighbourhood_shows_every_word_in_the_colour_of_its_language():
    en = WordVectors(["cat", "price $5", "sun"], [[1, 0, 0], [0.9, 0.2, 0.1], [0, 1, 0]], "en")
    it = WordVectors(["sole", "gatto"], [[0.1, 1, 0], [1, 0.1, 0]], "it")
    around = neighbourhood({"en": en, "it": it}, "cat", "en", k=2)
    ax = plot_neighbourhood(around)
    assert [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"] == ["cat"]
    assert {text.get_text() for text in ax.texts} == {"cat", r"price \$5", "sun", "sole", "gatto"}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["en", "it"]


def test_precision_by_frequency():
    vectors = languages(("en", "de"), dims=(8, 8), rotated=True)
    result = evaluate_space(vectors, dictionary("en", "de", range(400)), bands=[100, 200])
    ax = plot_precision({"as they are": result})
    heights = np.asarray(ax.containers[0].lines[0].get_ydata(), dtype=np.float64)
    np.testing.assert_allclose(heights, [100 * band.precision for band in result.bands])


def test_pictures_are_written_whole(tmp_path):
    vectors = languages(("en", "de"))
    ax = plot_neighbourhood(neighbourhood({"en": vectors["en"]}, "en1", "en"))
    for kind in ("svg", "png", "pdf"):
        save_picture(ax, tmp_path / f"p.{kind}")
        assert (tmp_path / f"p.{kind}").stat().st_size > 1000
    with pytest.raises(ValueError, match="ends in"):
        save_picture(ax, tmp_path / "p.gif")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.pdf", "p.png", "p.svg"]
